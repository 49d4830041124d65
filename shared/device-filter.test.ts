import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type AttributeValue, attributeFilters, deviceSearch, matchesAttributes } from './device-filter.ts'

const cart = { name: 'Würzburg 100%_a', hardwareId: 'Cart-7.B', shortId: 'k3x9qq01' }

function matchesQuery(attributes: Record<string, AttributeValue>, query: Record<string, string[]>): boolean {
  return matchesAttributes(attributes, attributeFilters(query))
}

for (const [search, expected] of [
  ['', true],
  ['   ', true],
  ['würz', true],
  ['WÜRZ', true],
  [' burg ', true],
  ['cart-7', true],
  ['K3X9', true],
  ['100%', true],
  ['%_', true],
  ['%', true],
  ['_a', true],
  ['a%b', false],
  ['1_0', false],
  ['cart.7', false],
  ['wurz', false],
  ['null', false],
] as const) {
  test(`searching for ${JSON.stringify(search)} ${expected ? 'finds' : 'does not find'} the cart`, () => {
    assert.equal(deviceSearch(search)(cart), expected)
  })
}

test('a device without a name is found by its ids, and never by the word null', () => {
  assert.equal(deviceSearch('null')({ ...cart, name: null }), false)
  assert.equal(deviceSearch('CART')({ ...cart, name: null }), true)
})

for (const [name, search] of [
  ['Straße', 'STRASSE'],
  ['STRASSE', 'straße'],
  ['ΚΑΣΑ', 'κας'],
  ['ΚΑΣΑ', 'ΑΣ'],
  ['Οδυσσέας', 'ΟΔΥΣΣΈΑΣ'],
  ['Œuvre', 'œuvre'],
  ['ĐẠI LỘC', 'đại lộc'],
  ['ИЖ-7', 'иж'],
  ['ςίγμα', 'ΣΊΓΜΑ'],
] as const) {
  test(`case does not matter: ${search} finds ${name}`, () => {
    assert.equal(deviceSearch(search)({ ...cart, name }), true)
  })
}

test('every part of a name finds it, in capitals and in small letters', () => {
  const anyName = fc.string({ unit: 'binary', minLength: 1, maxLength: 20 })
  fc.assert(
    fc.property(anyName, fc.nat(20), fc.nat(20), (name, a, b) => {
      const part = [...name].slice(Math.min(a, b), Math.max(a, b)).join('')
      for (const search of [part, part.toUpperCase(), part.toLowerCase()]) {
        assert.equal(deviceSearch(search)({ ...cart, name }), true, JSON.stringify({ name, search }))
      }
    }),
    { numRuns: 500 },
  )
})

for (const [value, text, expected] of [
  [12.4, '12.40', true],
  [12.4, '12.4', true],
  [12.4, '1.24e1', true],
  [12.4, '12.41', false],
  [12, '12', true],
  [0, '', false],
  [0, ' ', false],
  [-0, '0', true],
  [1, 'one', false],
  [true, 'true', true],
  [true, '1', true],
  [true, '0', false],
  [true, 'yes', false],
  [false, 'false', true],
  [false, '0', true],
  [false, '', false],
  [1, 'true', true],
  [0, 'false', true],
  [0, 'true', false],
  [2, 'true', false],
  ['red', 'red', true],
  ['red', 'Red', false],
  ['red', 're', false],
  ['12.4', '12.40', false],
  ['', '', true],
  ['true', '1', false],
] as const) {
  test(`attribute ${JSON.stringify(value)} ${expected ? 'equals' : 'is not'} "${text}"`, () => {
    assert.equal(matchesQuery({ x: value }, { attr_x: [text] }), expected)
  })
}

test('several attributes must all match, of the same one any', () => {
  const attributes = { color: 'red', speed: 5 }
  assert.equal(matchesQuery(attributes, { attr_color: ['red'], attr_speed: ['5'] }), true)
  assert.equal(matchesQuery(attributes, { attr_color: ['red'], attr_speed: ['6'] }), false)
  assert.equal(matchesQuery(attributes, { attr_color: ['blue', 'red'] }), true)
  assert.equal(matchesQuery(attributes, { attr_color: ['blue', 'green'], attr_speed: ['5'] }), false)
})

test('a device without the attribute does not match, whatever every object inherits', () => {
  for (const name of ['missing', 'toString', 'constructor', '__proto__']) {
    assert.equal(matchesQuery({ x: 1 }, { [`attr_${name}`]: ['undefined', '', 'NaN'] }), false)
  }
})

test('other parameters do not filter', () => {
  assert.deepEqual(attributeFilters({ limit: ['1'], attribute: ['x'], ATTR_X: ['1'] }), [])
})

test('every invalid attribute name is reported', () => {
  const names = ['attr_', 'attr_a-b', 'attr_a b', 'attr_ü', `attr_${'x'.repeat(65)}`]
  const longest = `attr_${'x'.repeat(64)}`
  assert.equal(attributeFilters({ [longest]: ['1'] }).length, 1)
  assert.throws(() => attributeFilters(Object.fromEntries([longest, ...names].map((name) => [name, ['1']]))), {
    code: 'invalid_attribute_name',
    errors: names.map((name) => {
      return {
        in: 'query',
        name,
        code: 'invalid_attribute_name',
        detail: 'letters, digits and _ only, 1 to 64',
      }
    }),
  })
})

test('any number is found by its JSON text', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) => {
      assert.equal(matchesQuery({ x: number }, { attr_x: [JSON.stringify(number)] }), true)
    }),
  )
})
