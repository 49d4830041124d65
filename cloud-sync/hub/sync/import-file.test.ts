import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { readTelemetry } from '#hub/store/telemetry/reader.ts'
import { LONG_SUITE_KINDS } from '#hub/testing/databases.ts'
import { ADMIN_KEY, type Answer, REFUSED_AS_NO_ADMIN } from '#hub/testing/people.ts'
import { sentLockEvent } from '#hub/testing/reported.ts'
import { hubScene } from '#hub/testing/scene.ts'
import { codeOf, endsOf, rowsContent, runsContent, type SiteClient } from '#hub/testing/site-client.ts'
import { fileLinesOf, fileOf } from '#hub/testing/sync-file.ts'
import { EVER, gpsRun } from '#hub/testing/telemetry.ts'
import { GPS } from '#shared/telemetry/records.ts'
import { SYNC_STREAMS } from '#shared/wire/replication/replicated.ts'
import type { SyncPart } from '#shared/wire/replication/sync.ts'

/** Set CARTBARN_TEST_LONG=1 for more random cuts. */
const IS_LONG = process.env.CARTBARN_TEST_LONG !== undefined

/** Creates `count` parts of lock events and of telemetry, one row each, after the cursors of the gateway. */
function partsOf(site: SiteClient, count: number): SyncPart[] {
  const parts: SyncPart[] = []
  for (const stream of ['lock_events', 'telemetry'] as const) {
    let before: SyncPart | undefined
    for (let i = 1; i <= count; i++) {
      const seq = site.cursors[stream].seq + i
      const content =
        stream === 'telemetry' ? runsContent([gpsRun('cart-1', [seq * 1000])]) : rowsContent([sentLockEvent(seq)])
      before = site.part(stream, content, { to: seq, before })
      parts.push(before)
    }
  }
  return parts
}

