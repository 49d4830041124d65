import { randomInt } from 'node:crypto'

/** Crockford's base32: no letter that is read as a digit. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const LENGTH = 12
const CODE = new RegExp(`^[${ALPHABET}]{${LENGTH}}$`)

/** A code that opens a session once: 60 random bits. */
export function newCode(): string {
  return Array.from({ length: LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('')
}

/** A code as people type it: any case, with blanks and hyphens, O for 0, I and L for 1. Undefined for what is none. */
export function readCode(text: string): string | undefined {
  const code = text.toUpperCase().replaceAll(/[\s-]/g, '').replaceAll('O', '0').replaceAll(/[IL]/g, '1')
  return CODE.test(code) ? code : undefined
}

/** A code as it is shown to people: `XXXX-XXXX-XXXX`. */
export function groupedCode(code: string): string {
  return code.replaceAll(/.{4}(?=.)/g, '$&-')
}
