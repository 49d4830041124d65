import assert from 'node:assert/strict'
import { test } from 'node:test'
import { byUrgency, dueServiceOf, type ServiceIntervals } from './service-due.ts'

const from = { meter: { hours: 100, km: 1000, rounds: 50 }, date: '2026-03-27' }
const later = (passed: Partial<Record<'hours' | 'km' | 'rounds', number>>, date = '2026-03-31') => ({
  meter: {
    hours: 100 + (passed.hours ?? 0),
    km: 1000 + (passed.km ?? 0),
    rounds: 50 + (passed.rounds ?? 0),
  },
  date,
})

const CASES: [what: string, every: ServiceIntervals, now: ReturnType<typeof later>, state: string, left: object][] = [
  ['a new plan', { hours: 100 }, later({}), 'ok', { hours: 100 }],
  ['a little more than soon', { hours: 100 }, later({ hours: 89.9 }), 'ok', { hours: 10.1 }],
  ['soon', { hours: 100 }, later({ hours: 90 }), 'soon', { hours: 10 }],
  ['reached', { hours: 100 }, later({ hours: 100 }), 'due', { hours: 0 }],
  ['passed', { km: 500 }, later({ km: 512.25 }), 'due', { km: -12.25 }],
  ['days over a change of the clock', { days: 4 }, later({}), 'due', { days: 0 }],
  ['days before it', { days: 5 }, later({}), 'ok', { days: 1 }],
  [
    'what is reached first',
    { hours: 100, rounds: 10 },
    later({ hours: 1, rounds: 12 }),
    'due',
    { hours: 99, rounds: -2 },
  ],
  ['soon of one, ok of another', { km: 100, days: 90 }, later({ km: 95 }), 'soon', { km: 5, days: 86 }],
  ['a meter that was set back', { hours: 10 }, later({ hours: -50 }), 'ok', { hours: 60 }],
]

for (const [what, every, now, state, left] of CASES)
  test(`${what} is ${state}`, () => {
    const due = dueServiceOf({ every, soonPercent: 10, from, now })
    assert.deepEqual({ state: due.state, left: due.left }, { state, left })
  })

test('due comes first, then what has the least part of its interval left', () => {
  const of = (every: ServiceIntervals, soonPercent = 10) =>
    dueServiceOf({ every, soonPercent, from, now: later({ hours: 50 }) })
  const [due, worse, soon, ok] = [of({ hours: 50 }), of({ hours: 25 }), of({ hours: 80 }, 50), of({ hours: 60 })]
  assert.deepEqual([ok, soon, due, worse].sort(byUrgency), [worse, due, soon, ok])
})
