import { isUtf8 } from 'node:buffer'
import { InvalidRequestError } from './errors.ts'

/** Levels of arrays and objects anybody needs; what is nested deeper is made to overflow a stack. */
const MAX_LEVELS = 32
/** What a megabyte of zones with coordinates to the metre has; more would stop the main thread for too long. */
export const MAX_KEYS = 30_000
const MOST: JsonParts = { values: 200_000, keys: MAX_KEYS, keysOfOne: MAX_KEYS }

/** How many values and keys a body may have, and how many keys one of its objects. */
export interface JsonParts {
  values: number
  keys: number
  keysOfOne: number
}

/** What a body may be. */
export interface BodyForm {
  /** What an empty body stands for. */
  empty?: string
  /** An array will do. */
  mayBeList?: boolean
  /** Any number of values and keys: for those who do not parse in the main thread. */
  mayBeVast?: boolean
}

/**
 * The JSON object of a body. Throws `invalid_json`, `invalid_body`, and `too_complex` for one of very many parts. In a
 * file of its own, without a schema library: reader threads use it too.
 */
export function readJsonObject(bytes: Uint8Array, form: BodyForm = {}): object {
  const { empty = '', mayBeList = false, mayBeVast = false } = form
  // decoded anyway, bad bytes would be stored as U+FFFD
  if (!isUtf8(bytes)) throw new InvalidRequestError('invalid_json', 'the body is not UTF-8')
  requireSimple(bytes, mayBeVast ? undefined : MOST)
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder().decode(bytes) || empty)
  } catch {
    throw new InvalidRequestError('invalid_json', 'the body is not valid JSON')
  }
  if (typeof value !== 'object' || value === null || (Array.isArray(value) && !mayBeList))
    throw new InvalidRequestError('invalid_body', 'the body must be a JSON object')
  return value
}

/** Throws `invalid_body` and `too_complex`, before anything is parsed. */
export function requireSimple(json: Uint8Array, most: JsonParts = NO_LIMIT): void {
  const { values, keys, keysOfOne } = sizesOf(json)
  if (values <= most.values && keys <= most.keys && keysOfOne <= most.keysOfOne) return
  throw new InvalidRequestError(
    'too_complex',
    `the body may have at most ${most.values} values, ${most.keys} keys in all objects and ${most.keysOfOne} in one`,
  )
}

const ANY = Number.POSITIVE_INFINITY
const NO_LIMIT: JsonParts = { values: ANY, keys: ANY, keysOfOne: ANY }
const [QUOTE, COMMA, COLON, ESCAPE] = [...'",:\\'].map((character) => character.charCodeAt(0))
const OPENING = [...'[{'].map((character) => character.charCodeAt(0))
const CLOSING = [...']}'].map((character) => character.charCodeAt(0))

/**
 * Of JSON that has not been parsed: at least how many values and keys it has, and the largest object. Throws
 * `invalid_body` where it is nested too deep.
 */
function sizesOf(json: Uint8Array): JsonParts {
  let [level, values, keys, own, keysOfOne] = [0, 0, 0, 0, 0]
  const outer = new Uint32Array(MAX_LEVELS + 1)
  for (let at = 0; at < json.length; at++) {
    const byte = json[at]
    if (byte === QUOTE) while (++at < json.length && json[at] !== QUOTE) at += json[at] === ESCAPE ? 1 : 0
    else if (byte === COMMA) values++
    else if (byte === COLON) {
      keys++
      own++
    } else if (byte === OPENING[0] || byte === OPENING[1]) {
      values++
      outer[level] = own
      own = 0
      if (++level > MAX_LEVELS) throw new InvalidRequestError('invalid_body', 'the body is nested too deep')
    } else if (byte === CLOSING[0] || byte === CLOSING[1]) {
      if (own > keysOfOne) keysOfOne = own
      if (level > 0) level--
      own = outer[level] ?? 0
    }
  }
  return { values, keys, keysOfOne: Math.max(own, keysOfOne) }
}

/** Whether a parsed JSON value is nested deeper than any honest one. */
export function isNestedTooDeep(value: unknown, levels = MAX_LEVELS): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  const parts: unknown[] = Array.isArray(value) ? value : Object.values(value)
  return parts.some((part) => isNestedTooDeep(part, levels - 1))
}
