import type { Value } from '../db/connection.ts'

/** Key of a row in its table: the rowid, or the columns of the primary key of a WITHOUT ROWID table. */
export type Key = readonly Value[]

/** Range of rows between two keys; null is the beginning or the end of the table. A key may lack its last columns. */
export interface Bounds {
  readonly after: Key | null
  /** True if the range includes a row with the key `after`. */
  readonly isAfterIncluded?: boolean
  readonly before: Key | null
}

/** Distance beyond the last key read within which further rows are searched. */
const BEYOND = 1n << 20n
/** Number of characters of a text that determine the middle. */
const TEXT_DIGITS = 6
const TEXT_BASE = 128

/** Compares keys in SQLite's order: negative if `a` is before `b`, 0 if equal. */
export function order(a: Key, b: Key): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const difference = orderValues(a[i] ?? null, b[i] ?? null)
    if (difference !== 0) return difference
  }
  return 0
}

/** Returns a key about halfway between the bounds; null if none is known. */
export function keyBetween({ after, before }: Bounds): Key | null {
  if (after === null && before === null) return null
  const [low, high] = [after?.[0], before?.[0]]
  const middle = typeof (low ?? high) === 'bigint' ? numberBetween(low, high) : textBetween(low ?? '', high ?? null)
  if (middle === null) return null
  const key = [middle]
  const isInside = (after === null || order(after, key) < 0) && (before === null || order(key, before) < 0)
  return isInside ? key : null
}

/** True if no other key can exist between these two. */
export function areAdjacentKeys({ after, isAfterIncluded = false, before }: Bounds): boolean {
  const [low, high] = [after?.[0], before?.[0]]
  if (typeof low !== 'bigint' || typeof high !== 'bigint') return false
  return high - low <= (isAfterIncluded ? 0n : 1n)
}

function numberBetween(low: Value | undefined, high: Value | undefined): bigint | null {
  const from = typeof low === 'bigint' ? low : 0n
  const to = typeof high === 'bigint' ? high : from + BEYOND
  return (from + to) / 2n
}

function textBetween(low: Value, high: Value): string | null {
  if (typeof low !== 'string' || (high !== null && typeof high !== 'string')) return null
  let same = 0
  while (high !== null && same < low.length && low[same] === high[same]) same++
  const to = high === null ? TEXT_BASE ** TEXT_DIGITS : digitsOf(high, same)
  const middle = Math.floor((digitsOf(low, same) + to) / 2)
  return low.slice(0, same) + textOf(middle)
}

function digitsOf(text: string, from: number): number {
  let digits = 0
  for (let i = 0; i < TEXT_DIGITS; i++) {
    const code = from + i < text.length ? text.charCodeAt(from + i) : 0
    digits = digits * TEXT_BASE + Math.min(code, TEXT_BASE - 1)
  }
  return digits
}

function textOf(digits: number): string {
  const codes: number[] = []
  for (let rest = digits, i = 0; i < TEXT_DIGITS; i++, rest = Math.floor(rest / TEXT_BASE))
    codes.unshift(rest % TEXT_BASE)
  while (codes.at(-1) === 0) codes.pop()
  return String.fromCharCode(...codes)
}

function orderValues(a: Value, b: Value): number {
  if (typeof a === 'string' && typeof b === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b))
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b)
  if (isNumber(a) && isNumber(b)) return a < b ? -1 : Number(a > b)
  return classOf(a) - classOf(b)
}

function isNumber(value: Value): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint'
}

function classOf(value: Value): number {
  if (value === null) return 0
  if (isNumber(value)) return 1
  return typeof value === 'string' ? 2 : 3
}
