import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { describe, type TestContext, test } from 'node:test'
import { countStoredBytes, storedBytesOf } from '#hub/store/stored-bytes.ts'
import { compactSegments } from '#hub/store/telemetry/compactor.ts'
import { LONG_SUITE_KINDS } from '#hub/testing/databases.ts'
import { openHub, type TestHub } from '#hub/testing/open-hub.ts'
import { ADMIN_KEY, type Answer, People } from '#hub/testing/people.ts'
import { sentLockEvent } from '#hub/testing/reported.ts'
import { codeOf, rowsContent, runsContent, type SiteClient } from '#hub/testing/site-client.ts'
import { fileLinesOf, fileOf } from '#hub/testing/sync-file.ts'
import { GPS } from '#shared/telemetry/records.ts'
import { MINUTE_MS } from '#shared/time.ts'
import type { SyncPart } from '#shared/wire/replication/sync.ts'

const AT_MS = Date.UTC(2026, 4, 1, 12)
const MAX_BYTES = 1_000_000
const RESERVE = 0.1

function lockEvents(count: number, code = 'x'.repeat(500)) {
  return rowsContent(
    Array.from({ length: count }, (_, i) => sentLockEvent(i + 1, { event_id: randomUUID(), at_ms: AT_MS + i, code })),
  )
}

function notes(count: number, fields: Record<string, unknown> = { kind: 'note', body: {} }) {
  return rowsContent(
    Array.from({ length: count }, (_, i) => ({ seq: i + 1, note_id: randomUUID(), at_ms: AT_MS, ...fields })),
  )
}

function positions(count: number, hardwareId = 'cart-1') {
  const records = GPS.allocate(count)
  for (const i of records.atMs.keys()) {
    records.atMs[i] = AT_MS + i * 1000
    records.latE7[i] = 365_000_000 + ((i * 7919 * 31) % 1_000_003)
    records.longE7[i] = (i * 104_729 * 17) % 10_000_019
  }
  return runsContent([{ hardwareId, stream: 'gps', records }])
}

const group = { group_id: 1, name: 'One', created_at_ms: AT_MS, updated_at_ms: AT_MS }
const entity = (seq: number) => rowsContent([{ seq, table: 'device_group', key: '1', body: group }])
const FULL = [400, 'site_full']

async function fill(site: SiteClient, next: () => SyncPart): Promise<number> {
  for (let pushes = 0; pushes < 1000; pushes++) {
    const answer = await site.push(next())
    if (answer.status === 200) continue
    assert.deepEqual(codeOf(answer), FULL)
    return pushes
  }
  throw new Error('it is never full')
}

