import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DAY_MS } from '#shared/time.ts'
import { ClockedGateway } from './clocked-gateway.ts'
import { mayBeGone } from './readings.ts'
import { playStory } from './story.ts'

// one with a first start in 1970, one with a first start at the right time
for (const seed of [102, 1018]) {
  test(`the story of seed ${seed} has no missing reading and no unreported wrong time`, async () => {
    const { acknowledged, missing, unreported, steps } = await playStory(seed)
    assert.ok(acknowledged > 100 && steps.length > 6)
    assert.deepEqual({ missing, unreported }, { missing: [], unreported: [] })
  })
}

test('a reading that is gone without being old is found', async (t) => {
  const gateway = await ClockedGateway.open(0)
  t.after(() => gateway.close())
  await gateway.send(['satellite-1'], 10, 10 * DAY_MS)
  await gateway.remove('satellite-1')
  assert.equal((await gateway.findings()).missing.length, 10)
})

test('a reading may be gone once it is old by its true time, or by the time from the gateway', () => {
  const nowMs = Date.UTC(2026, 4, 1)
  const kept = { byRetentionMs: 60 * DAY_MS, purges: [] }
  const reading = (trueDays: number, gatewayDays: number | null) => ({
    hardwareId: 'x',
    voltageMv: 1,
    trueMs: nowMs - trueDays * DAY_MS,
    timestampMs: gatewayDays === null ? nowMs - trueDays * DAY_MS : null,
    gatewayMs: nowMs - (gatewayDays ?? 0) * DAY_MS,
  })
  assert.equal(mayBeGone(reading(59, null), nowMs, kept), false)
  assert.equal(mayBeGone(reading(61, null), nowMs, kept), true)
  assert.equal(mayBeGone(reading(1, 61), nowMs, kept), true)
  assert.equal(mayBeGone(reading(1, 59), nowMs, kept), false)
  const purges = [{ atMs: nowMs, olderThanMs: 20 * DAY_MS }]
  assert.equal(mayBeGone(reading(21, null), nowMs, { ...kept, purges }), true)
})