for (const kind of LONG_SUITE_KINDS) {
  describe(`a file carried to a hub on ${kind.name}`, { skip: kind.skip }, () => {
    const { hub, people } = hubScene(kind)

    const upload = async (siteId: string, file: Uint8Array, key = ADMIN_KEY) => {
      const response = await hub.hub.app.request(`/sites/${siteId}/import`, {
        method: 'POST',
        headers: { 'x-api-key': key, 'content-type': 'application/gzip' },
        body: Buffer.from(file),
      })
      const body: Answer['body'] = await response.json()
      return { status: response.status, body }
    }
    const contentOf = async (site: SiteClient) => {
      const of = { siteId: site.siteId, hardwareId: 'cart-1' }
      const { atMs } = await readTelemetry(hub.hub.database, GPS, of, EVER)
      const sql = 'SELECT event_id AS id FROM event WHERE site_id = $1 ORDER BY at_ms'
      const events = await hub.hub.database.all<{ id: string }>(sql, [site.siteId])
      return { times: [...atMs], events: events.map(({ id }) => id) }
    }
    const siteOf = (site: SiteClient) => people.get(site.path)

    test('is imported once, and its receipt has the cursors of the hub', async () => {
      const site = await hub.site()
      const file = fileOf(fileLinesOf(site, partsOf(site, 3)))
      const first = await upload(site.siteId, file)
      assert.deepEqual([first.status, first.body.taken, first.body.known, first.body.rows], [200, 6, 0, 6])
      const second = await upload(site.siteId, file)
      assert.deepEqual([second.status, second.body.taken, second.body.known, second.body.rows], [200, 0, 6, 0])
      await site.hello()
      assert.deepEqual([first.body.cursors, second.body.cursors], [site.cursors, site.cursors])
      const events = ['event-1', 'event-2', 'event-3']
      assert.deepEqual(await contentOf(site), { times: [1000, 2000, 3000], events })
    })

    test('leaves a valid prefix when cut off anywhere, and the whole file completes it', async () => {
      await fc.assert(
        fc.asyncProperty(fc.integer({ min: 1, max: 40 }), fc.double({ min: 0, max: 1 }), async (count, cut) => {
          const site = await hub.site()
          const file = fileOf(fileLinesOf(site, partsOf(site, count)))
          const length = Math.floor(cut * (file.length - 1))
          const partly = await upload(site.siteId, file.subarray(0, length))
          // only gzip's trailer may be missing: then the content was complete
          assert.ok(partly.status === 400 || (partly.status === 200 && file.length - length <= 10), `${partly.status}`)
          const { times, events } = await contentOf(site)
          for (const [i, time] of times.entries()) assert.equal(time, (i + 1) * 1000)
          for (const [i, event] of events.entries()) assert.equal(event, `event-${i + 1}`)
          await site.hello()
          assert.equal(site.cursors.telemetry.seq, times.length)
          assert.equal(site.cursors.lock_events.seq, events.length)
          assert.equal((await upload(site.siteId, file)).status, 200)
          const whole = await contentOf(site)
          assert.deepEqual([whole.times.length, whole.events.length], [count, count])
        }),
        { numRuns: IS_LONG ? 50 : 6 },
      )
    })

    test('is rejected with any line changed or missing, and imported rows are as written', async () => {
      const site = await hub.site()
      const lines = fileLinesOf(site, partsOf(site, 2))
      const other = site.restarted()
      const changed = fileLinesOf(other, [
        ...partsOf(other, 1),
        other.part('lock_events', rowsContent([{ ...sentLockEvent(9), source: 'code' }]), { to: 9 }),
      ])
      const broken: string[][] = lines.flatMap((line, i) => [
        // the states of devices are optional
        line.startsWith('{"devices"') ? lines.slice(0, i) : lines.toSpliced(i, 1),
        lines.with(i, `${line.slice(0, -3)}\n`),
        lines.with(i, line.replace(/"data":"..../, '"data":"AAAA')),
        lines.with(i, line.replace('"count":1', '"count":2')),
        lines.with(i, line.replace(/"to":(\d)/, '"to":7')),
        // lines after the end are not read
        line.startsWith('{"end"') ? lines : lines.toSpliced(i, 0, line),
      ])
      for (const text of [...broken, changed]) {
        if (text.join('') === lines.join('')) continue
        const { status, body } = await upload(site.siteId, fileOf(text))
        const isTaken = text.filter((line) => line.startsWith('{"devices"')).length > 1 && status === 200
        assert.ok(isTaken || [400, 403, 409].includes(status), JSON.stringify([status, body]))
        if (!isTaken) assert.ok(['invalid_file', 'wrong_site', 'cursor'].includes(body.code), body.code)
        const { times, events } = await contentOf(site)
        assert.deepEqual(times, [1000, 2000].slice(0, times.length))
        assert.deepEqual(events, ['event-1', 'event-2'].slice(0, events.length))
      }
      assert.equal((await upload(site.siteId, fileOf(lines))).status, 200)
      for (const text of [...broken, changed]) {
        if (text.join('') === lines.join('') || text.filter((line) => line.startsWith('{"devices"')).length > 1)
          continue
        assert.notEqual((await upload(site.siteId, fileOf(text))).status, 200, 'a receipt for what is not here')
      }
    })

    test('never gets a receipt for batches that the hub lacks', async () => {
      const site = await hub.site()
      const parts = partsOf(site, 2)
      const without = fileLinesOf(site, parts).filter(
        (line) => !line.includes(parts.at(-1)?.hash ?? '') || line.includes('"end"'),
      )
      assert.deepEqual(codeOf(await upload(site.siteId, fileOf(without))), [400, 'invalid_file'])
    })

    test('is rejected if it comes from a diverged copy, even if the hub is further', async () => {
      const site = await hub.site()
      const copy = site.restarted()
      await site.push(...partsOf(site, 2))
      const part = copy.part('telemetry', runsContent([gpsRun('cart-1', [77])]), { to: 2 })
      const { status, body } = await upload(copy.siteId, fileOf(fileLinesOf(copy, [part])))
      assert.deepEqual([status, body.code], [409, 'cursor'])
      assert.deepEqual((await contentOf(site)).times, [1000, 2000])
    })

    test('is rejected if it is of another site, has its database, or does not continue there', async () => {
      const site = await hub.site()
      const other = await hub.site()
      const file = fileOf(fileLinesOf(other, partsOf(other, 1)))
      assert.deepEqual(codeOf(await upload(site.siteId, file)), [403, 'wrong_site'])
      const foreign = await upload(site.siteId, fileOf(fileLinesOf(site, [], { head: { epoch: other.epoch } })))
      assert.deepEqual([foreign.status, foreign.body.code], [409, 'foreign_epoch'])
      const ahead = site.restarted()
      ahead.cursors = { ...ahead.cursors, telemetry: { seq: 5, hash: 'a'.repeat(64) } }
      const gap = await upload(site.siteId, fileOf(fileLinesOf(ahead, partsOf(ahead, 1))))
      assert.deepEqual([gap.status, gap.body.code], [409, 'cursor'])
      assert.deepEqual(await contentOf(site), { times: [], events: [] })
    })

    test('can be imported by admins only', async () => {
      const site = await hub.site()
      const keys = await people.callers(site.siteId)
      const file = fileOf(fileLinesOf(site, partsOf(site, 1)))
      for (const [who, status, code] of REFUSED_AS_NO_ADMIN) {
        assert.deepEqual(codeOf(await upload(site.siteId, file, keys[who] ?? '')), [status, code], who)
      }
      assert.deepEqual(await contentOf(site), { times: [], events: [] })
      assert.equal((await upload('nowhere', file)).body.code, 'site_not_found')
    })

    test('applies each batch once while its gateway also sends, without a duplicate warning', async () => {
      const site = await hub.site()
      const parts = partsOf(site, 30)
      const file = fileOf(fileLinesOf(site, parts))
      hub.clock.aheadMs += 120_000
      const pushAll = async () => {
        for (const part of parts) await site.push(part)
      }
      const answers = await Promise.all([upload(site.siteId, file), pushAll(), upload(site.siteId, file)])
      for (const answer of [answers[0], answers[2]]) {
        assert.ok(answer.status === 200 || answer.body.code === 'cursor', JSON.stringify(answer.body))
      }
      await pushAll()
      assert.equal((await upload(site.siteId, file)).status, 200)
      const { times, events } = await contentOf(site)
      assert.deepEqual([times.length, events.length], [30, 30])
      await site.hello()
      const { warnings } = (await site.pushRows('lock_events', [sentLockEvent(99)])).body
      assert.deepEqual(warnings, [])
      // its gateway has not reported missing rows; a second gateway would have its own state
      assert.equal((await siteOf(site)).state, 'comparing')
      const streams = SYNC_STREAMS.filter((stream) => site.cursors[stream].seq > 0)
      assert.deepEqual(streams, ['lock_events', 'telemetry'])
    })

    test('does not revert states if it is older, or revive a site if it is from the future', async () => {
      const site = await hub.site()
      const nowMs = hub.clock.nowMs()
      await site.latest({
        at_ms: nowMs,
        devices: [{ hardware_id: 'cart-1', is_online: true }, { hardware_id: 'cart-2' }],
      })
      const head = { exported_at_ms: nowMs - 86_400_000 }
      const devices = [{ hardware_id: 'cart-1', is_online: false }]
      assert.equal((await upload(site.siteId, fileOf(fileLinesOf(site, [], { head, devices })))).status, 200)
      const sql = 'SELECT hardware_id, body FROM site_latest WHERE site_id = $1 ORDER BY hardware_id'
      const states = await hub.hub.database.all(sql, [site.siteId])
      assert.deepEqual(states, [
        { hardware_id: 'cart-1', body: '{"hardware_id":"cart-1","is_online":true}' },
        { hardware_id: 'cart-2', body: '{"hardware_id":"cart-2"}' },
      ])
      const years = { exported_at_ms: nowMs + 40 * 365 * 86_400_000 }
      assert.equal((await upload(site.siteId, fileOf(fileLinesOf(site, [], { head: years })))).status, 200)
      hub.clock.aheadMs += 600_000
      assert.equal((await siteOf(site)).state, 'silent')
      const never = { exported_at_ms: Number.MAX_SAFE_INTEGER }
      assert.equal((await upload(site.siteId, fileOf(fileLinesOf(site, [], { head: never })))).status, 400)
      assert.equal((await siteOf(site)).site_id, site.siteId)
    })

    test('from before a restore adds its history and keeps the current configuration', async () => {
      const site = await hub.site()
      const old = site.restarted()
      old.epoch = 'e'.repeat(31) + (kind.name === 'PGlite' ? '0' : '1')
      const name = async () => {
        const sql = 'SELECT entity_key AS key, body FROM entity WHERE site_id = $1 ORDER BY entity_key'
        const rows = await hub.hub.database.all<{ key: string; body: string }>(sql, [site.siteId])
        return rows.map(({ key, body }) => `${key}: ${body}`)
      }
      const device = (key: string, text: string) => ({ seq: 1, table: 'device', key, body: { name: text } })
      site.epoch = 'd'.repeat(31) + (kind.name === 'PGlite' ? '0' : '1')
      site.cursors = old.cursors
      const ends = endsOf(site.cursors, 1)
      await site.hello({ forked_from: { epoch: old.epoch, reason: 'restored from a backup' }, ends })
      await site.pushRows('entities', [device('cart-1', 'new')])
      const entry = {
        at_ms: 5,
        user_id: null,
        person: null,
        session_id: null,
        address: null,
        action: 'device.created',
        target: 'cart-9',
        before: null,
        after: {},
      }
      const rows = [
        device('cart-1', 'old'),
        { ...device('cart-9', 'gone'), seq: 2 },
        { seq: 3, table: 'audit_entry', key: 'entry-1', body: entry },
      ]
      const parts = [
        old.part('entities', rowsContent(rows)),
        old.part('telemetry', runsContent([gpsRun('cart-1', [1234])])),
      ]
      const head = { exported_at_ms: hub.clock.nowMs() - 1000 }
      const { status, body } = await upload(site.siteId, fileOf(fileLinesOf(old, parts, { head })))
      assert.deepEqual([status, body.taken], [200, 2])
      assert.deepEqual((await contentOf(site)).times, [1234])
      assert.deepEqual(await name(), ['cart-1: {"name":"new"}'])
      assert.deepEqual(
        await hub.hub.database.all('SELECT entry_id AS id FROM audit_entry WHERE site_id = $1', [site.siteId]),
        [{ id: 'entry-1' }],
        'what was done then was done',
      )
      assert.equal((await siteOf(site)).epochs[0].epoch, site.epoch)
    })
  })
}
