// A packed column is its head and its values but the first, each as the number of steps by which it differs from the
// one before. The steps of a group are written with as many bits each as the largest of them needs, lowest bit first,
// behind one byte that says how many. Signs are folded into the lowest bit: 0, -1, 1, -2, 2 are written as 0, 1, 2, 3,
// 4.

/** How many values share a width. A whole group ends with a whole byte; groups of 32 make blocks up to 10 % larger. */
export const VALUES_PER_GROUP = 16

/** How many bits a window of four bytes always holds, wherever in its first byte they begin. */
export const NARROW_BITS = 25
// A wider value is its low bits and the rest, in two windows.
const LOW_BITS = 24
const LOW_MASK = (1 << LOW_BITS) - 1

/** Twice the longest interval between two times takes 44. */
export const MAX_BITS = LOW_BITS * 2

/** So many bytes behind a column must belong to its buffer: a window may reach into them. */
export const WINDOW_OVERRUN_BYTES = 4

export const INTEGERS_HEAD_BYTES = 8
export const TIMES_HEAD_BYTES = 16

/** The fewest bytes the groups of a column can take. */
export function leastGroupBytes(count: number): number {
  return Math.ceil((count - 1) / VALUES_PER_GROUP)
}

export function mostGroupBytes(count: number): number {
  return leastGroupBytes(count) * (1 + (VALUES_PER_GROUP * MAX_BITS) / 8)
}

/** How many bits a whole number of at most `MAX_BITS` takes. */
export function bitsOf(value: number): number {
  return value < 2 ** 32 ? 32 - Math.clz32(value) : 64 - Math.clz32(Math.floor(value / 2 ** 32))
}

/** Makes bits 0, and all in the bytes they lie in and up to `WINDOW_OVERRUN_BYTES` behind; they begin with a byte. */
export function clearBits(view: DataView, bit: number, count: number): void {
  const end = (bit + count + 7) >>> 3
  for (let at = bit >>> 3; at < end + WINDOW_OVERRUN_BYTES; at++) view.setUint8(at, 0)
}

/** Writes where all bits were 0. */
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

/** Like `fold`, for what stays below 31 bits. */
export function foldNarrow(steps: number): number {
  return (steps << 1) ^ (steps >> 31)
}

/** Of what `readNarrow` read. */
export function unpackNarrow(folded: number): number {
  return (folded >>> 1) ^ -(folded & 1)
}

export function unpackWide(folded: number): number {
  return folded % 2 === 0 ? folded / 2 : -(folded + 1) / 2
}
