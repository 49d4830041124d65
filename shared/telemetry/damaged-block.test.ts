import assert from 'node:assert/strict'
import { test } from 'node:test'
import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import { decodeBlock, encodeBlock, verifyBlock } from './block.ts'
import { DamagedBlockError, NewerBlockError } from './damaged-block.ts'
import { BATTERY, GPS, type RecordKind, type Records } from './records.ts'

const ROOM = 70_000
const gps = GPS.allocate(ROOM)
const battery = BATTERY.allocate(ROOM)

/** Has narrow and wide groups, absent speeds and a last group that is not full. */
function gpsBlock(count: number): Uint8Array {
  const records = GPS.allocate(count)
  for (let i = 0; i < count; i++) {
    records.atMs[i] = 1_777_000_000_000 + i * 1000 + (i === 40 ? 7 : 0) + (i > 60 ? 1e11 : 0)
    records.latE7[i] = 284_090_000 + ((i * 7919) % 400)
    records.longE7[i] = i === 20 ? 1_799_999_999 : -815_800_000 - ((i * 104_729) % 900)
    records.speedMilliKmh[i] = i % 10 === 3 ? -1 : (i % 90) * 100
  }
  return encodeBlock(GPS, records)
}

function batteryBlock(count: number): Uint8Array {
  const atMs = Float64Array.from({ length: count }, (_, i) => 1_777_000_000_000 + i * 10_000)
  return encodeBlock(BATTERY, { atMs, voltageMv: Int32Array.from(atMs, (_, i) => 48_000 + (i % 7) * 10) })
}

const BLOCKS = [gpsBlock(100), batteryBlock(100), gpsBlock(1), batteryBlock(2)] as const
const anyBlock = fc.constantFrom(...BLOCKS)

function reasonOf(read: () => unknown): string | undefined {
  try {
    read()
  } catch (error) {
    assert.ok(error instanceof DamagedBlockError, `${error}`)
    return error.reason
  }
  return undefined
}

/** Fails unless every decoder reports the bytes as damaged. */
function assertDamaged(bytes: Uint8Array): string {
  const reason = reasonOf(() => verifyBlock(bytes))
  assert.ok(reason !== undefined, 'taken for a whole block')
  assert.equal(
    reasonOf(() => decodeBlock(GPS, bytes, gps)),
    reason,
  )
  assert.equal(
    reasonOf(() => decodeBlock(BATTERY, bytes, battery)),
    reason,
  )
  return reason
}

/** The same block with other bytes and a checksum that is right for them. */
function forge(block: Uint8Array, change: (view: DataView) => void): Uint8Array {
  const bytes = block.slice()
  const view = new DataView(bytes.buffer)
  change(view)
  const end = bytes.length - 4
  view.setUint32(end, crc32(bytes.subarray(0, end)), true)
  return bytes
}

test('every single flipped bit is detected', () => {
  for (const block of BLOCKS) {
    for (let bit = 0; bit < block.length * 8; bit++) {
      const bytes = block.slice()
      bytes[bit >>> 3] = (bytes[bit >>> 3] ?? 0) ^ (1 << (bit & 7))
      assertDamaged(bytes)
    }
  }
})

test('every burst of up to 32 bits is detected', () => {
  const burst = fc.integer({ min: 1, max: 2 ** 32 - 1 })
  fc.assert(
    fc.property(anyBlock, fc.nat(), burst, (block, at, bits) => {
      const bytes = new Uint8Array(block.length + 4)
      bytes.set(block)
      const view = new DataView(bytes.buffer)
      const start = at % (block.length - 4)
      view.setUint32(start, view.getUint32(start) ^ bits)
      assertDamaged(bytes.slice(0, block.length))
    }),
    { numRuns: 3000 },
  )
})

test('bytes overwritten anywhere are detected', () => {
  fc.assert(
    fc.property(anyBlock, fc.nat(), fc.uint8Array({ minLength: 1, maxLength: 600 }), (block, at, over) => {
      const bytes = block.slice()
      const start = at % block.length
      bytes.set(over.subarray(0, block.length - start), start)
      fc.pre(!block.every((byte, i) => byte === bytes[i]))
      assertDamaged(bytes)
    }),
    { numRuns: 1000 },
  )
})

test('a block truncated or extended anywhere is detected', () => {
  for (const block of BLOCKS) {
    for (let length = 0; length < block.length; length++) {
      assert.equal(assertDamaged(block.subarray(0, length)), 'wrong_length')
    }
    for (const more of [[0], [0, 0, 0, 0], [...block]]) {
      assert.equal(assertDamaged(Uint8Array.of(...block, ...more)), 'wrong_length')
    }
  }
})

test('bytes that are not a block are damage', () => {
  assert.equal(assertDamaged(new Uint8Array(0)), 'wrong_length')
  assert.equal(assertDamaged(new Uint8Array(4096)), 'not_a_block')
  assert.equal(assertDamaged(new Uint8Array(4096).fill(0xff)), 'not_a_block')
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
      assertDamaged(bytes)
    }),
    { numRuns: 1000 },
  )
})

test('a valid beginning alone does not make a block', () => {
  const [block] = BLOCKS
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 24, maxLength: 400 }), (bytes) => {
      const whole = Uint8Array.of(...block.subarray(0, 12), ...bytes)
      new DataView(whole.buffer).setUint32(4, whole.length, true)
      assert.equal(assertDamaged(whole), 'wrong_checksum')
    }),
  )
})

