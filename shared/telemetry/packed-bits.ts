// A packed column is its head and its values except the first, each as the number of steps by which it differs from the
// previous one. A group starts with one byte that holds the width; its steps follow with as many bits each as the
// largest one needs, lowest bit first. Signs are folded into the lowest bit: 0, -1, 1, -2, 2 are written as 0, 1, 2, 3,
// 4.

/**
 * Number of values that share a width. A whole group ends with a whole byte; 32 would make blocks up to 10 % larger.
 */
export const VALUES_PER_GROUP = 16

/** Number of bits that fit into a window of four bytes for any start within its first byte. */
export const NARROW_BITS = 25
// A wider value is split into its low bits and the rest, in two windows.
const LOW_BITS = 24
const LOW_MASK = (1 << LOW_BITS) - 1

/** Twice the longest interval between two times needs 44 bits. */
export const MAX_BITS = LOW_BITS * 2

/** Bytes after a column that must belong to its buffer, because a window may reach into them. */
export const WINDOW_OVERRUN_BYTES = 4

export const INTEGERS_HEAD_BYTES = 8
export const TIMES_HEAD_BYTES = 16

/** Returns the minimum size of the groups of a column in bytes. */
export function leastGroupBytes(count: number): number {
  return Math.ceil((count - 1) / VALUES_PER_GROUP)
}

export function mostGroupBytes(count: number): number {
  return leastGroupBytes(count) * (1 + (VALUES_PER_GROUP * MAX_BITS) / 8)
}

/** Number of bits of a whole number, at most `MAX_BITS`. */
export function bitsOf(value: number): number {
  return value < 2 ** 32 ? 32 - Math.clz32(value) : 64 - Math.clz32(Math.floor(value / 2 ** 32))
}

/**
 * Clears bits, with the bytes that contain them and up to `WINDOW_OVERRUN_BYTES` after; the first must start a byte.
 */
export function clearBits(view: DataView, bit: number, count: number): void {
  const end = (bit + count + 7) >>> 3
  for (let at = bit >>> 3; at < end + WINDOW_OVERRUN_BYTES; at++) view.setUint8(at, 0)
}

/** Writes bits; all of them must be 0 before. */
export function writeBits(view: DataView, bit: number, width: number, value: number): void {
  if (width <= NARROW_BITS) {
    writeNarrow(view, bit, value)
  } else {
    writeNarrow(view, bit, value % 2 ** LOW_BITS)
    writeNarrow(view, bit + LOW_BITS, Math.floor(value / 2 ** LOW_BITS))
  }
}

function writeNarrow(view: DataView, bit: number, value: number): void {
  const at = bit >>> 3
  view.setUint32(at, view.getUint32(at, true) | (value << (bit & 7)), true)
}

/** Reads at most `NARROW_BITS`; `mask` has as many ones. */
export function readNarrow(view: DataView, bit: number, mask: number): number {
  return (view.getUint32(bit >>> 3, true) >>> (bit & 7)) & mask
}

/** Reads more than `NARROW_BITS`. */
export function readWide(view: DataView, bit: number, width: number): number {
  const high = readNarrow(view, bit + LOW_BITS, (1 << (width - LOW_BITS)) - 1)
  return readNarrow(view, bit, LOW_MASK) + high * 2 ** LOW_BITS
}

export function fold(steps: number): number {
  return steps < 0 ? -2 * steps - 1 : 2 * steps
}

/** Like `fold`, for values below 31 bits. */
export function foldNarrow(steps: number): number {
  return (steps << 1) ^ (steps >> 31)
}

/** Reverts `foldNarrow`, for values from `readNarrow`. */
export function unpackNarrow(folded: number): number {
  return (folded >>> 1) ^ -(folded & 1)
}

export function unpackWide(folded: number): number {
  return folded % 2 === 0 ? folded / 2 : -(folded + 1) / 2
}
