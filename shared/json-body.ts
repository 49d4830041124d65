import { isUtf8 } from 'node:buffer'
import { InvalidRequestError } from './errors.ts'

/** Maximum nesting of arrays and objects; deeper input is an attempt to overflow a stack. */
const MAX_LEVELS = 32
/** Number of keys in a megabyte of zones with coordinates to the metre; more would block the main thread too long. */
export const MAX_KEYS = 30_000
const MOST: JsonParts = { values: 200_000, keys: MAX_KEYS, keysOfOne: MAX_KEYS }

/** Limits on the values and keys of a body, and on the keys of one object. */
export interface JsonParts {
  values: number
  keys: number
  keysOfOne: number
}

export interface BodyForm {
  /** Replacement for an empty body. */
  empty?: string
  /** Accepts an array as well. */
  mayBeList?: boolean
  /** Accepts any number of values and keys: for callers that parse outside the main thread. */
  mayBeVast?: boolean
}

/**
 * Parses the JSON object of a body. Throws `invalid_json`, `invalid_body`, and `too_complex` for too many parts. In a
 * separate file without a schema library, because reader threads use it too.
 */
export function readJsonObject(bytes: Uint8Array, form: BodyForm = {}): object {
  const { empty = '', mayBeList = false, mayBeVast = false } = form
  // decoding would store invalid bytes as U+FFFD
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

/** Throws `invalid_body` and `too_complex` before anything is parsed. */
export function requireSimple(json: Uint8Array, most: JsonParts = NO_LIMIT): void {
  const { values, keys, keysOfOne } = sizesOf(json)
  if (values <= most.values && keys <= most.keys && keysOfOne <= most.keysOfOne) return
  throw new InvalidRequestError(
    'too_complex',
    `the body may have at most ${most.values} values, ${most.keys} keys in total and ${most.keysOfOne} in one object`,
  )
}

const ANY = Number.POSITIVE_INFINITY
const NO_LIMIT: JsonParts = { values: ANY, keys: ANY, keysOfOne: ANY }
const [QUOTE, COMMA, COLON, ESCAPE] = [...'",:\\'].map((character) => character.charCodeAt(0))
const OPENING = [...'[{'].map((character) => character.charCodeAt(0))
const CLOSING = [...']}'].map((character) => character.charCodeAt(0))

/** Lower bounds of values and keys in unparsed JSON, and its largest object. Throws `invalid_body` for deep nesting. */
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

/** True if a parsed JSON value is nested deeper than any genuine one. */
export function isNestedTooDeep(value: unknown, levels = MAX_LEVELS): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  const parts: unknown[] = Array.isArray(value) ? value : Object.values(value)
  return parts.some((part) => isNestedTooDeep(part, levels - 1))
}
