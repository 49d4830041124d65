/** Bytes of a length at most. */
const LENGTH_BYTES = 4

/** Where the packet at `at` ends; undefined while its length is not there, NaN when what is there is no length. */
function endOf(bytes: Buffer, at: number): number | undefined {
  let length = 0
  for (let i = 0; i < LENGTH_BYTES; i++) {
    const digit = bytes[at + 1 + i]
    if (digit === undefined) return undefined
    length += (digit & 127) * 128 ** i
    if (digit < 128) return at + 2 + i + length
  }
  return Number.NaN
}

/** Where the last packet ends that is wholly there, from `at` on; the end of all where no packet can be told. */
export function wholePackets(bytes: Buffer, at: number): number {
  let wholeTo = at
  while (wholeTo < bytes.length) {
    const endsAt = endOf(bytes, wholeTo)
    if (endsAt === undefined || endsAt > bytes.length) return wholeTo
    if (Number.isNaN(endsAt)) return bytes.length
    wholeTo = endsAt
  }
  return wholeTo
}

/** Whether what begins there is a packet of that first byte, and not longer, as far as it has come. */
export function startsOnLane(bytes: Buffer, at: number, firstByte: number, maxBytes: number): boolean {
  if (bytes[at] !== firstByte) return false
  const endsAt = endOf(bytes, at)
  return endsAt === undefined || endsAt - at <= maxBytes
}
