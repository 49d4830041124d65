import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { eventually } from '#shared/testing/eventually.ts'
import { TestHub } from '#sync-testing/test-hub.ts'
import { fails, ok, publish, scene } from '#testing/scene.ts'
import { metric, startFor } from '#testing/start-gateway.ts'

const SITE_KEY = `cbs_links_${'k'.repeat(43)}`
const hub = new TestHub()
before(() => hub.start())
const { g, onlyFor } = scene({
  isRealTime: true,
  settings: () => ({ CARTBARN_UPSTREAM_URL: hub.url, CARTBARN_UPSTREAM_KEY: SITE_KEY, CARTBARN_SITE_ID: 'links' }),
  inScope: ['cart-1'],
})
after(() => hub.stop())

onlyFor('admins', ['GET', '/sync/status'], ['POST', '/sync/audit'])

test('a gateway without a head office reports that and cannot compare', async (t) => {
  const alone = await startFor(t)
  const body = await ok(alone.get('/sync/status'))
  assert.deepEqual([body.configured, body.state, body.details], [false, 'not_configured', null])
  assert.match(body.explanation, /CARTBARN_UPSTREAM_URL/)
  await fails(alone.post('/sync/audit'), 409, 'sync_not_configured')
  assert.doesNotMatch((await alone.get('/metrics')).body, /cartbarn_sync/)
})

test('device data arrives at the head office, and the status shows the acknowledgement', async () => {
  const device = await g.device('cart-1')
  await publish(device, 'dev/cart-1/evt', { event: 'lock', source: 'key', eid: 'e-1' })
  const isThere = () => [...hub.epochs.values()].some(({ cursors }) => cursors.lock_events.seq > 0)
  await eventually(isThere, 'the lock event at the hub')
  await eventually(
    () => hub.latest.some(({ devices }) => devices.some(({ hardware_id }) => hardware_id === 'cart-1')),
    'the state at the hub',
  )
  await eventually(async () => {
    const { body } = await g.get('/sync/status')
    return body.details.streams.some(
      ({ acked_rows, stream }: { acked_rows: number; stream: string }) => stream === 'lock_events' && acked_rows > 0,
    )
  }, 'the answer of the hub')
  const body = await ok(g.get('/sync/status'))
  assert.deepEqual(body.configured, true)
  const { details } = body
  assert.deepEqual(
    [details.upstream, details.site, details.forked_from, details.retry_in_s],
    [new URL(hub.url).host, 'links', null, null],
  )
  assert.ok(details.last_contact_at !== null && details.sent_bytes > 0)
  const events = details.streams.find(({ stream }: { stream: string }) => stream === 'lock_events')
  assert.deepEqual([events.acked_seq, events.acked_rows, events.trouble], [1, 1, null])
  assert.ok(!JSON.stringify(body).includes(SITE_KEY))
  assert.deepEqual([...hub.keys], [`Bearer ${SITE_KEY}`])
})

test('a change to a device without a message from it arrives too', async () => {
  await g.register('quiet-1')
  const isReported = (fields: Record<string, unknown>) => () =>
    hub.latest.some(({ devices }) => {
      const last = devices.find(({ hardware_id }) => hardware_id === 'quiet-1')
      return last !== undefined && Object.entries(fields).every(([name, value]) => last[name] === value)
    })
  await eventually(isReported({ name: null }), 'that it is there')
  await g.patch('/devices/quiet-1', { name: 'Two' })
  await eventually(isReported({ name: 'Two' }), 'its new name')
  await ok(g.put('/devices/quiet-1', { name: 'Three', device_type: 'cartcaddie', group_id: null }))
  await eventually(isReported({ name: 'Three', device_type: 'cartcaddie' }), 'its new name and type')
})

test('the metrics show acknowledgements, bytes, contact, backlog, failures and state', async () => {
  assert.ok((await metric(g, 'cartbarn_sync_acked_rows_total')) > 0)
  assert.ok((await metric(g, 'cartbarn_sync_sent_bytes_total', 'hello')) > 0)
  const contactS = await metric(g, 'cartbarn_sync_last_contact_timestamp_seconds')
  assert.ok(Math.abs(Date.now() / 1000 - contactS) < 60)
  const { body } = await g.get('/metrics')
  assert.match(body, /cartbarn_sync_backlog_rows\{stream="history"\} 0/)
  assert.match(body, /cartbarn_sync_failures_total\{reason="network"\} \d/)
  assert.equal(body.match(/cartbarn_sync_state\{state="\w+"\} 1/g)?.length, 1)
})

test('a requested audit is accepted and remembered', async () => {
  assert.deepEqual(await ok(g.post('/sync/audit'), 202), { success: true })
  assert.ok(['wanted', 'running', 'idle'].includes((await g.get('/sync/status')).body.details.audit.state))
})
