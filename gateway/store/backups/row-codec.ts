/** Value as stored by SQLite. Integers are bigints, so that none is rounded and no real becomes an integer. */
export type StoredValue = null | bigint | number | string | Uint8Array

const KINDS = { null: 0, integer: 1, real: 2, text: 3, blob: 4 } as const
const HEAD_BYTES = 9

/** Encodes a row: each value is its type, followed by a number, or by a length and the content. */
export function encodeRow(values: readonly StoredValue[]): Buffer {
  return Buffer.concat(values.flatMap(encodeValue))
}

function encodeValue(value: StoredValue): Buffer[] {
  if (value === null) return [Buffer.from([KINDS.null])]
  const head = Buffer.alloc(HEAD_BYTES)
  if (typeof value === 'bigint') {
    head[0] = KINDS.integer
    head.writeBigInt64LE(value, 1)
    return [head]
  }
  if (typeof value === 'number') {
    head[0] = KINDS.real
    head.writeDoubleLE(value, 1)
    return [head]
  }
  const isText = typeof value === 'string'
  const bytes = isText ? Buffer.from(value) : Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  head[0] = isText ? KINDS.text : KINDS.blob
  head.writeDoubleLE(bytes.length, 1)
  return [head, bytes]
}

/** Decodes the rows of a chunk, each with `width` values, at least one. Throws `RangeError` after an incomplete row. */
export function* decodeRows(bytes: Buffer, width: number): Generator<StoredValue[]> {
  let at = 0
  const take = (): StoredValue => {
    const kind = bytes.readUInt8(at)
    if (kind === KINDS.null) {
      at += 1
      return null
    }
    const valueAt = at + 1
    at += HEAD_BYTES
    if (kind === KINDS.integer) return bytes.readBigInt64LE(valueAt)
    const number = bytes.readDoubleLE(valueAt)
    if (kind === KINDS.real) return number
    const isLength = Number.isInteger(number) && number >= 0 && at + number <= bytes.length
    if ((kind !== KINDS.text && kind !== KINDS.blob) || !isLength)
      throw new RangeError('the rows of a part cannot be read')
    const content = bytes.subarray(at, at + number)
    at += number
    return kind === KINDS.text ? content.toString() : content
  }
  while (at < bytes.length) yield Array.from({ length: width }, take)
}
