import assert from 'node:assert/strict'
import { truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { eventually } from '#shared/testing/eventually.ts'
import { metric, startGateway } from '#testing/start-gateway.ts'

const BUDGET = 100_000_000

async function start(t: TestContext) {
  const g = await startGateway({ CARTBARN_DISK_BUDGET: String(BUDGET) })
  t.after(() => g.stop())
  await eventually(async () => (await metric(g, 'cartbarn_disk_used_bytes')) > 0, 'it is looked at')
  return g
}

test('a filling disk is shown to admins in /health and in the metrics', async (t) => {
  const g = await start(t)
  assert.equal('disk' in (await g.get('/health')).body, false)
  assert.equal(await metric(g, 'cartbarn_disk_budget_bytes'), BUDGET)
  const { key } = await g.createUser({ role: 'user' })
  await g.restart(() => {
    const path = join(g.config.dataDir, 'film')
    writeFileSync(path, '')
    truncateSync(path, BUDGET - (16 << 20))
  })
  const health = async () => (await g.get('/health')).body
  await eventually(async () => 'disk' in (await health()), 'it is noticed')
  const { status, disk } = await health()
  const { used_bytes: usedBytes, detail, ...others } = disk
  assert.deepEqual([status, others], ['ok', { state: 'critical', budget_bytes: BUDGET }])
  assert.ok(usedBytes > BUDGET && usedBytes < 1.1 * BUDGET)
  assert.match(detail, /^100 % of the disk budget is used; the gateway deletes nothing/)
  assert.equal(await metric(g, 'cartbarn_disk_used_bytes'), usedBytes)
  for (const other of [key, null]) assert.equal('disk' in (await g.get('/health', { key: other })).body, false)
})
