import assert from 'node:assert/strict'
import { test } from 'node:test'
import { drawPlan } from './draw-plan.ts'
import type { Plan } from './plan.ts'
import { shrink } from './shrink.ts'

const PLAN = drawPlan({ seed: 5, days: 8, carts: 20, mood: 'hard', start: '2026-10-22' })
const FAILS_AT_MS = Date.parse('2026-10-26T12:00:00Z')

test('a plan shrinks to the two entries that its failure needs, on one day, at whole minutes', async () => {
  const day = PLAN.entries.filter(({ atMs }) => Math.abs(atMs - FAILS_AT_MS) < 6 * 3_600_000)
  const kill = day.find(({ kind }) => kind === 'kill') ?? assert.fail()
  const drive = day.find((entry) => entry.kind === 'drive' && entry.cart === 3) ?? assert.fail()
  const isNear = (one: number, other: number) => Math.abs(one - other) <= 60_000
  const fails = async ({ entries, carts }: Plan) =>
    carts >= 3 && [kill, drive].every(({ kind, atMs }) => entries.some((e) => e.kind === kind && isNear(e.atMs, atMs)))
  const small = await shrink(PLAN, FAILS_AT_MS, fails, () => false)
  assert.deepEqual(
    small.entries.map(({ kind }) => kind),
    [kill, drive].toSorted((one, other) => one.atMs - other.atMs).map(({ kind }) => kind),
  )
  assert.ok(small.entries.every(({ atMs }) => atMs % 60_000 === 0))
  assert.deepEqual([small.days, small.carts, small.start], [1, 5, '2026-10-26'])
})

test('a search that is late returns the smallest plan so far', async () => {
  let tries = 0
  const small = await shrink(
    PLAN,
    FAILS_AT_MS,
    async () => {
      tries += 1
      return true
    },
    () => tries === 3,
  )
  assert.equal(tries, 3)
  assert.ok(small.entries.length < PLAN.entries.length)
})
