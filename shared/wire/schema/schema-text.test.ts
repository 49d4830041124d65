import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { schemaText } from './schema-text.ts'

const ofKind = (kind: string) => z.object({ kind: z.literal(kind) })

test('an invalid kind of a union is reported with the list of kinds, at any depth', () => {
  const union = z.discriminatedUnion('kind', [ofKind('config'), ofKind('zones'), ofKind('command')])
  for (const [schema, sent] of [
    [union, { kind: 'confg' }],
    [union, {}],
    [z.object({ one: union }), { one: { kind: 7 } }],
    [z.array(union), [{ kind: null }]],
  ] as const) {
    const [issue] = schema.safeParse(sent).error?.issues ?? []
    assert.ok(issue)
    assert.equal(schemaText(issue), 'must be one of: config, zones, command')
    assert.equal(issue.path.at(-1), 'kind')
  }
})
