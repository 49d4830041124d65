import { isUtf8 } from 'node:buffer'
import { InvalidRequestError } from './errors.ts'

/** Levels of arrays and objects anybody needs; what is nested deeper is made to overflow a stack. */
const MAX_LEVELS = 32
/** What a megabyte of zones with coordinates to the metre has; more would stop the main thread for too long. */
const MOST: JsonParts = { values: 200_000, keys: 30_000 }

/** How many values and keys a body may have. */
export interface JsonParts {
  values: number
  keys: number
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
  const { levels, values, keys } = sizesOf(json)
  if (levels > MAX_LEVELS) throw new InvalidRequestError('invalid_body', 'the body is nested too deep')
  if (values <= most.values && keys <= most.keys) return
  const message = `the body may have at most ${most.values} values, and ${most.keys} keys in all objects`
  throw new InvalidRequestError('too_complex', message)
}

const NO_LIMIT: JsonParts = { values: Number.POSITIVE_INFINITY, keys: Number.POSITIVE_INFINITY }
const [QUOTE, COMMA, COLON, ESCAPE] = [...'",:\\'].map((character) => character.charCodeAt(0))
const OPENING = [...'[{'].map((character) => character.charCodeAt(0))
const CLOSING = [...']}'].map((character) => character.charCodeAt(0))

/** Of JSON that has not been parsed: how deep it is nested, and at least how many values and keys it has. */
function sizesOf(json: Uint8Array): { levels: number; values: number; keys: number } {
  let [level, levels, values, keys] = [0, 0, 0, 0]
  for (let at = 0; at < json.length; at++) {
    const byte = json[at]
    if (byte === QUOTE) while (++at < json.length && json[at] !== QUOTE) at += json[at] === ESCAPE ? 1 : 0
    else if (byte === COMMA) values++
    else if (byte === COLON) keys++
    else if (byte === OPENING[0] || byte === OPENING[1]) {
      values++
      levels = Math.max(levels, ++level)
    } else if (byte === CLOSING[0] || byte === CLOSING[1]) level--
  }
  return { levels, values, keys }
}

/** Whether a parsed JSON value is nested deeper than any honest one. */
export function isNestedTooDeep(value: unknown, levels = MAX_LEVELS): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  const parts: unknown[] = Array.isArray(value) ? value : Object.values(value)
  return parts.some((part) => isNestedTooDeep(part, levels - 1))
}
