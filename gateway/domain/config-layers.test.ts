import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { checkLayer, isLayerTooLarge, LAYER_BYTES_MAX, mergeLayers, withoutNulls } from './config-layers.ts'

const layers = fc.record({ type: layer(), group: layer(), device: layer() }, { noNullPrototype: true })

function layer() {
  const key = fc.oneof(
    fc.constantFrom('a', 'b', 'c', '1', '10', '2', '__proto__', 'constructor', 'toString'),
    fc.string({ maxLength: 3 }),
  )
  const entries = fc.array(fc.tuple(key, fc.jsonValue({ maxDepth: 2 })), { maxLength: 6 })
  return entries.map((pairs) => withoutNulls(Object.fromEntries(pairs)))
}

test('the most specific layer that has a key determines its value, and no other keys are included', () => {
  fc.assert(
    fc.property(layers, ({ type, group, device }) => {
      const merged = mergeLayers({ type, group, device })
      const keys = new Set([type, group, device].flatMap((one) => Object.keys(one)))
      assert.deepEqual(new Set(Object.keys(merged)), keys)
      for (const key of keys) {
        const deciding = [device, group, type].find((one) => Object.hasOwn(one, key))
        assert.deepEqual(merged[key], Object.getOwnPropertyDescriptor(deciding, key)?.value)
      }
    }),
  )
})

test('equal settings have equal text, in whichever layer and order they were set, also once read back', () => {
  fc.assert(
    fc.property(layers, ({ type, group, device }) => {
      const merged = mergeLayers({ type, group, device })
      const backwards = Object.fromEntries(Object.entries(merged).toReversed())
      const text = JSON.stringify(merged)
      assert.equal(JSON.stringify(mergeLayers({ type: {}, group: backwards, device: {} })), text)
      assert.equal(JSON.stringify(JSON.parse(text)), text)
    }),
  )
})

test('merging changes no layer', () => {
  fc.assert(
    fc.property(layers, (given) => {
      const known = structuredClone(given)
      mergeLayers(given)
      assert.deepEqual(given, known)
    }),
  )
})

test('merging is by top-level key: an object replaces an object whole', () => {
  const merged = mergeLayers({ type: { net: { a: 1, b: 2 } }, group: { net: { c: 3 } }, device: {} })
  assert.deepEqual(merged, { net: { c: 3 } })
})

test('a top-level key that is null is removed from the layer, while nested nulls stay', () => {
  assert.deepEqual(withoutNulls({ a: null, b: 0, c: { d: null } }), { b: 0, c: { d: null } })
})

test('a layer has at most 8 KiB as JSON in UTF-8', () => {
  const frame = JSON.stringify({ a: '' }).length
  for (const [character, bytes] of [
    ['x', 1],
    ['ü', 2],
    ['☃', 3],
  ] as [string, number][]) {
    const most = Math.floor((LAYER_BYTES_MAX - frame) / bytes)
    assert.equal(isLayerTooLarge({ a: character.repeat(most) }), false)
    assert.equal(isLayerTooLarge({ a: character.repeat(most + 1) }), true)
  }
})

test('known keys are checked, others are reported, and all keys are optional', () => {
  const schema = {
    type: 'object' as const,
    properties: { on: { type: 'boolean' as const }, mode: { type: 'string' as const, enum: ['a', 'b'] } },
    required: ['on', 'mode'],
  }
  assert.deepEqual(checkLayer(schema, {}), { wrong: [], unknown: [] })
  const { wrong, unknown } = checkLayer(schema, { on: 'yes', mode: 'c', beep: 3, toString: 1 })
  assert.deepEqual(
    wrong.map(({ name, detail }) => [name, detail]),
    [
      ['on', 'must be a boolean'],
      ['mode', 'must be one of: a, b'],
    ],
  )
  assert.deepEqual(unknown, ['beep', 'toString'])
})
