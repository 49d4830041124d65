import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { schemaStatements } from '#hub/store/database/schema.ts'
import { compactSegments } from '#hub/store/telemetry/compactor.ts'
import { readTelemetry } from '#hub/store/telemetry/reader.ts'
import { type DatabaseKind, LONG_SUITE_KINDS } from '#hub/testing/databases.ts'
import { openHub, type TestHub } from '#hub/testing/open-hub.ts'
import { REFUSED_AS_NO_ADMIN } from '#hub/testing/people.ts'
import { reportedDevice, sentLockEvent } from '#hub/testing/reported.ts'
import { hubScene } from '#hub/testing/scene.ts'
import { rowsContent, runsContent, type SiteClient } from '#hub/testing/site-client.ts'
import { batteryRun, EVER, gpsAt, gpsBlock, gpsRun, sumOf } from '#hub/testing/telemetry.ts'
import { BATTERY, GPS } from '#shared/telemetry/records.ts'
import type { TelemetryRun } from '#shared/telemetry/runs.ts'
import { DAY_MS } from '#shared/time.ts'

const DAY = Date.UTC(2026, 4, 1)
const REAL = 365_000_000
const FORGED = 100_000_000

function eraseNote(id: string, fields: Record<string, unknown> = {}, at_ms = DAY) {
  const body = { hardware_id: 'cart-1', kinds: ['gps', 'battery'], telemetry_through: 0, history_through: 0, ...fields }
  return { seq: 1, note_id: id, kind: 'erase', at_ms, body }
}

const seconds = (...list: number[]) => list.map((each) => DAY + each * 1000)

/** Returns the whole content of the database as one text. */
async function everything({ hub }: TestHub): Promise<string> {
  let text = ''
  for (const statement of schemaStatements()) {
    const table = /^CREATE TABLE IF NOT EXISTS (\w+)/m.exec(statement)?.[1]
    if (table === undefined) continue
    for (const row of await hub.database.all<object>(`SELECT * FROM ${table}`))
      for (const value of Object.values(row))
        text += value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : `${value}\n`
  }
  return text
}

for (const kind of LONG_SUITE_KINDS) describeErased(kind)

