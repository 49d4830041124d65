/** Masks a code for viewers who may not see it in full: replaces all characters except the last two with asterisks. */
export function maskCode(code: string): string {
  const characters = [...code]
  const shown = characters.length > 2 ? characters.slice(-2) : []
  return '*'.repeat(characters.length - shown.length) + shown.join('')
}

/** Number of hidden characters of a code, and the characters after them. */
export interface MaskedCode {
  readonly hidden: number
  readonly last: readonly string[]
}

/** Parses the output of `maskCode`; null for other texts. */
export function readMaskedCode(text: string): MaskedCode | null {
  const characters = [...text]
  const hidden = characters.length - (characters.length > 2 ? 2 : 0)
  const isMasked = characters.slice(0, hidden).every((character) => character === '*')
  return isMasked ? { hidden, last: characters.slice(hidden) } : null
}
