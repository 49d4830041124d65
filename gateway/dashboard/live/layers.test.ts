import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fromField, layerRows, toField } from './layers.ts'

test('the most specific layer with a value wins for each setting', () => {
  const layers = { type: { a: 1, b: true }, group: { b: false, d: 'x' }, device: { d: 'y' } }
  assert.deepEqual(
    layerRows(layers, ['c', 'a']).map(({ key, wins }) => [key, wins]),
    [
      ['a', 'type'],
      ['b', 'group'],
      ['c', null],
      ['d', 'device'],
    ],
  )
})

test('a field returns the value that it shows', () => {
  for (const [value, rule] of [
    [true, { type: 'boolean' }],
    [12.5, { type: 'number' }],
    ['12', { type: 'string' }],
    [2, { type: 'integer', enum: [1, 2] }],
    [undefined, { type: 'string' }],
  ] as const)
    assert.equal(fromField(toField(value), rule), value)
})

test('a number may be typed with a comma, and other text is sent to the gateway unchanged', () => {
  assert.equal(fromField('1,5', { type: 'number' }), 1.5)
  assert.equal(fromField('much', { type: 'number' }), 'much')
})
