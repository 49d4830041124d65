import { randomInt } from 'node:crypto'

/** Crockford's base32, without letters that can be read as digits. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const LENGTH = 12
const CODE = new RegExp(`^[${ALPHABET}]{${LENGTH}}$`)

/** Creates a one-time sign-in code of 60 random bits. */
export function newCode(): string {
  return Array.from({ length: LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('')
}

/** Parses a code as people type it: any case, blanks and hyphens, O for 0, I and L for 1; undefined for other texts. */
export function readCode(text: string): string | undefined {
  const code = text.toUpperCase().replaceAll(/[\s-]/g, '').replaceAll('O', '0').replaceAll(/[IL]/g, '1')
  return CODE.test(code) ? code : undefined
}

/** Formats a code for display: `XXXX-XXXX-XXXX`. */
export function groupedCode(code: string): string {
  return code.replaceAll(/.{4}(?=.)/g, '$&-')
}
