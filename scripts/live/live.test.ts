import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { BREAKS } from './breaks.ts'
import type { Plan } from './plan.ts'
import { runPlan } from './run-plan.ts'

const LIVE = fileURLToPath(new URL('live.ts', import.meta.url))
const PLAN = { seed: 11, days: 1, carts: 3, mood: 'hard', start: '2026-10-25' } as const
const UNTIL_MS = 11 * 3_600_000
const SEEDS: readonly (Omit<Plan, 'days' | 'entries'> & { check: number; hours: number })[] = JSON.parse(
  readFileSync(new URL('seeds.json', import.meta.url), 'utf8'),
)

async function live(...args: string[]): Promise<{ code: number; output: string }> {
  const run = promisify(execFile)(process.execPath, [LIVE, ...args])
  return run.then(
    ({ stdout }) => ({ code: 0, output: stdout }),
    ({ code, stderr }) => ({ code, output: stderr }),
  )
}

test('each break replaces a text that is in its file once', () => {
  for (const { check, file, from } of BREAKS)
    assert.equal(readFileSync(file, 'utf8').split(from).length, 2, `check ${check}: ${file}`)
})

test('a morning with kills has no wrong response, and twice the same trace', async () => {
  const [one, other] = await Promise.all([1, 2].map(() => runPlan({ plan: PLAN, untilMs: UNTIL_MS })))
  assert.deepEqual(one?.wrong, [])
  assert.ok((one?.starts ?? 0) > 3, 'it was killed')
  assert.equal(one?.trace, other?.trace)
})

test('with a hub that is killed and cut off: no wrong response, and twice the same trace', async () => {
  const plan = { ...PLAN, seed: 1, carts: 1, hub: 'double' } as const
  const [one, other] = await Promise.all([1, 2].map(() => runPlan({ plan, untilMs: 3 * 3_600_000 })))
  assert.deepEqual(one?.wrong, [])
  assert.equal(one?.trace, other?.trace)
})

// each has found a fault of the product, at that check
test('the stored seeds have no wrong response', { skip: process.env.CARTBARN_TEST_LONG === undefined }, async () => {
  for (const { check, hours, ...run } of SEEDS) {
    const plan = { ...run, days: Math.ceil(hours / 24) }
    const { wrong } = await runPlan({ plan, untilMs: hours * 3_600_000 })
    assert.deepEqual(wrong, [], `seed ${plan.seed}, of check ${check}`)
  }
})

test('another seed has another trace', async () => {
  const plans = [1, 2].map((seed) => ({ ...PLAN, seed, carts: 1 }))
  const [one, other] = await Promise.all(plans.map((plan) => runPlan({ plan, untilMs: 600_000 })))
  assert.notEqual(one?.trace, other?.trace)
})

test('a request that counts twice is found by its check', async () => {
  const broken = BREAKS.find(({ check }) => check === 41) ?? assert.fail()
  const { wrong } = await runPlan({ plan: PLAN, edits: [{ ...broken, to: 'usage.requestsToday += 2' }] })
  assert.equal(wrong[0]?.check, 41)
})

test('a break whose text is not in its file ends the run', async () => {
  const edit = { file: 'gateway/services/users.ts', from: 'no such text', to: '' }
  await assert.rejects(runPlan({ plan: PLAN, edits: [edit] }), /users.ts has 0 times: no such text/)
})

test('unknown options, moods and times are refused with what is possible', async () => {
  for (const [args, expected] of [
    [['--mood', 'stormy'], /quiet, ordinary, hard/],
    [['--start', '2026-02-30'], /a date such as/],
    [['--until', '3 days'], /3d04:12:07/],
    [['--seed', 'x'], /whole number/],
    [['--wether'], /unknown option/],
  ] as const) {
    const { code, output } = await live(...args)
    assert.equal(code, 2, output)
    assert.match(output, expected)
  }
})
