import { isUtf8 } from 'node:buffer'
import { InvalidRequestError } from './errors.ts'

/** Levels of arrays and objects anybody needs; what is nested deeper is made to overflow a stack. */
const MAX_LEVELS = 32

/**
 * The JSON object of a body, and its text; `empty` is the text of an empty body; with `mayBeList` an array will do. Throws `invalid_json` and `invalid_body`.
 * In a file of its own, without a schema library: reader threads use it too.
 */
export function readJsonObject(
  bytes: Uint8Array,
  { empty = '', mayBeList = false } = {},
): { value: object; text: string } {
  // decoded anyway, bad bytes would be stored as U+FFFD
  if (!isUtf8(bytes)) throw new InvalidRequestError('invalid_json', 'the body is not UTF-8')
  const text = new TextDecoder().decode(bytes) || empty
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new InvalidRequestError('invalid_json', 'the body is not valid JSON')
  }
  if (typeof value !== 'object' || value === null || (Array.isArray(value) && !mayBeList))
    throw new InvalidRequestError('invalid_body', 'the body must be a JSON object')
  if (isNestedTooDeep(value)) throw new InvalidRequestError('invalid_body', 'the body is nested too deep')
  return { value, text }
}

/** Whether a parsed JSON value is nested deeper than any honest one. */
export function isNestedTooDeep(value: unknown): boolean {
  let level = [value]
  for (let depth = 0; depth <= MAX_LEVELS; depth++) {
    level = level.flatMap((each) => (typeof each === 'object' && each !== null ? Object.values(each) : []))
    if (level.length === 0) return false
  }
  return true
}
