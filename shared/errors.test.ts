import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fieldPath } from './errors.ts'

for (const [path, text] of [
  [[], ''],
  [['name'], 'name'],
  [['allowed_hardware_ids', 0], 'allowed_hardware_ids[0]'],
  [['features', 3, 'geometry', 'coordinates', 0, 5], 'features[3].geometry.coordinates[0][5]'],
  [[2, 'name'], '[2].name'],
] as [PropertyKey[], string][]) {
  test(`${JSON.stringify(path)} is written ${text === '' ? 'as nothing' : text}`, () => {
    assert.equal(fieldPath(path), text)
  })
}
