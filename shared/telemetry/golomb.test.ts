import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { DamagedBlockError } from './damaged-block.ts'
import { GolombContext } from './golomb.ts'
import { GolombReader } from './golomb-reader.ts'
import { GolombWriter } from './golomb-writer.ts'

const MAX = 2 ** 48 - 1

const number = fc.oneof(
  fc.integer({ min: 0, max: 3 }),
  fc.integer({ min: 0, max: 300 }),
  fc.integer({ min: 0, max: 2 ** 31 }),
  fc.integer({ min: 0, max: MAX }),
  fc.constantFrom(2 ** 24 - 1, 2 ** 24, 2 ** 25, 2 ** 32 - 1, 2 ** 32, MAX),
)

function write(values: readonly number[]): Uint8Array {
  const writer = new GolombWriter(0, 4)
  const context = new GolombContext(1)
  for (const value of values) writer.write(value, context)
  const { bytes, end } = writer.finish()
  return bytes.subarray(0, end)
}

/** In a buffer that goes on behind it, with bytes that must not matter. */
function readerOf(bytes: Uint8Array): GolombReader {
  const buffer = new Uint8Array(bytes.length + 4).fill(0xff)
  buffer.set(bytes)
  return new GolombReader(buffer.subarray(0, bytes.length))
}

test('numbers of any size come back, and the last byte is the end', () => {
  fc.assert(
    fc.property(fc.array(number, { maxLength: 200 }), (values) => {
      const reader = readerOf(write(values))
      const context = new GolombContext(1)
      assert.deepEqual(
        values.map(() => reader.read(context)),
        values,
      )
      reader.finish()
    }),
    { numRuns: 500 },
  )
})

test('bits and numbers of different contexts can be mixed', () => {
  const writer = new GolombWriter(3, 0)
  const [small, large] = [new GolombContext(0), new GolombContext(1e6)]
  for (let i = 0; i < 1000; i++) {
    writer.writeBit(i % 3 === 0)
    writer.write(i % 2, small)
    writer.writeBits(i, 10)
    writer.write(1e6 + i, large)
  }
  const { bytes, end } = writer.finish()
  assert.ok(bytes.length >= end + 8)
  const reader = new GolombReader(bytes.subarray(3, end))
  const [ofSmall, ofLarge] = [new GolombContext(0), new GolombContext(1e6)]
  for (let i = 0; i < 1000; i++) {
    assert.equal(reader.readBit(), i % 3 === 0)
    assert.equal(reader.read(ofSmall), i % 2)
    assert.equal(reader.readBits(10), i)
    assert.equal(reader.read(ofLarge), 1e6 + i)
  }
  reader.finish()
})

test('equal numbers take little more than what they hold', () => {
  assert.ok(write(Array(8000).fill(0)).length <= 1010)
  assert.ok(write(Array(8000).fill(1000)).length <= 12_000)
  assert.ok(write([...Array(4000).fill(1), MAX, ...Array(4000).fill(1)]).length <= 2100)
})

test('numbers that go on behind the end are damage, wherever it is', () => {
  const bytes = write([0, 5, 1000, MAX, 2 ** 30, 7])
  for (let length = 0; length < bytes.length; length++) {
    const reader = readerOf(bytes.subarray(0, length))
    const context = new GolombContext(1)
    assert.throws(() => {
      for (let i = 0; i < 6; i++) reader.read(context)
    }, DamagedBlockError)
  }
})

test('a number of more bits than any has is damage', () => {
  // 20 ones, then a length
  const inFull = (width: number) => {
    const bytes = new Uint8Array(20)
    new DataView(bytes.buffer).setUint32(0, 0xf_ff_ff | (width << 20), true)
    return readerOf(bytes)
  }
  assert.equal(inFull(48).read(new GolombContext(0)), 0)
  assert.throws(() => inFull(49).read(new GolombContext(0)), DamagedBlockError)
  assert.throws(() => inFull(63).read(new GolombContext(0)), DamagedBlockError)
})

test('what is left behind the last number is damage', () => {
  const finish = (...bytes: number[]) => {
    const reader = readerOf(Uint8Array.from(bytes))
    reader.readBits(3)
    reader.finish()
  }
  finish(0b101)
  assert.throws(() => finish(0b1101), DamagedBlockError)
  assert.throws(() => finish(0b101, 0), DamagedBlockError)
})
