import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compare } from './judge.ts'
import type { Answer } from './questions.ts'

const ok = (value: unknown): Answer => ({ status: 200, text: JSON.stringify(value) })
const UNDAMAGED = new Map([
  [
    'users',
    ok([
      { role: 'user', name: 'A' },
      { role: 'admin', name: 'B' },
    ]),
  ],
  ['stats', ok({ devices: { total: 8 } })],
])

for (const [what, users, verdict] of [
  [
    'the same',
    ok([
      { role: 'user', name: 'A' },
      { role: 'admin', name: 'B' },
    ]),
    undefined,
  ],
  ['one that is left out', ok([{ role: 'admin', name: 'B' }]), 'less'],
  [
    'one with another value',
    ok([
      { role: 'usdr', name: 'A' },
      { role: 'admin', name: 'B' },
    ]),
    'other',
  ],
  [
    'a value of another field',
    ok([
      { role: 'A', name: 'A' },
      { role: 'admin', name: 'B' },
    ]),
    'other',
  ],
  ['503', { status: 503, text: '{}' }, 'refused'],
  ['no answer', { status: 0, text: 'closed' }, 'refused'],
  ['one that warns', { ...ok([]), isWarned: true }, 'refused'],
] as const) {
  test(`an answer is judged: ${what}`, () => {
    const { differing } = compare(UNDAMAGED, new Map([...UNDAMAGED, ['users', users]]))
    assert.deepEqual(differing, verdict === undefined ? [] : [{ question: 'users', verdict }])
  })
}

test('a count that is smaller is something missing, not another value', () => {
  const { differing } = compare(UNDAMAGED, new Map([...UNDAMAGED, ['stats', ok({ devices: { total: 7 } })]]))
  assert.deepEqual(differing, [{ question: 'stats', verdict: 'less' }])
})
