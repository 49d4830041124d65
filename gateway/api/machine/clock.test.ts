import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MINUTE_MS, toIso } from '#shared/time.ts'
import { REFUSED_AS_NO_ADMIN, type Who } from '#testing/callers.ts'
import { scene } from '#testing/scene.ts'

const { g, clock, keys } = scene({ overrides: { isTimeSynchronized: () => false }, inScope: [], isStill: true })
const NOW_MS = clock.nowMs()
const HOUR_MS = 60 * MINUTE_MS
const time = toIso(NOW_MS)

const SCENARIOS: { name: string; who?: Who; body?: unknown; status: number; code?: string }[] = [
  ...REFUSED_AS_NO_ADMIN.map(([who, status, code]) => ({ name: who, who, status, code, body: { time } })),
  { name: 'an admin, with the time', body: { time }, status: 200 },
  { name: 'two minutes off', body: { time: toIso(NOW_MS - 2 * MINUTE_MS) }, status: 200 },
  { name: 'in another zone', body: { time: '2026-05-01T14:00:00+02:00' }, status: 200 },
  {
    name: 'more than two minutes off',
    body: { time: toIso(NOW_MS - 2 * MINUTE_MS - 1) },
    status: 409,
    code: 'clock_differs',
  },
  { name: 'no time', body: {}, status: 400 },
  { name: 'no date', body: { time: 'now' }, status: 400 },
  { name: 'a number', body: { time: NOW_MS }, status: 400 },
  { name: 'more than the time', body: { time, force: true }, status: 400, code: 'unknown_field' },
]

for (const { name, who = 'admin', body, status, code } of SCENARIOS)
  test(`confirming the clock: ${name}: ${status}`, async () => {
    const answer = await g.post('/clock/confirm', body, { key: keys[who] })
    assert.equal(answer.status, status, JSON.stringify(answer.body))
    if (code !== undefined) assert.equal(answer.body.code, code)
    if (status === 200) assert.deepEqual(answer.body, { clock: 'confirmed' })
    if (status === 409) assert.match(answer.body.detail, new RegExp(toIso(NOW_MS)))
  })

test('every caller sees the confidence in the clock; a rejected confirmation changes nothing', async (t) => {
  t.after(() => clock.set(NOW_MS))
  const shown = async () => (await g.get('/health', { key: null })).body.clock
  const confirm = (atMs: number) => g.post('/clock/confirm', { time: toIso(atMs) })
  await confirm(NOW_MS)
  assert.equal(await shown(), 'confirmed')
  clock.set(NOW_MS + MINUTE_MS)
  assert.equal(await shown(), 'confirmed')
  clock.set(NOW_MS + MINUTE_MS + 1)
  assert.equal(await shown(), 'trusted')
  assert.equal((await confirm(NOW_MS - MINUTE_MS)).status, 409)
  assert.equal(await shown(), 'trusted')
  clock.set(NOW_MS - HOUR_MS)
  assert.equal(await shown(), 'untrusted')
  await confirm(NOW_MS - HOUR_MS)
  assert.equal(await shown(), 'confirmed')
})

test('a clock fault is shown to admins with advice until one confirms the clock, which is audited', async (t) => {
  t.after(() => clock.set(NOW_MS))
  clock.set(NOW_MS - 2 * HOUR_MS)
  const { body } = await g.get('/health')
  assert.equal(body.clock_doubt, 'set_back')
  assert.match(body.clock_detail, /set back while the gateway ran.*POST \/clock\/confirm; else set it/)
  assert.deepEqual(Object.keys((await g.get('/health', { key: null })).body), ['status', 'timestamp', 'clock'])
  await g.post('/clock/confirm', { time: toIso(NOW_MS - 2 * HOUR_MS) })
  assert.equal('clock_doubt' in (await g.get('/health')).body, false)
  const { entries } = (await g.get('/audit-log?limit=1')).body
  assert.deepEqual(entries[0]?.action, 'clock.confirmed')
})
