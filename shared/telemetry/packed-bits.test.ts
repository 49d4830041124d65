import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  bitsOf,
  fold,
  MAX_BITS,
  NARROW_BITS,
  readNarrow,
  readWide,
  unpackNarrow,
  unpackWide,
  WINDOW_OVERRUN_BYTES,
  writeBits,
} from './packed-bits.ts'

test('values of any widths, one behind the other from any bit on, come back', () => {
  const value = fc
    .integer({ min: 0, max: MAX_BITS })
    .chain((width) => fc.record({ width: fc.constant(width), value: fc.maxSafeNat().map((n) => n % 2 ** width) }))
  fc.assert(
    fc.property(fc.nat(7), fc.array(value), (first, values) => {
      const bits = values.reduce((sum, { width }) => sum + width, first)
      const view = new DataView(new ArrayBuffer(Math.ceil(bits / 8) + WINDOW_OVERRUN_BYTES))
      let bit = first
      for (const { width, value } of values) {
        writeBits(view, bit, width, value)
        bit += width
      }
      bit = first
      for (const { width, value } of values) {
        assert.equal(width <= NARROW_BITS ? readNarrow(view, bit, 2 ** width - 1) : readWide(view, bit, width), value)
        bit += width
      }
    }),
  )
})

test('every width fits behind every bit', () => {
  for (let width = 1; width <= MAX_BITS; width++) {
    for (let bit = 0; bit < 8; bit++) {
      const view = new DataView(new ArrayBuffer(16))
      const value = 2 ** width - 1
      writeBits(view, bit, width, value)
      const read = width <= NARROW_BITS ? readNarrow(view, bit, value) : readWide(view, bit, width)
      assert.equal(read, value, `${width} bits behind ${bit}`)
    }
  }
})

test('the width of a value is just enough', () => {
  for (let width = 1; width <= MAX_BITS; width++) {
    assert.equal(bitsOf(2 ** (width - 1)), width)
    assert.equal(bitsOf(2 ** width - 1), width)
  }
  assert.equal(bitsOf(0), 0)
})

test('signs are folded so that values near 0 stay short, and unfolded again', () => {
  assert.deepEqual([0, -1, 1, -2, 2].map(fold), [0, 1, 2, 3, 4])
  fc.assert(
    fc.property(fc.integer({ min: -(2 ** (NARROW_BITS - 1)), max: 2 ** (NARROW_BITS - 1) - 1 }), (steps) => {
      assert.equal(unpackNarrow(fold(steps)), steps)
    }),
  )
  fc.assert(
    fc.property(fc.integer({ min: -(2 ** (MAX_BITS - 1)), max: 2 ** (MAX_BITS - 1) - 1 }), (steps) => {
      assert.equal(unpackWide(fold(steps)), steps)
    }),
  )
})
