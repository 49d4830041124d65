/** A code as it is shown to whom it is not to tell everything: all but its last two characters are asterisks. */
export function maskCode(code: string): string {
  const characters = [...code]
  const shown = characters.length > 2 ? characters.slice(-2) : []
  return '*'.repeat(characters.length - shown.length) + shown.join('')
}

/** How many characters of a code are hidden, and those behind them. */
export interface MaskedCode {
  readonly hidden: number
  readonly last: readonly string[]
}

/** What `maskCode` made of a code; null for what it makes of none. */
export function readMaskedCode(text: string): MaskedCode | null {
  const characters = [...text]
  const hidden = characters.length - (characters.length > 2 ? 2 : 0)
  const isMasked = characters.slice(0, hidden).every((character) => character === '*')
  return isMasked ? { hidden, last: characters.slice(hidden) } : null
}
