import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createRandom } from './random.ts'

test('the same labels give the same sequence, other labels another one', () => {
  const take = (...labels: (string | number)[]) => {
    const random = createRandom(...labels)
    return Array.from({ length: 20 }, () => random.next())
  }
  assert.deepEqual(take(1, 'cart', 7), take(1, 'cart', 7))
  assert.notDeepEqual(take(1, 'cart', 7), take(1, 'cart', 8))
  assert.notDeepEqual(take(1, 'cart', 7), take(2, 'cart', 7))
})

test('numbers stay within their bounds', () => {
  fc.assert(
    fc.property(fc.integer(), fc.integer({ min: -100, max: 100 }), fc.nat(100), (seed, low, span) => {
      const random = createRandom(seed)
      const whole = random.integer(low, low + span)
      assert.ok(Number.isInteger(whole) && whole >= low && whole <= low + span)
      const real = random.between(low, low + span)
      assert.ok(real >= low && real <= low + span)
      assert.ok(Math.abs(random.gaussian()) <= 6)
    }),
  )
})

test('the gaussian has mean 0 and standard deviation 1', () => {
  const random = createRandom('gaussian')
  const values = Array.from({ length: 20_000 }, () => random.gaussian())
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length
  assert.ok(Math.abs(mean) < 0.03, `mean ${mean}`)
  assert.ok(Math.abs(variance - 1) < 0.05, `variance ${variance}`)
})
