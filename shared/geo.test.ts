import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { fromE7, fromMilli, toE7, toMilli } from './geo.ts'

/** A decimal as a person or a device writes it: `places` digits after the point. */
function decimal(max: number, places: number): fc.Arbitrary<number> {
  const scale = 10 ** places
  return fc.integer({ min: -max * scale, max: max * scale }).map((n) => {
    const digits = String(Math.abs(n)).padStart(places + 1, '0')
    const text = `${digits.slice(0, digits.length - places)}.${digits.slice(digits.length - places)}`
    return Number(n < 0 ? `-${text}` : text)
  })
}

test('degrees of at most 7 decimals come back the same', () => {
  for (let places = 0; places <= 7; places++) {
    fc.assert(
      fc.property(decimal(180, places), (degrees) => {
        assert.equal(fromE7(toE7(degrees)), degrees)
      }),
    )
  }
})

test('speeds and voltages of at most 3 decimals come back the same', () => {
  for (let places = 0; places <= 3; places++) {
    fc.assert(
      fc.property(decimal(200, places), (value) => {
        assert.equal(fromMilli(toMilli(value)), value)
      }),
    )
  }
})

test('any position moves by at most half a step, and stays there when stored again', () => {
  fc.assert(
    fc.property(fc.double({ min: -180, max: 180, noNaN: true }), (degrees) => {
      const stored = fromE7(toE7(degrees))
      assert.ok(Number.isInteger(toE7(degrees)))
      assert.ok(Math.abs(stored - degrees) <= 0.5e-7 + 1e-13)
      assert.equal(toE7(stored), toE7(degrees))
    }),
  )
})

test('absent stays absent', () => {
  assert.ok(Number.isNaN(toE7(Number.NaN)))
  assert.ok(Number.isNaN(toMilli(Number.NaN)))
})
