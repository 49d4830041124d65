import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { DamagedBlockError } from './damaged-block.ts'
import { VarintReader, VarintWriter } from './varints.ts'

const MAX = 2 ** 49 - 1

const number = fc.oneof(
  fc.integer({ min: 0, max: 3 }),
  fc.integer({ min: 0, max: 300 }),
  fc.integer({ min: 0, max: 2 ** 31 }),
  fc.integer({ min: 0, max: MAX }),
  fc.constantFrom(127, 128, 2 ** 14 - 1, 2 ** 14, 2 ** 32 - 1, 2 ** 32, 2 ** 42 - 1, 2 ** 42, MAX),
)

function write(values: readonly number[]): Buffer {
  const writer = new VarintWriter(values.length * 7)
  for (const value of values) writer.write(value)
  return Buffer.from(writer.written)
}

function readerOf(...bytes: number[]): VarintReader {
  return new VarintReader(Buffer.from(bytes))
}

test('numbers of any size are decoded exactly, and the last byte is the end', () => {
  fc.assert(
    fc.property(fc.array(number, { maxLength: 200 }), (values) => {
      const reader = new VarintReader(write(values))
      assert.deepEqual(
        values.map(() => reader.read()),
        values,
      )
      assert.equal(reader.bytesLeft, 0)
    }),
    { numRuns: 500 },
  )
})

test('a number is encoded as a varint of Protocol Buffers', () => {
  assert.deepEqual([...write([0])], [0])
  assert.deepEqual([...write([127])], [127])
  assert.deepEqual([...write([150])], [0x96, 0x01])
  assert.deepEqual([...write([MAX])], [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f])
})

test('numbers, texts and columns can be mixed, and a column can be read in chunks of any size', () => {
  const writer = new VarintWriter(1000)
  writer.write(1e6)
  writer.writeText('cart-1')
  writer.writeText('')
  writer.writeColumn([Float64Array.of(2 ** 43 - 1, 0), Float64Array.of(1000)])
  writer.writeColumn([])
  writer.writeColumn([Int32Array.of(-(2 ** 31), 2 ** 31 - 1, -1)])
  writer.write(7)
  const reader = new VarintReader(Buffer.from(writer.written))
  assert.equal(reader.read(), 1e6)
  assert.equal(reader.readText(), 'cart-1')
  assert.equal(reader.readText(), '')
  const times = new Float64Array(3)
  reader.readColumn([times])
  assert.deepEqual([...times], [2 ** 43 - 1, 0, 1000])
  const [first, rest] = [new Int32Array(1), new Int32Array(2)]
  reader.readColumn([first, new Int32Array(0), rest])
  assert.deepEqual([...first, ...rest], [-(2 ** 31), 2 ** 31 - 1, -1])
  assert.equal(reader.read(), 7)
  assert.equal(reader.bytesLeft, 0)
})

test('numbers that extend past the end are damage, wherever the bytes end', () => {
  const bytes = write([0, 5, 1000, MAX, 2 ** 30, 7])
  for (let length = 0; length < bytes.length; length++) {
    const reader = new VarintReader(bytes.subarray(0, length))
    assert.throws(() => {
      for (let i = 0; i < 6; i++) reader.read()
    }, DamagedBlockError)
  }
})

test('a number with too many bytes is damage', () => {
  assert.throws(() => readerOf(0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0).read(), DamagedBlockError)
  assert.throws(() => new VarintReader(Buffer.alloc(1000, 0xff)).read(), DamagedBlockError)
})

test('a text that extends past the end is damage', () => {
  assert.equal(readerOf(2, 0x61, 0x62).readText(), 'ab')
  assert.throws(() => readerOf(3, 0x61, 0x62).readText(), DamagedBlockError)
  assert.throws(() => new VarintReader(write([MAX])).readText(), DamagedBlockError)
})

test('a number that its column cannot hold is damage', () => {
  const read = (value: number) => new VarintReader(write([value])).readColumn([new Int32Array(1)])
  read(2 ** 32 - 1)
  assert.throws(() => read(2 ** 32), DamagedBlockError)
  assert.throws(() => read(MAX), DamagedBlockError)
})