for (const kind of LONG_SUITE_KINDS) {
  describe(`a site that fills its quota, on ${kind.name}`, { skip: kind.skip }, () => {
    async function open(t: TestContext, siteMaxBytes = MAX_BYTES): Promise<TestHub> {
      const hub = await openHub(kind, { siteMaxBytes })
      t.after(() => hub.stop())
      return hub
    }
    const fillWithEvents = (site: SiteClient, atOnce = 100) =>
      fill(site, () => site.part('lock_events', lockEvents(atOnce)))

    test('cannot add events and positions, but can still send states, notes and configuration', async (t) => {
      const hub = await open(t)
      const site = await hub.site()
      const pushes = await fillWithEvents(site)
      assert.ok(pushes >= 8 && pushes <= 13, `${pushes} pushes of 100 events of 500 characters`)
      assert.equal(hub.hub.refused.get('site_full'), 1)
      assert.deepEqual(codeOf(await site.push(site.part('telemetry', positions(10)))), FULL)
      const both = [site.part('notes', notes(1)), site.part('lock_events', lockEvents(1))]
      assert.deepEqual(codeOf(await site.push(...both)), FULL, 'all of a request or nothing')
      assert.equal((await site.push(site.part('notes', notes(1)))).status, 200)
      assert.equal((await site.push(site.part('entities', entity(1)))).status, 200)
      assert.equal((await site.latest({ devices: [{ hardware_id: 'cart-1' }] })).status, 200)
      assert.equal((await site.restarted().hello()).status, 200)
      const other = await hub.site()
      assert.equal((await other.push(other.part('lock_events', lockEvents(100)))).status, 200)

      const people = new People(hub)
      const { body } = await people.request('GET', site.path)
      assert.equal(body.state, 'full')
      assert.deepEqual(body.warnings, ['full'])
      assert.match(body.explanation, /accepts no more of its positions and events/)
      assert.equal(body.storage.max_bytes, MAX_BYTES)
      assert.ok(body.storage.bytes >= MAX_BYTES)
      const metrics = await people.get('/metrics')
      assert.match(
        metrics,
        new RegExp(`cartbarn_hub_site_stored_bytes\\{site="${site.siteId}"\\} ${body.storage.bytes}`),
      )
      assert.match(metrics, /cartbarn_hub_refused_total\{reason="site_full"\} 3/)
      assert.match(metrics, /cartbarn_hub_site_max_bytes 1000000/)
    })

    test('is rejected before its batches are decoded', async (t) => {
      const hub = await open(t)
      const site = await hub.site()
      await fillWithEvents(site)
      const damaged = { ...site.part('lock_events', lockEvents(1)), hash: '0'.repeat(64) }
      assert.deepEqual(codeOf(await site.push(damaged)), FULL)
    })

    test('cannot exceed its reserve with the data it may still send', async (t) => {
      const hub = await open(t)
      const site = await hub.site()
      await site.latest({ is_complete: true, devices: [{ hardware_id: 'cart-1' }, { hardware_id: 'cart-2' }] })
      await fillWithEvents(site)
      await fill(site, () => site.part('notes', notes(20)))
      const kept = await storedBytesOf(hub.hub.database, site.siteId)
      assert.ok(kept < MAX_BYTES * (1 + RESERVE) + 100_000, `${kept} bytes, with a push each time`)
      assert.deepEqual(codeOf(await site.push(site.part('entities', entity(1)))), FULL)
      assert.deepEqual(codeOf(await site.audit('gps', 0, [])), FULL)
      const forked = site.restarted()
      forked.epoch = randomBytes(16).toString('hex')
      assert.deepEqual(codeOf(await forked.hello()), FULL, 'not as another epoch')
      // the states of existing devices are applied, and missing ones are not removed because of it
      assert.equal((await site.latest({ is_complete: true, devices: [{ hardware_id: 'cart-1' }] })).status, 200)
      const devices = (await new People(hub).request('GET', site.path)).body.devices
      assert.equal(devices, 2)
    })

    test('continues automatically once an admin has made room', async (t) => {
      const hub = await open(t)
      const site = await hub.site()
      await site.push(site.part('telemetry', positions(20_000)))
      const body = { hardware_id: 'cart-1', kinds: ['gps'], telemetry_through: 1e6, history_through: 0 }
      await fillWithEvents(site, 20)
      assert.equal((await site.push(site.part('notes', notes(1, { kind: 'erase', body })))).status, 200)
      hub.clock.advance(6 * MINUTE_MS)
      await hub.hub.storageCount.run()
      const part = () => site.part('lock_events', lockEvents(1))
      const archivedBytes = await storedBytesOf(hub.hub.database, site.siteId)
      assert.ok(archivedBytes > 100_000, `what was erased is kept aside, and counted: ${archivedBytes}`)
      await fillWithEvents(site, 20)
      const people = new People(hub)
      assert.equal((await people.request('DELETE', `${site.path}/erased?through=2099-01-01T00:00:00Z`)).status, 200)
      assert.deepEqual(codeOf(await site.push(part())), FULL, 'before it is counted')
      hub.clock.advance(6 * MINUTE_MS)
      await hub.hub.storageCount.run()
      assert.equal((await site.push(part())).status, 200)
      assert.notEqual((await people.get(site.path)).state, 'full')
    })

    test('is never counted as smaller than it is, even when rows arrive during the count', async (t) => {
      const hub = await open(t, 0)
      const { database } = hub.hub
      const [site, counted] = [await hub.site(), await hub.site()]
      const nowMs = () => hub.clock.nowMs()
      for (let n = 0; n < 5; n++) {
        const pushed = site.push(site.part('telemetry', positions(500, `cart-${n}`)))
        await Promise.all([countStoredBytes(database, site.siteId, nowMs()), pushed])
        await Promise.all([
          compactSegments(database, site.siteId, nowMs()),
          countStoredBytes(database, site.siteId, nowMs()),
          countStoredBytes(database, site.siteId, nowMs()),
        ])
      }
      const believed = await storedBytesOf(database, site.siteId)
      const exact = (await countStoredBytes(database, site.siteId, nowMs())) ?? 0
      assert.ok(exact > 5 * 500 * 2, `${exact} bytes`)
      assert.ok(believed >= exact, `${believed} and ${exact}`)
      assert.equal(await storedBytesOf(database, site.siteId), exact)
      // a hub without a limit counts as well
      assert.equal((await counted.push(counted.part('lock_events', lockEvents(100)))).status, 200)
      assert.ok((await storedBytesOf(database, counted.siteId)) > 50_000)
    })

    test('cannot import files either', async (t) => {
      const hub = await open(t)
      const site = await hub.site()
      await fillWithEvents(site)
      const file = fileOf(fileLinesOf(site, [site.part('lock_events', lockEvents(5))]))
      const response = await hub.hub.app.request(`${site.path}/import`, {
        method: 'POST',
        headers: { 'x-api-key': ADMIN_KEY, 'content-type': 'application/gzip' },
        body: Buffer.from(file),
      })
      const problem: Answer['body'] = await response.json()
      assert.deepEqual([response.status, problem.code], FULL)
    })

    test('has a bounded number of devices, also without a limit', async (t) => {
      const hub = await open(t, 0)
      const site = await hub.site()
      const devices = Array.from({ length: 20_001 }, (_, i) => ({ hardware_id: `cart-${i}` }))
      assert.deepEqual(codeOf(await site.latest({ devices })), FULL)
      assert.equal((await site.latest({ devices: devices.slice(0, 500) })).status, 200)
    })
  })
}