function describeErased(kind: DatabaseKind): void {
  describe(`data that a site erased, at a hub on ${kind.name}`, { skip: kind.skip }, () => {
    const { hub, people } = hubScene(kind)

    const gps = (site: SiteClient, id = 'cart-1') =>
      readTelemetry(hub.hub.database, GPS, { siteId: site.siteId, hardwareId: id }, EVER)
    const times = async (site: SiteClient, id?: string) => [...(await gps(site, id)).atMs]
    const battery = async (site: SiteClient) => {
      const of = { siteId: site.siteId, hardwareId: 'cart-1' }
      return [...(await readTelemetry(hub.hub.database, BATTERY, of, EVER)).atMs]
    }
    const send = async (site: SiteClient, stream: 'telemetry' | 'notes', content: unknown[], to?: number) => {
      const parts = stream === 'notes' ? rowsContent(content) : runsContent(content as TelemetryRun[])
      const { status, body } = await site.push(site.part(stream, parts, to === undefined ? {} : { to }))
      assert.equal(status, 200, JSON.stringify(body))
    }
    const list = async (site: SiteClient) => {
      const { status, body } = await people.request('GET', `${site.path}/erased`)
      assert.equal(status, 200)
      return body.erased
    }
    const restore = async (site: SiteClient, since: number, more = {}) => {
      const { status, body } = await people.request('POST', `${site.path}/erased/restore`, {
        body: { since: new Date(since).toISOString(), ...more },
      })
      assert.equal(status, 200, JSON.stringify(body))
      return body
    }
    const rows = (site: SiteClient, table: string) => hub.count(site, table)

    test('is in no response and no audit, and can be restored, from blocks and from segments', async () => {
      const site = await hub.site()
      const since = hub.clock.nowMs()
      await send(site, 'telemetry', [gpsRun('cart-1', seconds(1, 2)), batteryRun('cart-1', seconds(1))])
      await compactSegments(hub.hub.database, site.siteId, 0)
      await send(site, 'telemetry', [gpsRun('cart-1', seconds(3)), gpsRun('cart-2', seconds(3))])
      await site.pushBlocks([gpsBlock('cart-1', seconds(-9, -8))])
      await site.latest({ is_complete: true, devices: [reportedDevice('cart-1'), reportedDevice('cart-2')] })
      await send(site, 'notes', [eraseNote('e1')])
      await site.latest({ is_complete: true, devices: [reportedDevice('cart-2')], at_ms: Date.now() + 1 })

      assert.deepEqual([await times(site), await battery(site)], [[], []])
      assert.deepEqual(await times(site, 'cart-2'), seconds(3))
      const path = `${site.path}/devices/cart-1`
      assert.equal((await people.request('GET', path)).status, 404)
      const groups = [{ group: 'cart-2', ...sumOf(gpsAt(seconds(3))) }]
      assert.deepEqual((await site.audit('gps', DAY, groups)).body, { resend: [], extra: [] })
      const erased = await list(site)
      const listed = erased.map(({ hardware_id, what, records }: Record<string, unknown>) => {
        return `${hardware_id} ${what} ${records}`
      })
      assert.deepEqual(listed.sort(), ['cart-1 battery 1', 'cart-1 device 0', 'cart-1 gps 5'])
      for (const { bytes, erased_at, deleted_at } of erased) {
        assert.ok(bytes > 10)
        assert.equal(Date.parse(deleted_at) - Date.parse(erased_at), 30 * DAY_MS)
      }

      assert.deepEqual(await restore(site, since), { success: true, devices: 1, records: 6 })
      assert.deepEqual(await times(site), seconds(-9, -8, 1, 2, 3))
      assert.deepEqual(await battery(site), seconds(1))
      assert.equal((await people.get(path)).is_online, false)
      assert.equal((await people.get(`${path}/gps?limit=9`)).length, 5)
      assert.deepEqual(await list(site), [])
      assert.deepEqual(await restore(site, since), { success: true, devices: 0, records: 0 })
      assert.deepEqual([await rows(site, 'erased_block'), await rows(site, 'erased_device')], [0, 0])
    })

    test('stays archived when the gateway compares, reports its devices or sends the note again', async () => {
      const site = await hub.site()
      await send(site, 'telemetry', [gpsRun('cart-1', seconds(1, 2, 3)), gpsRun('cart-2', seconds(1))])
      await site.latest({ is_complete: true, devices: [reportedDevice('cart-1'), reportedDevice('cart-2')] })
      await send(site, 'notes', [eraseNote('e1', { telemetry_through: 1000 })])
      await site.latest({ is_complete: true, devices: [reportedDevice('cart-2')], at_ms: Date.now() + 1 })
      await restore(site, 0)
      // the gateway has the device again, and a record of that day
      const groups = [
        { group: 'cart-2', ...sumOf(gpsAt(seconds(1))) },
        { group: 'cart-1', ...sumOf(gpsAt(seconds(9))) },
      ]
      await send(site, 'telemetry', [gpsRun('cart-1', seconds(9))], 2000)
      const first = (await site.audit('gps', DAY, groups)).body
      assert.deepEqual(first, { resend: ['cart-1'], extra: [{ group: 'cart-1', count: 3 }] })
      const resent = site.part('telemetry', runsContent([gpsRun('cart-1', seconds(9))]), { isResend: true })
      await site.push(resent)
      for (let night = 0; night < 3; night++) {
        const { body } = await site.audit('gps', DAY, groups)
        assert.deepEqual(body, { resend: [], extra: [{ group: 'cart-1', count: 3 }] }, `night ${night}`)
        await site.latest({ is_complete: true, devices: [reportedDevice('cart-2')], at_ms: Date.now() + night + 2 })
      }
      const fork = await site.forked()
      await fork.pushRows('notes', [eraseNote('e1')])
      assert.deepEqual(await times(site), seconds(1, 2, 3, 9))
      const path = `${site.path}/devices/cart-1`
      assert.equal((await people.get(path)).is_online, false)
      // until its gateway has the device again; when that deletes it, it is gone again
      await site.latest({ devices: [reportedDevice('cart-1')], at_ms: Date.now() + 10 })
      assert.equal((await people.get(path)).is_online, true)
      await site.latest({ is_complete: true, devices: [reportedDevice('cart-2')], at_ms: Date.now() + 11 })
      assert.equal((await people.request('GET', path)).status, 404)
    })

    test('takes precedence over forged rows in its place, whatever else was erased since', async () => {
      const site = await hub.site()
      await send(site, 'telemetry', [gpsRun('cart-1', seconds(1, 2, 3))])
      await send(site, 'notes', [eraseNote('e1')])
      await send(site, 'telemetry', [gpsRun('cart-1', seconds(2, 5), FORGED)])
      hub.clock.aheadMs += 1000
      await send(site, 'notes', [eraseNote('e2')])
      await send(site, 'telemetry', [gpsRun('cart-1', seconds(3, 6), FORGED)])
      await compactSegments(hub.hub.database, site.siteId, 0)
      await send(site, 'telemetry', [gpsRun('cart-1', seconds(1), FORGED)])
      await restore(site, 0)
      const { atMs, latE7 } = await gps(site)
      assert.deepEqual([...atMs], seconds(1, 2, 3, 5, 6))
      assert.deepEqual([...latE7], [REAL, REAL, REAL, FORGED, FORGED])
      const sql = 'SELECT SUM(record_count) AS sum FROM telemetry_block WHERE site_id = $1'
      assert.deepEqual(await hub.hub.database.get(sql, [site.siteId]), { sum: 5 })
    })

    test('can be restored for some devices from a given time on, including rows around the note', async () => {
      const site = await hub.site()
      const blocks = ['cart-1', 'cart-2', 'cart-3'].map((id) => gpsBlock(id, seconds(1, 2, 3, 4)))
      await site.pushBlocks(blocks)
      await send(site, 'notes', [eraseNote('e1')])
      hub.clock.aheadMs += 10_000
      const since = hub.clock.nowMs()
      await send(site, 'notes', [eraseNote('e2', { hardware_id: 'cart-2' })])
      const late = rowsContent([eraseNote('e3', { hardware_id: 'cart-3' }, DAY + 2000)])
      await site.push(site.part('notes', late, { isResend: true }))
      assert.deepEqual(await times(site, 'cart-3'), seconds(3, 4))
      assert.deepEqual(await restore(site, since, { hardware_ids: ['cart-2'] }), {
        success: true,
        devices: 0,
        records: 4,
      })
      assert.deepEqual(await times(site, 'cart-3'), seconds(3, 4))
      await restore(site, since)
      const all = seconds(1, 2, 3, 4)
      assert.deepEqual([await times(site, 'cart-2'), await times(site, 'cart-3')], [all, all])
      assert.deepEqual(await times(site), [], 'erased before')
      await restore(site, 0)
      assert.deepEqual(await times(site), all)
    })

    test('is restored completely when it spans many blocks', async () => {
      const site = await hub.site()
      const blocks = Array.from({ length: 150 }, (_, i) => gpsBlock('cart-1', seconds(2 * i, 2 * i + 1)))
      await site.pushBlocks(blocks)
      await send(site, 'notes', [eraseNote('e1')])
      assert.equal((await restore(site, 0)).records, 300)
      assert.deepEqual(await times(site), seconds(...Array.from({ length: 300 }, (_, i) => i)))
    })

    test('is deleted permanently after its retention, or earlier by an admin', async () => {
      const site = await hub.site()
      const erase = async (id: string) => {
        await send(site, 'telemetry', [gpsRun('cart-1', seconds(1))])
        await site.latest({ is_complete: true, devices: [reportedDevice('cart-1')], at_ms: hub.clock.nowMs() })
        await send(site, 'notes', [eraseNote(id)])
        await site.latest({ is_complete: true, devices: [], at_ms: hub.clock.nowMs() + 1 })
      }
      await erase('e1')
      hub.clock.aheadMs += 29 * DAY_MS
      await erase('e2')
      await hub.hub.retention.run()
      assert.equal((await list(site)).length, 4)
      hub.clock.aheadMs += DAY_MS
      await hub.hub.retention.run()
      assert.deepEqual([await rows(site, 'erased_block'), await rows(site, 'erased_device')], [1, 1])
      const deleteThrough = async (at: number) => {
        const through = new Date(at).toISOString()
        return (await people.request('DELETE', `${site.path}/erased?through=${through}`)).body
      }
      const nowMs = hub.clock.nowMs()
      assert.deepEqual(await deleteThrough(nowMs - 2 * DAY_MS), { success: true, deleted: 0 })
      assert.deepEqual(await deleteThrough(nowMs), { success: true, deleted: 2 })
      assert.deepEqual(await restore(site, 0), { success: true, devices: 0, records: 0 })
    })

    test('is deleted permanently when an admin deletes a device that was restored', async () => {
      const site = await hub.site()
      const runs = [gpsRun('cart-1', seconds(1)), batteryRun('cart-1', seconds(1))]
      await send(site, 'telemetry', [...runs, gpsRun('cart-2', seconds(1))])
      await site.latest({ is_complete: true, devices: [reportedDevice('cart-1'), reportedDevice('cart-2')] })
      const remove = (id: string) => people.request('DELETE', `${site.path}/devices/${id}`)
      assert.equal((await remove('cart-1')).body.code, 'device_not_restored')
      await send(site, 'notes', [eraseNote('e1')])
      await site.latest({ is_complete: true, devices: [reportedDevice('cart-2')], at_ms: Date.now() + 1 })
      await restore(site, 0)
      await send(site, 'telemetry', [gpsRun('cart-1', seconds(7))], 1000)
      await send(site, 'notes', [eraseNote('e2', { kinds: ['gps'] })])
      await send(site, 'telemetry', [gpsRun('cart-1', seconds(8))], 2000)
      assert.deepEqual((await remove('s-cart-1')).body, { success: true, deleted: 'cart-1' })
      assert.equal((await remove('cart-1')).status, 404)
      assert.deepEqual([await times(site), await battery(site), await list(site)], [[], [], []])
      assert.deepEqual(await restore(site, 0), { success: true, devices: 0, records: 0 })
      assert.deepEqual(await times(site, 'cart-2'), seconds(1))
    })

    test('is accessible to admins only', async () => {
      const site = await hub.site()
      await people.callers(site.siteId)
      for (const refusal of REFUSED_AS_NO_ADMIN)
        await people.checkRefused(
          refusal,
          ['GET', `${site.path}/erased`],
          ['POST', `${site.path}/erased/restore`, { since: '2026-01-01T00:00:00.000Z' }],
          ['DELETE', `${site.path}/erased?through=2026-01-01T00:00:00.000Z`],
          ['DELETE', `${site.path}/devices/cart-1`],
        )
      assert.equal((await people.request('GET', '/sites/nowhere/erased')).status, 404)
      assert.equal((await people.request('POST', `${site.path}/erased/restore`, { body: {} })).status, 400)
    })

    test('has no erased person and no erased code', async () => {
      const site = await hub.site()
      const [code, person] = ['04C0DE99', 'Mrs Forgotten']
      const fields = { event_id: 'l1', event: 'unlock', source: 'rfid', at_ms: DAY, code, metadata: { for: person } }
      const command = (metadata: unknown) => ({
        table: 'command',
        key: 'c1',
        body: { hardware_id: 'cart-1', metadata },
      })
      await site.pushRows('lock_events', [sentLockEvent(1, fields)])
      await site.pushEntities(command({ for: person }))
      await site.pushRuns([gpsRun('cart-1', seconds(1))])
      await site.latest({ is_complete: true, devices: [reportedDevice('cart-1')] })
      assert.ok((await everything(hub)).includes(code) && (await everything(hub)).includes(person))
      const body = { lock_events: [{ event_id: 'l1', code: true, metadata: [['for']] }] }
      const blank = { seq: 2, note_id: 'b1', kind: 'blank', at_ms: DAY, body }
      await send(site, 'notes', [eraseNote('e1')])
      await send(site, 'notes', [blank])
      await site.pushEntities(command({ for: '' }))
      await site.latest({ is_complete: true, devices: [], at_ms: Date.now() + 1 })
      assert.equal((await list(site)).length, 2)
      const left = await everything(hub)
      assert.ok(!left.includes(code) && !left.includes(person))
    })
  })

  test(`a hub with a retention of 0 days keeps no erased data (${kind.name})`, { skip: kind.skip }, async () => {
    const hub = await openHub(kind, { erasedKeepDays: 0 })
    try {
      const site = await hub.site()
      await site.pushRuns([gpsRun('cart-1', seconds(1))])
      await site.latest({ is_complete: true, devices: [reportedDevice('cart-1')] })
      await site.pushRows('notes', [eraseNote('e1')])
      await site.latest({ is_complete: true, devices: [], at_ms: Date.now() + 1 })
      for (const table of ['erased_block', 'erased_device', 'telemetry_block', 'segment', 'site_latest'])
        assert.deepEqual(await hub.hub.database.all(`SELECT * FROM ${table}`), [], table)
    } finally {
      await hub.stop()
    }
  })
}
