/** Storage of the browser; a getter, because browsers that forbid it throw as soon as it is named. */
export type Shelf = () => Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>

/** Returns the text kept under this name; null without one, or if the browser forbids storage. */
export function readKept(shelf: Shelf, name: string): string | null {
  try {
    return shelf().getItem(name)
  } catch {
    return null
  }
}

/** Keeps the text, null removes it; false if storage is forbidden or full. The text lasts as long as the page then. */
export function keepText(shelf: Shelf, name: string, text: string | null): boolean {
  try {
    if (text === null) shelf().removeItem(name)
    else shelf().setItem(name, text)
    return true
  } catch {
    return false
  }
}

/** True if the browser keeps choices after the page is closed. */
export function keepsText(): boolean {
  const tried = 'cartbarn.tried'
  return keepText(() => localStorage, tried, tried) && keepText(() => localStorage, tried, null)
}