test('a later version is rejected by its number, and only if the block is intact', () => {
  for (const version of [2, 3, 255]) {
    const newer = forge(BLOCKS[0], (view) => view.setUint8(3, version))
    for (const read of [() => verifyBlock(newer), () => decodeBlock(GPS, newer, gps)]) {
      assert.throws(read, (error) => error instanceof NewerBlockError && error.version === version)
    }
    assertDamaged(newer.with(newer.length - 1, (newer.at(-1) ?? 0) ^ 1))
  }
  const older = forge(BLOCKS[0], (view) => view.setUint8(3, 0))
  assert.equal(assertDamaged(older), 'impossible_content')
})

for (const [what, change] of [
  ['no records', (view) => view.setUint16(10, 0, true)],
  ['more records than there are bytes for', (view) => view.setUint16(10, 65_535, true)],
  ['one record more', (view) => view.setUint16(10, 101, true)],
  ['one record less', (view) => view.setUint16(10, 99, true)],
  ['an unknown kind', (view) => view.setUint8(8, 3)],
  ['a first time before 1970', (view) => view.setFloat64(12, -1, true)],
  ['a first time that is none', (view) => view.setFloat64(12, Number.NaN, true)],
  ['an endless last time', (view) => view.setFloat64(20, Number.POSITIVE_INFINITY, true)],
  ['another last time', (view) => view.setFloat64(20, 1_777_000_000_001, true)],
  ['a usual interval that is none', (view) => view.setFloat64(28, Number.NaN, true)],
  ['a usual interval of no time', (view) => view.setFloat64(28, 0, true)],
  ['times in steps of part of a millisecond', (view) => view.setFloat64(36, 0.5, true)],
  ['values of 49 bits', (view) => view.setUint8(44, 49)],
  ['values of 255 bits', (view) => view.setUint8(44, 255)],
] as const satisfies readonly (readonly [string, (view: DataView) => void])[]) {
  test(`with a valid checksum, ${what} is damage too`, () => {
    const bytes = forge(BLOCKS[0], change)
    assert.equal(
      reasonOf(() => decodeBlock(GPS, bytes, gps)),
      'impossible_content',
    )
  })
}

/** Two equal voltages whose column ends with `width`, the width of its only group, and so many zero bytes. */
function twoVoltages(width: number, zeros: number): Uint8Array {
  const atMs = Float64Array.of(1000, 2000)
  const block = encodeBlock(BATTERY, { atMs, voltageMv: Int32Array.of(48_000, 48_000) })
  const longer = new Uint8Array(block.length + zeros)
  longer.set(block.subarray(0, -5))
  return forge(longer, (view) => {
    view.setUint8(block.length - 5, width)
    view.setUint32(4, longer.length, true)
  })
}

test('with a valid checksum, a group is read at any width up to 48 bits, and wider ones are damage', () => {
  for (let width = 0; width <= 255; width++) {
    const reason = reasonOf(() => decodeBlock(BATTERY, twoVoltages(width, Math.ceil(width / 8)), battery))
    assert.equal(reason, width <= 48 ? undefined : 'impossible_content', `${width} bits`)
  }
})

test('with a valid checksum, bytes after the last column are damage', () => {
  const reason = reasonOf(() => decodeBlock(BATTERY, twoVoltages(0, 1), battery))
  assert.equal(reason, 'impossible_content')
})

test('with a valid checksum, times that go back before the last one are damage', () => {
  const atMs = Float64Array.of(1000, 2000, 3000, 14_000)
  const block = encodeBlock(BATTERY, { atMs, voltageMv: new Int32Array(4) })
  // intervals of 1, 1 and 11 s become 11, -9 and 11 s
  const bytes = forge(block, (view) => view.setUint8(45, 0b10_01_10))
  assert.equal(
    reasonOf(() => decodeBlock(BATTERY, bytes, battery)),
    'impossible_content',
  )
})

test('with a valid checksum any bytes are either damage or valid records', () => {
  const change = fc.record({ at: fc.nat(), bytes: fc.uint8Array({ minLength: 1, maxLength: 8 }) })
  let taken = 0
  fc.assert(
    fc.property(anyBlock, fc.array(change, { minLength: 1, maxLength: 4 }), (block, changes) => {
      const bytes = forge(block, (view) => {
        for (const { at, bytes } of changes) {
          // behind magic, version and length
          const start = 8 + (at % (block.length - 12))
          for (const [i, byte] of bytes.entries()) {
            if (start + i < block.length - 4) view.setUint8(start + i, byte)
          }
        }
      })
      // every block to both decoders: a forger writes the kind as well
      taken += readForged(GPS, bytes, gps) + readForged(BATTERY, bytes, battery)
    }),
    { numRuns: 10_000 },
  )
  assert.ok(taken > 100, `only ${taken} got past the header`)
})

/** Decodes into a guarded place; returns how many blocks were taken for good. */
function readForged<R extends Records>(kind: RecordKind<R>, bytes: Uint8Array, into: R): 0 | 1 {
  const buffer = new Uint8Array(bytes.length + 16).fill(0xff)
  buffer.set(bytes, 8)
  const block = buffer.subarray(8, 8 + bytes.length)
  try {
    if (verifyBlock(block).kind !== kind.name) return 0
    const count = decodeBlock(kind, block, into, 1)
    assert.ok(count >= 1 && count < 65_536)
    for (let i = 2; i <= count; i++) assert.ok((into.atMs[i] ?? 0) > (into.atMs[i - 1] ?? 0))
    for (const [c, { min, max, isOptional }] of kind.rules.entries()) {
      const column = kind.columnsOf(into)[c]?.subarray(1, count + 1) ?? []
      assert.ok(column.every((v) => (v >= min && v <= max) || (isOptional && v === -1)))
    }
    return 1
  } catch (error) {
    assert.ok(error instanceof DamagedBlockError, `${error}`)
    return 0
  }
}
