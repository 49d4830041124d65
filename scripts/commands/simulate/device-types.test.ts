import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deviceTypes } from '#devices/all.ts'
import { simulatedType } from './device-types.ts'

test('every device type has a simulated model', () => {
  for (const { name } of deviceTypes) assert.doesNotThrow(() => simulatedType(name))
})

test('a type without a model is rejected with a hint', () => {
  assert.throws(() => simulatedType('drone'), /no model of drone: add one to SIMULATED_TYPES/)
})

test('no two types share a part of their hardware ids', () => {
  const parts = deviceTypes.map(({ name }) => simulatedType(name).idPart)
  assert.deepEqual([...new Set(parts)], parts)
})
