import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ObjectSchema, objectSchemaSchema, validate } from './object-schema.ts'

const schema: ObjectSchema = {
  type: 'object',
  properties: {
    realtime_enabled: { type: 'boolean' },
    key_keyless_state: { type: 'string', enum: ['key', 'keyless'] },
    text: { type: 'string', minLength: 1, maxLength: 3 },
    interval_s: { type: 'integer', minimum: 1, maximum: 60 },
    ratio: { type: 'number' },
  },
  required: ['text'],
}

const REFUSED: [value: Record<string, unknown>, name: string, kind: string, detail: string][] = [
  [{}, 'text', 'missing', 'is required'],
  [{ text: '' }, 'text', 'wrong', 'must be a string from 1 up to 3 characters'],
  [{ text: 'abcd' }, 'text', 'wrong', 'must be a string from 1 up to 3 characters'],
  [{ text: null }, 'text', 'wrong', 'must be a string from 1 up to 3 characters'],
  [{ text: 'a', realtime_enabled: 1 }, 'realtime_enabled', 'wrong', 'must be a boolean'],
  [{ text: 'a', key_keyless_state: 'both' }, 'key_keyless_state', 'wrong', 'must be one of: key, keyless'],
  [{ text: 'a', interval_s: 1.5 }, 'interval_s', 'wrong', 'must be a whole number from 1 up to 60'],
  [{ text: 'a', interval_s: 61 }, 'interval_s', 'wrong', 'must be a whole number from 1 up to 60'],
  [{ text: 'a', ratio: [1] }, 'ratio', 'wrong', 'must be a number'],
  [{ text: 'a', constructor: 1 }, 'constructor', 'unknown', 'is not in the schema'],
]

for (const [value, name, kind, detail] of REFUSED) {
  test(`${JSON.stringify(value)}: ${name} is ${kind}`, () => {
    assert.deepEqual(validate(schema, value), [{ name, kind, detail }])
  })
}

test('a valid value has no validation errors', () => {
  const value = {
    text: 'abc',
    realtime_enabled: false,
    key_keyless_state: 'key',
    interval_s: 60,
    ratio: -1.5,
  }
  assert.deepEqual(validate(schema, value), [])
})

for (const wrong of [
  { type: 'array' },
  { type: 'object', properties: { a: { type: 'object' } } },
  { type: 'object', properties: { a: { type: 'string', pattern: '(a+)+' } } },
  { type: 'object', properties: { 'a b': { type: 'string' } } },
  { type: 'object', properties: { a: { type: 'string', enum: [1] } } },
  { type: 'object', properties: { a: { type: 'integer', default: 1.5 } } },
  { type: 'object' },
]) {
  test(`a schema that cannot be checked as written is rejected: ${JSON.stringify(wrong)}`, () => {
    assert.equal(objectSchemaSchema.safeParse(wrong).success, false)
  })
}
