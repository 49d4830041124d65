import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { z } from 'zod'
import { fieldErrors } from './field-errors.ts'

/** The schema and a fitting value of objects in each other, along a path. */
function nested(path: readonly string[]): { schema: z.ZodType; value: unknown } {
  const [key, ...rest] = path
  if (key === undefined) return { schema: z.strictObject({}), value: {} }
  const { schema, value } = nested(rest)
  return { schema: z.strictObject({ [key]: schema }), value: { [key]: value } }
}

test('an unknown field has the name of its whole path, however deep it is', () => {
  fc.assert(
    fc.property(
      fc.array(fc.stringMatching(/^[a-z_]{1,8}$/), { maxLength: 5 }),
      fc.stringMatching(/^[a-z]{9}$/),
      (path, unknown) => {
        const { schema, value } = nested(path)
        const place = path.reduce<unknown>((inner, key) => Reflect.get(Object(inner), key), value)
        Object.assign(Object(place), { [unknown]: 1 })
        const issues = schema.safeParse(value).error?.issues ?? []
        const errors = issues.flatMap((issue) => fieldErrors('body', issue, value))
        const name = [...path, unknown].join('.')
        const detail = 'is not a field of this request'
        assert.deepEqual(errors, [{ in: 'body', name, code: 'unknown_field', detail }])
      },
    ),
  )
})

test('a place in a list is a part of the path', () => {
  const schema = z.strictObject({ features: z.array(z.strictObject({ properties: z.strictObject({}) })) })
  const value = { features: [{ properties: {} }, { properties: { color: 'red' }, x: 1 }] }
  const issues = schema.safeParse(value).error?.issues ?? []
  const names = issues.flatMap((issue) => fieldErrors('body', issue, value)).map(({ name }) => name)
  assert.deepEqual(names.sort(), ['features[1].properties.color', 'features[1].x'])
})
