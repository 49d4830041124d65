import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { FakeClock } from '#shared/testing/clocks.ts'
import { MINUTE_MS, toIso } from '#shared/time.ts'
import { createCallers, REFUSED_AS_NO_ADMIN, type Who } from '#testing/callers.ts'
import { startGateway, type TestGateway } from '#testing/start-gateway.ts'

const clock = new FakeClock()
const NOW_MS = clock.nowMs()
const HOUR_MS = 60 * MINUTE_MS
let g: TestGateway
let keys: Record<Who, string | null>

before(async () => {
  g = await startGateway({}, { clock, isTimeSynchronized: () => false })
  keys = await createCallers(g, [])
})
after(() => g.stop())

const timestamp = toIso(NOW_MS)

const SCENARIOS: { name: string; who?: Who; body?: unknown; status: number; code?: string }[] = [
  ...REFUSED_AS_NO_ADMIN.map(([who, status, code]) => ({
    ...{ name: who, who, status, code },
    body: { timestamp },
  })),
  { name: 'an admin, with the time', body: { timestamp }, status: 200 },
  { name: 'five minutes off', body: { timestamp: toIso(NOW_MS - 5 * MINUTE_MS) }, status: 200 },
  {
    name: 'more than five minutes off',
    body: { timestamp: toIso(NOW_MS - 5 * MINUTE_MS - 1) },
    status: 409,
    code: 'clock_differs',
  },
  { name: 'no time', body: {}, status: 400 },
  { name: 'no date', body: { timestamp: 'now' }, status: 400 },
  { name: 'a number', body: { timestamp: NOW_MS }, status: 400 },
  { name: 'more than the time', body: { timestamp, force: true }, status: 400, code: 'unknown_field' },
]

for (const { name, who = 'admin', body, status, code } of SCENARIOS) {
  test(`confirm the clock: ${name}: ${status}`, async () => {
    const answer = await g.request('POST', '/clock/confirm', { key: keys[who], body })
    assert.equal(answer.status, status, JSON.stringify(answer.body))
    if (code !== undefined) assert.equal(answer.body.code, code)
  })
}

test('a doubt is shown to admins only, with what to do, until one confirms the clock; the audit log has it', async (t) => {
  t.after(() => clock.set(NOW_MS))
  clock.set(NOW_MS - HOUR_MS)
  const { body } = await g.request('GET', '/health')
  assert.equal(body.clock, 'set_back')
  assert.match(body.clock_detail, /set back while the gateway ran.*POST \/clock\/confirm; else set it/)
  const { body: shown } = await g.request('GET', '/health', { key: null })
  assert.deepEqual(Object.keys(shown), ['status', 'timestamp'])
  const given = { timestamp: toIso(NOW_MS - HOUR_MS) }
  const { body: confirmed } = await g.request('POST', '/clock/confirm', { body: given })
  assert.deepEqual(confirmed, { success: true, ...given })
  assert.equal('clock' in (await g.request('GET', '/health')).body, false)
  const { entries } = (await g.request('GET', '/audit-log?limit=1')).body
  assert.deepEqual(entries[0]?.action, 'clock.confirmed')
})
