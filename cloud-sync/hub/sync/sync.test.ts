import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { hasDuplicateGateway } from '#hub/sites/state.ts'
import { compactSegments } from '#hub/store/telemetry/compactor.ts'
import { readTelemetry } from '#hub/store/telemetry/reader.ts'
import { DATABASE_KINDS } from '#hub/testing/databases.ts'
import { sentLockEvent } from '#hub/testing/reported.ts'
import { hubScene } from '#hub/testing/scene.ts'
import { blocksContent, codeOf, endsOf, rowsContent, runsContent, type SiteClient } from '#hub/testing/site-client.ts'
import { EVER, gpsAt, gpsBlock, gpsRun, sumOf } from '#hub/testing/telemetry.ts'
import { RowHashSum } from '#shared/sync-hash.ts'
import { GPS } from '#shared/telemetry/records.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { DAY_MS } from '#shared/time.ts'
import { NO_CURSOR } from '#shared/wire/replication/replicated.ts'
import type { SyncPart } from '#shared/wire/replication/sync.ts'

const NOON_MS = Date.UTC(2026, 4, 1, 12)
function eraseNote(seq: number, fields: Record<string, unknown> = {}) {
  const body = {
    hardware_id: 'cart-1',
    kinds: ['gps', 'battery'],
    telemetry_through: 100,
    history_through: 100,
    ...fields,
  }
  return { seq, note_id: `note-${seq}`, kind: 'erase', at_ms: NOON_MS, body }
}

for (const kind of DATABASE_KINDS) {
  describe(`a hub on ${kind.name}`, { skip: kind.skip }, () => {
    const { hub } = hubScene(kind)

    const database = () => hub.hub.database
    const times = async (site: SiteClient, hardwareId = 'cart-1') => {
      const of = { siteId: site.siteId, hardwareId }
      return [...(await readTelemetry(database(), GPS, of, EVER)).atMs]
    }
    const count = (site: SiteClient, table: string) => hub.count(site, table)

    describe('authorisation of senders', () => {
      test('rejects a key that is missing, wrong, of another site or revoked', async () => {
        const site = await hub.site()
        const other = await hub.site()
        const none = await hub.hub.app.request('/sync/v1/hello', { method: 'POST' })
        assert.equal(none.status, 401)
        assert.match(await none.text(), /"code":"missing_site_key"/)
        const wrongKeys = ['flt_x', `cbs_${site.siteId}_${'A'.repeat(43)}`, site.key.replace(site.siteId, other.siteId)]
        for (const key of wrongKeys) {
          for (const [method, path] of [
            ['POST', '/hello'],
            ['POST', '/push'],
            ['POST', '/latest'],
            ['POST', '/audit'],
            ['GET', '/intents'],
          ] as const) {
            const { status, body } = await hub.client(site.siteId, key).request(method, path)
            assert.deepEqual([status, body.code], [401, 'invalid_site_key'], `${method} ${path} with ${key}`)
          }
        }
        await hub.hub.sites.revoke(site.siteId)
        assert.equal((await site.hello()).body.code, 'revoked_site_key')
        const key = await hub.hub.sites.rotate(site.siteId)
        assert.equal((await hub.client(site.siteId, key).hello()).status, 200)
        assert.equal((await site.hello()).body.code, 'revoked_site_key')
      })

      test('rejects a body with another site, a later protocol or the epoch of another site', async () => {
        const site = await hub.site()
        const other = await hub.site()
        const ofProtocol = (protocol: number): object => ({ protocol, something: 'new' })
        assert.deepEqual(codeOf(await site.hello({ site: other.siteId })), [403, 'wrong_site'])
        assert.deepEqual(codeOf(await site.hello(ofProtocol(2))), [400, 'unsupported_protocol'])
        assert.deepEqual(codeOf(await site.hello({ epoch: other.epoch })), [409, 'foreign_epoch'])
        assert.deepEqual(codeOf(await site.hello(ofProtocol(1))), [400, 'invalid_body'])
      })

      test('accepts no data before hello', async () => {
        const site = await hub.site()
        const stranger = hub.client(site.siteId, site.key)
        assert.deepEqual(codeOf(await stranger.pushRows('lock_events', [sentLockEvent(1)])), [409, 'unknown_epoch'])
        assert.equal((await stranger.latest({})).body.code, 'unknown_epoch')
        assert.equal((await stranger.audit('gps', 0, [])).body.code, 'unknown_epoch')
        assert.equal(await count(site, 'event'), 0)
      })
    })

    describe('cursors', () => {
      test('batches of all streams are accepted in one request, and hello returns the cursors', async () => {
        const site = await hub.site()
        const first = site.part('lock_events', rowsContent([sentLockEvent(1), sentLockEvent(2)]), { to: 2 })
        const second = site.part('lock_events', rowsContent([sentLockEvent(5)]), { to: 9, before: first })
        const device = { seq: 1, table: 'device', key: 'cart-1', body: { hardware_id: 'cart-1' } }
        const { status, body } = await site.push(
          first,
          site.part('entities', rowsContent([device])),
          site.part('telemetry', runsContent([gpsRun('cart-1', [NOON_MS, NOON_MS + 1000])])),
          site.part('history', blocksContent([gpsBlock('cart-1', [1000, 2000, 3000])])),
          second,
        )
        assert.equal(status, 200, JSON.stringify(body))
        assert.deepEqual(body.acked.lock_events, { seq: 9, hash: second.hash })
        assert.deepEqual(Object.keys(body.acked).sort(), ['entities', 'history', 'lock_events', 'telemetry'])
        assert.deepEqual(body.warnings, [])
        assert.deepEqual(await times(site), [1000, 2000, 3000, NOON_MS, NOON_MS + 1000])
        assert.equal(await count(site, 'event'), 3)
        const again = await site.restarted().hello()
        assert.deepEqual(again.body.cursors, { ...site.cursors, notes: NO_CURSOR, geofence_events: NO_CURSOR })
      })

      test('a repeated or skipping batch is rejected with all cursors, and with it the whole request', async () => {
        const site = await hub.site()
        const part = site.part('lock_events', rowsContent([sentLockEvent(1)]))
        const skipping = { ...site.part('lock_events', rowsContent([sentLockEvent(3)]), { to: 3 }), from: 2 }
        await site.push(part)
        const note = { seq: 1, note_id: 'n', kind: 'something', at_ms: 0, body: {} }
        const other = site.part('notes', rowsContent([note]))
        const answer = await site.push(other, part)
        assert.deepEqual([answer.status, answer.body.code], [409, 'cursor'])
        assert.deepEqual(answer.body.cursors, site.cursors)
        assert.equal(answer.body.cursors.notes.seq, 0)
        assert.equal(await count(site, 'event'), 1)
        assert.equal((await site.push(skipping)).body.code, 'invalid_hash')
        const otherChain = site.part('lock_events', rowsContent([sentLockEvent(2)]))
        otherChain.prev_hash = 'f'.repeat(64)
        assert.equal((await site.push(otherChain)).body.code, 'invalid_hash')
      })

      test('one of several identical concurrent batches is accepted', async () => {
        const site = await hub.site()
        const parts = Array.from({ length: 8 }, (_, i) =>
          site.part('lock_events', rowsContent([sentLockEvent(i + 1, { event_id: `racing-${i}` })]), { to: 8 }),
        )
        const answers = await Promise.all(parts.map((part) => site.push(part)))
        assert.deepEqual(answers.map(({ status }) => status).sort(), [200, ...Array(7).fill(409)])
        assert.equal(await count(site, 'event'), 1)
      })

      test('a gateway whose data ends before that of the hub gets the code ahead', async () => {
        const site = await hub.site()
        await site.pushRows('lock_events', [sentLockEvent(1)], { to: 50 })
        const ends = endsOf(site.cursors, 0)
        assert.equal((await site.restarted().hello({ ends })).status, 200)
        const answer = await site.restarted().hello({ ends: { ...ends, lock_events: 49 } })
        assert.deepEqual([answer.status, answer.body.code], [409, 'ahead'])
        assert.equal(answer.body.cursors.lock_events.seq, 50)
      })
    })

    describe('data damaged in transit', () => {
      const wrongs: Record<string, (part: SyncPart) => [SyncPart, string]> = {
        'another hash': (part) => [{ ...part, hash: '0'.repeat(64) }, 'invalid_hash'],
        'data that is not base64': (part) => [{ ...part, data: `${part.data.slice(0, -4)}!*#=` }, 'invalid_data'],
        'data that is cut off': (part) => [{ ...part, data: part.data.slice(0, -4) }, 'invalid_hash'],
        'no way forward': (part) => [{ ...part, to: part.from }, 'invalid_body'],
        'an unknown stream': (part) => [{ ...part, stream: 'secrets' as 'notes' }, 'invalid_body'],
        'a field nobody knows': (part) => [{ ...part, more: 1 }, 'invalid_body'],
        'a negative position': (part) => [{ ...part, from: -1 }, 'invalid_body'],
      }
      test('is rejected with a code, and with it the whole request', async () => {
        const site = await hub.site()
        for (const [name, damage] of Object.entries(wrongs)) {
          const good = site.part('notes', rowsContent([{ seq: 1, note_id: 'n', kind: 'x', at_ms: 0, body: {} }]))
          const [part, code] = damage(site.part('lock_events', rowsContent([sentLockEvent(1)])))
          assert.deepEqual(codeOf(await site.push(good, part)), [400, code], name)
        }
        const miscounted = site.part('lock_events', { ...rowsContent([sentLockEvent(1)]), count: 2 })
        assert.equal((await site.push(miscounted)).body.code, 'wrong_count')
        const runs = site.part('telemetry', { ...runsContent([gpsRun('cart-1', [1])]), count: 7 })
        assert.equal((await site.push(runs)).body.code, 'wrong_count')
        assert.equal(await count(site, 'event'), 0)
        assert.deepEqual((await site.restarted().hello()).body.cursors.notes, NO_CURSOR)
      })

      test('is rejected if it is not JSON or gzip, nested too deep, or too large packed or unpacked', async () => {
        const site = await hub.site()
        const code = async (body: Uint8Array, headers: Record<string, string> = {}) => {
          const answer = await site.request('POST', '/push', body, headers)
          return [answer.status, answer.body.code]
        }
        const gzip = (text: string | Buffer) => gzipSync(text)
        assert.deepEqual(await code(gzip('{"epoch":')), [400, 'invalid_body'])
        assert.deepEqual(await code(Buffer.from('not gzip')), [400, 'invalid_body'])
        assert.deepEqual(await code(gzip('{}').subarray(0, 15)), [400, 'invalid_body'])
        assert.deepEqual(await code(gzip('[]')), [400, 'invalid_body'])
        assert.deepEqual(await code(gzip(`${'['.repeat(100_000)}${']'.repeat(100_000)}`)), [400, 'invalid_body'])
        assert.deepEqual(await code(gzip(Buffer.alloc(60_000_000))), [413, 'payload_too_large'])
        assert.deepEqual(await code(Buffer.alloc(100_000_000, 'x')), [413, 'payload_too_large'])
        const plain = { 'content-encoding': 'identity' }
        assert.deepEqual(await code(Buffer.alloc(10_000_000, ' '), plain), [413, 'payload_too_large'])
        assert.deepEqual(await code(Buffer.from('{}'), { 'content-encoding': 'br' }), [415, 'unsupported_media_type'])
        const parts = Array.from({ length: 65 }, () => site.part('notes', rowsContent([])))
        assert.equal((await site.push(...parts)).status, 413)
        assert.equal(await count(site, 'quarantine'), 0)
      })
    })

    describe('unreadable and invalid data', () => {
      test('is quarantined as a whole batch, acknowledged and reported', async () => {
        const site = await hub.site()
        const bad = [
          site.part('telemetry', { data: randomBytes(100), count: 5, encoding: 'runs-1' }),
          site.part('history', { data: randomBytes(100), count: 5, encoding: 'blocks-1' }),
          site.part('lock_events', { data: Buffer.from('{"no": "list"}'), count: 1, encoding: 'rows-1' }),
          site.part('notes', { data: Buffer.from('[{"cut'), count: 1, encoding: 'rows-1' }),
          site.part('entities', { data: Buffer.from('new'), count: 1, encoding: 'rows-9' }),
        ]
        const { status, body } = await site.push(...bad)
        assert.equal(status, 200, JSON.stringify(body))
        assert.deepEqual(body.warnings, ['quarantined'])
        assert.equal(body.acked.notes.seq, 1)
        const sql = 'SELECT stream, body FROM quarantine WHERE site_id = $1'
        const kept = await database().all<{ stream: string; body: Uint8Array }>(sql, [site.siteId])
        const byStream = new Map(kept.map((row) => [row.stream, Buffer.from(row.body).toString('base64')]))
        assert.deepEqual(byStream, new Map(bad.map(({ stream, data }) => [stream, data])))
        assert.deepEqual((await site.hello()).body.warnings, ['quarantined'])
      })

      test('does not stop a stream, whatever texts it contains', async () => {
        const site = await hub.site()
        const half = `${'x'.repeat(470)}${'\u{1f6a9}'.repeat(30)}`
        for (const [data, encoding] of [
          [Buffer.alloc(9), 'rows-1'],
          [Buffer.from(`["${half}`), 'rows-1'],
          [Buffer.from('[]'), 'rows-\0'],
          [Buffer.from('[]'), `rows-\ud83d`],
        ] as const) {
          const part = site.part('lock_events', { data, count: 1, encoding })
          const { status, body } = await site.push(part)
          assert.deepEqual([status, body.warnings], [200, ['quarantined']], encoding)
        }
        assert.equal((await site.hello({ program: 'cart\0barn' })).status, 400)
        const group = { group: 'cart\0', count: 1, sum: '0'.repeat(16) }
        assert.equal((await site.audit('gps', 0, [group])).status, 400)
      })

      test('is quarantined row by row, and the other rows of the batch are applied', async () => {
        const site = await hub.site()
        let deep: unknown = 1
        for (let level = 0; level < 25; level++) deep = [deep]
        let tooDeep: unknown = deep
        for (let level = 0; level < 20; level++) tooDeep = { in: tooDeep }
        const rows = [
          sentLockEvent(1, { metadata: deep, unknown_field: 'kept' }),
          sentLockEvent(2, { at_ms: 'yesterday' }),
          sentLockEvent(3, { hardware_id: '' }),
          sentLockEvent(4, { event_id: 'with\0zero' }),
          sentLockEvent(5, { metadata: tooDeep }),
          sentLockEvent(6, { code: 'a\0b' }),
          null,
          sentLockEvent(8),
        ]
        const answer = await site.pushRows('lock_events', rows, { to: 8 })
        assert.deepEqual([answer.status, answer.body.warnings], [200, ['quarantined']])
        const sql = 'SELECT body FROM event WHERE site_id = $1 ORDER BY at_ms'
        const events = await database().all<{ body: string }>(sql, [site.siteId])
        const { seq: _, ...first } = sentLockEvent(1, { metadata: deep, unknown_field: 'kept' })
        assert.deepEqual(events.map(({ body }) => body)[0], JSON.stringify(first))
        assert.equal(events.length, 2)
        assert.equal(await count(site, 'quarantine'), 6)
        const notes = [
          { seq: 1, note_id: 'a', kind: 'gap', at_ms: 1, body: { stream: 'gps' } },
          { seq: 2, note_id: 'b', kind: 'of the future', at_ms: 1, body: { anything: [1] } },
        ]
        assert.equal((await site.pushRows('notes', notes)).status, 200)
        assert.equal(await count(site, 'quarantine'), 7)
        assert.equal(await count(site, 'event'), 3)
      })
    })

    describe('lock events that a site erased', () => {
      const bodies = async (site: SiteClient) => {
        const sql = "SELECT body FROM event WHERE site_id = $1 AND stream = 'lock_events' ORDER BY at_ms"
        return (await database().all<{ body: string }>(sql, [site.siteId])).map(({ body }) => body)
      }
      const metadata = (name: string) => ({ z: 1, name, guests: [{ name }, 'Bob'], '2': 'x' })
      const blanked = [
        { event_id: 'event-1', code: true, metadata: [] },
        { event_id: 'event-2', code: false, metadata: [['name'], ['guests', 0, 'name']] },
        { event_id: 'event-9', code: true, metadata: [['name']] },
      ]
      const note = { seq: 1, note_id: 'n', kind: 'blank', at_ms: 1, body: { lock_events: blanked } }

      test('are blanked exactly as at the site, and rows that arrive blank stay blank', async () => {
        const site = await hub.site()
        const rows = [
          sentLockEvent(1, { code: '04A1' }),
          sentLockEvent(2, { code: '04A1', metadata: metadata('Ann') }),
          sentLockEvent(3, { code: '04A1', metadata: metadata('Ann') }),
        ]
        await site.pushRows('lock_events', rows)
        assert.equal((await site.pushRows('notes', [note])).status, 200)
        const expected = [
          sentLockEvent(1),
          sentLockEvent(2, { code: '04A1', metadata: metadata('') }),
          sentLockEvent(3, { code: '04A1', metadata: metadata('Ann') }),
        ]
        const wanted = expected.map(({ seq: _, ...row }) => JSON.stringify(row))
        assert.deepEqual(await bodies(site), wanted)
        assert.equal(await count(site, 'quarantine'), 0)
      })

      test('are blank when the note arrives again after a fork', async () => {
        const site = await hub.site()
        await site.pushRows('notes', [note])
        const fork = await site.forked()
        await fork.pushRows('lock_events', [sentLockEvent(1, { code: '04A1' })])
        await fork.pushRows('notes', [note])
        const { seq: _, ...row } = sentLockEvent(1)
        assert.deepEqual(await bodies(site), [JSON.stringify(row)])
      })

      test('are not affected by an unreadable note, which is quarantined', async () => {
        const site = await hub.site()
        const bad = { ...note, body: { lock_events: [{ event_id: 1 }] } }
        assert.equal((await site.pushRows('notes', [bad])).status, 200)
        assert.equal(await count(site, 'quarantine'), 1)
      })
    })

    describe('telemetry', () => {
      test('history that overlaps stored rows adds only the new ones', async () => {
        const site = await hub.site()
        await site.pushRuns([gpsRun('cart-1', [1000, 2000, 3000])])
        await site.pushBlocks([gpsBlock('cart-1', [500, 1000, 2500])])
        await site.pushBlocks([gpsBlock('cart-1', [500, 1000, 2500])])
        assert.deepEqual(await times(site), [500, 1000, 2000, 2500, 3000])
        await compactSegments(database(), site.siteId, 0)
        await site.pushBlocks([gpsBlock('cart-1', [100, 2000, 2999, 3000, 9000])])
        assert.deepEqual(await times(site), [100, 500, 1000, 2000, 2500, 2999, 3000, 9000])
        const sql = 'SELECT SUM(record_count) AS sum FROM telemetry_block WHERE site_id = $1'
        assert.deepEqual(await database().get(sql, [site.siteId]), { sum: 8 })
      })

      test('an erasure removes stored and late rows from before it, and none from after it', async () => {
        const site = await hub.site()
        const push = (at: number[], to: number) => site.pushRuns([gpsRun('cart-1', at), gpsRun('cart-2', at)], { to })
        await push([1000, 2000], 10)
        await compactSegments(database(), site.siteId, 0)
        await push([3000], 20)
        const note = eraseNote(1, { telemetry_through: 40, history_through: 7 })
        assert.equal((await site.pushRows('notes', [note])).status, 200)
        assert.deepEqual([await times(site), await times(site, 'cart-2')], [[], [1000, 2000, 3000]])
        await push([4000], 40)
        await site.pushBlocks([gpsBlock('cart-1', [100])], { to: 7 })
        assert.deepEqual([await times(site), await times(site, 'cart-2')], [[], [1000, 2000, 3000, 4000]])
        await push([5000], 42)
        await site.pushBlocks([gpsBlock('cart-1', [200])], { to: 8 })
        assert.deepEqual(await times(site), [200, 5000])
        await site.pushRuns([gpsRun('cart-1', [1000])], { isResend: true })
        assert.deepEqual(await times(site), [200, 5000], 'what was read before the erasure is on its way')
      })

      test('an old erasure that arrives again after a fork removes no rows', async () => {
        const site = await hub.site()
        const note = eraseNote(1, { telemetry_through: 5, history_through: 5 })
        await site.pushRows('notes', [note])
        await site.pushRuns([gpsRun('cart-1', [7000])], { to: 10 })
        const fork = await site.forked()
        await fork.pushRows('notes', [note])
        assert.deepEqual(await times(site), [7000])
        await fork.pushRuns([gpsRun('cart-1', [1]), gpsRun('cart-2', [1])], { to: 5 })
        assert.deepEqual([await times(site), await times(site, 'cart-2')], [[7000], [1]])
        await fork.pushRuns([gpsRun('cart-1', [7000, 8000])], { to: 11 })
        assert.deepEqual(await times(site), [7000, 8000])
      })

      test('a gap is recorded once', async () => {
        const site = await hub.site()
        const body = { stream: 'gps', from_ms: 1, to_ms: 2, count: 3, hardware_ids: ['cart-1'], reason: 'disk' }
        const rows = [1, 2].map((seq) => ({ seq, note_id: 'same', kind: 'gap', at_ms: 5, body }))
        assert.equal((await site.pushRows('notes', rows)).status, 200)
        assert.equal(await count(site, 'gap'), 1)
        assert.equal(await count(site, 'event'), 1)
      })
    })

    describe('entities', () => {
      const entity = (seq: number, key: string, body: Record<string, unknown> | null) => {
        return { seq, table: 'device', key, body }
      }
      const bodies = async (site: SiteClient) => {
        const sql = 'SELECT entity_key AS key, body FROM entity WHERE site_id = $1 ORDER BY entity_key'
        const rows = await database().all<{ key: string; body: string | null }>(sql, [site.siteId])
        return Object.fromEntries(rows.map(({ key, body }) => [key, body]))
      }

      test('have their last reported value', async () => {
        const site = await hub.site()
        const rows = [entity(1, 'a', { v: 1 }), entity(2, 'b', { v: 1 }), entity(3, 'a', { v: 2 })]
        await site.pushRows('entities', rows, { to: 3 })
        assert.deepEqual(await bodies(site), { a: '{"v":2}', b: '{"v":1}' })
        await site.pushRows('entities', [entity(4, 'b', null)])
        assert.deepEqual(await bodies(site), { a: '{"v":2}', b: null })
        const stale = [entity(2, 'b', { v: 1 }), entity(9, 'c', { v: 9 })]
        assert.equal((await site.pushRows('entities', stale, { isResend: true })).status, 200)
        assert.deepEqual(await bodies(site), { a: '{"v":2}', b: null, c: '{"v":9}' })
      })

      test('of a kind that only a later gateway knows are kept, compared and deleted as others are', async () => {
        const site = await hub.site()
        const rows = [1, 2].map((seq) => ({ seq, table: 'of_the_future', key: `k${seq}`, body: { n: [seq] } }))
        assert.equal((await site.pushRows('entities', rows)).status, 200)
        assert.deepEqual(await bodies(site), { k1: '{"n":[1]}', k2: '{"n":[2]}' })
        assert.equal(await count(site, 'quarantine'), 0)
        const audit = async (some: typeof rows) => {
          const sum = new RowHashSum()
          for (const { table, key, body } of some) sum.addText(JSON.stringify([table, key, body]))
          const group = { group: 'of_the_future', count: some.length, sum: sum.toString() }
          return (await site.audit('entities', null, [group])).body
        }
        assert.deepEqual(await audit(rows), { resend: [], extra: [] })
        const gone = { ...rows[0], seq: 3, body: null }
        assert.equal((await site.pushRows('entities', [gone])).status, 200)
        assert.deepEqual(await audit(rows.slice(1)), { resend: [], extra: [] })
      })

      test('of the epoch before a fork are deleted once all of the new one are there', async () => {
        const site = await hub.site()
        const rows = [entity(1, 'gone', { v: 1 }), entity(2, 'kept', { v: 1 })]
        await site.pushRows('entities', rows, { to: 2 })
        const ends = { ...endsOf(site.cursors, 0), entities: 3 }
        const fork = await site.forked({ ends })
        await fork.pushRows('entities', [entity(1, 'kept', { v: 1 })], { to: 1 })
        assert.deepEqual(Object.keys(await bodies(site)), ['gone', 'kept'])
        await fork.pushRows('entities', [entity(3, 'new', { v: 1 })], { to: 3 })
        assert.deepEqual(Object.keys(await bodies(site)), ['kept', 'new'])
      })
    })

    describe('states', () => {
      const states = async (site: SiteClient) => {
        const sql = 'SELECT hardware_id AS id, body FROM site_latest WHERE site_id = $1 ORDER BY hardware_id'
        const rows = await database().all<{ id: string; body: string }>(sql, [site.siteId])
        return Object.fromEntries(rows.map(({ id, body }) => [id, JSON.parse(body).v]))
      }
      const device = (id: string, v: number) => ({ hardware_id: id, v })

      test('are the newest of each device, and a complete report removes all others', async () => {
        const site = await hub.site()
        const at = (at_ms: number, devices: unknown[], is_complete = false) => {
          return site.latest({ at_ms, devices, is_complete, backlog: { rows: 12, oldest_ms: 5 } })
        }
        assert.equal((await at(NOON_MS, [device('a', 1), device('b', 1)], true)).status, 200)
        await at(NOON_MS + 5000, [device('b', 2)])
        assert.deepEqual(await states(site), { a: 1, b: 2 })
        await at(NOON_MS, [device('b', 1)])
        assert.deepEqual(await states(site), { a: 1, b: 2 }, 'an older one came late')
        await at(NOON_MS + 6000, [device('b', 3), device('c', 3)], true)
        assert.deepEqual(await states(site), { b: 3, c: 3 })
        await at(NOON_MS - DAY_MS, [device('b', 4)])
        assert.deepEqual(await states(site), { b: 4, c: 3 }, 'the clock was set back')
        assert.deepEqual(
          await database().get('SELECT backlog_rows, backlog_oldest_ms FROM site WHERE site_id = $1', [site.siteId]),
          { backlog_rows: 12, backlog_oldest_ms: 5 },
        )
        const bad = await at(NOON_MS, [{ v: 1 }])
        assert.deepEqual([bad.status, bad.body.code], [400, 'invalid_body'])
      })
    })

    describe('two gateways with one identity', () => {
      test('get a warning once the newer one has been active for a while', async () => {
        const older = await hub.site()
        const newer = older.restarted()
        await newer.hello()
        const one = await older.pushRows('lock_events', [sentLockEvent(1)])
        assert.deepEqual(one.body.warnings, [], 'what was on its way')
        try {
          hub.clock.aheadMs = 61_000
          newer.cursors = older.cursors
          const quiet = await newer.pushRows('lock_events', [sentLockEvent(2)])
          assert.deepEqual(quiet.body.warnings, [], 'a gateway that was started anew is one gateway')
          older.cursors = newer.cursors
          const two = await older.pushRows('lock_events', [sentLockEvent(3)])
          assert.deepEqual(two.body.warnings, ['two_gateways'])
          newer.cursors = older.cursors
          const three = await newer.pushRows('lock_events', [sentLockEvent(4)])
          assert.deepEqual(three.body.warnings, ['two_gateways'])
          assert.equal(await count(older, 'event'), 4, 'nothing is lost')
          const sql = 'SELECT two_gateways_ms AS at FROM site WHERE site_id = $1'
          const site = await database().get<{ at: number }>(sql, [older.siteId])
          assert.ok(hasDuplicateGateway(site?.at ?? null, hub.clock.nowMs()))
          assert.ok(!hasDuplicateGateway(site?.at ?? null, hub.clock.nowMs() + 3_600_000))
        } finally {
          hub.clock.aheadMs = 0
        }
      })

      test('count as one again when either has been stopped', async () => {
        const older = await hub.site()
        const newer = older.restarted()
        await newer.hello()
        try {
          hub.clock.aheadMs = 61_000
          await older.pushRows('lock_events', [sentLockEvent(1)])
          hub.clock.aheadMs = 3_600_000
          assert.deepEqual((await older.pushRows('lock_events', [sentLockEvent(2)])).body.warnings, [])
        } finally {
          hub.clock.aheadMs = 0
        }
      })

      test('are not assumed when a restart coincides with a hub clock that goes back', async () => {
        const site = await hub.site()
        try {
          hub.clock.aheadMs = -300_000
          const restarted = site.restarted()
          await restarted.hello()
          hub.clock.aheadMs = -200_000
          assert.deepEqual((await restarted.pushRows('lock_events', [sentLockEvent(1)])).body.warnings, [])
          hub.clock.aheadMs = 70_000
          assert.deepEqual((await restarted.hello()).body.warnings, [])
        } finally {
          hub.clock.aheadMs = 0
        }
      })
    })

    describe('intents', () => {
      const insert = async (site: SiteClient, seq: number) => {
        const { siteId } = site
        await database().run(
          `INSERT INTO intent (site_id, intent_id, seq, kind, body, issued_at_ms, expires_at_ms, requested_by, status)
             VALUES ($1, $2, $3, 'resend', '{"kind":"gps"}', 1, 2, 'x', 'pending')`,
          [siteId, `intent-${seq}`, seq],
        )
        await database().run('UPDATE site SET intent_seq = $2 WHERE site_id = $1', [siteId, seq])
      }

      test('arrive when they are created, are announced by pushes, and end with their result', async () => {
        const site = await hub.site()
        const waiting = site.request('GET', '/intents?after=0&wait=50')
        await eventually(async () => (await site.latest({})).status === 200, 'another request')
        await insert(site, 1)
        const { body } = await waiting
        assert.deepEqual(body.intents, [
          {
            intent_id: 'intent-1',
            seq: 1,
            kind: 'resend',
            body: { kind: 'gps' },
            issued_at_ms: 1,
            expires_at_ms: 2,
            base_rev: null,
          },
        ])
        assert.equal((await site.latest({})).body.intents_waiting, true)
        await site.request('GET', '/intents?after=1&wait=0')
        assert.equal((await site.latest({})).body.intents_waiting, false)
        const result = { intent_id: 'intent-1', status: 'rejected', reason: 'no such device' }
        const note = { seq: 1, note_id: 'r', kind: 'intent_result', at_ms: 77, body: result }
        await site.pushRows('notes', [note])
        assert.deepEqual(
          await database().get('SELECT status, reason, finished_at_ms FROM intent WHERE site_id = $1', [site.siteId]),
          { status: 'rejected', reason: 'no such device', finished_at_ms: 77 },
        )
        assert.deepEqual((await site.request('GET', '/intents?after=0')).body, { intents: [] })
        assert.equal((await site.request('GET', '/intents?after=x')).status, 400)
      })

      test('arrive after a hub was restored from a backup, both new and waiting ones', async () => {
        const site = await hub.site()
        await insert(site, 1)
        await insert(site, 2)
        const seqs = async (after: number) => {
          const { body } = await site.request('GET', `/intents?after=${after}&wait=0`)
          return body.intents.map((one: { intent_id: string; seq: number }) => [one.intent_id, one.seq])
        }
        assert.deepEqual(await seqs(7), [
          ['intent-1', 8],
          ['intent-2', 9],
        ])
        assert.deepEqual(await seqs(9), [])
        await insert(site, 10)
        assert.deepEqual(await seqs(9), [['intent-10', 10]])
      })

      test('do not end a wait if they are withdrawn', async () => {
        const site = await hub.site()
        await insert(site, 1)
        await database().run(`UPDATE intent SET status = 'withdrawn' WHERE site_id = $1`, [site.siteId])
        const startedAtMs = performance.now()
        assert.deepEqual((await site.request('GET', '/intents?after=0&wait=1')).body.intents, [])
        assert.ok(performance.now() - startedAtMs > 900)
      })

      test('have no waiting request left after its client disconnects', async () => {
        const site = await hub.site()
        const leaving = new AbortController()
        const request = fetch(`${hub.hub.url()}/sync/v1/intents?after=0&wait=50`, {
          headers: { authorization: `Bearer ${site.key}` },
          signal: leaving.signal,
        })
        const refused = assert.rejects(request, { name: 'AbortError' })
        const { intentWatch } = hub.hub
        await eventually(() => intentWatch.waitingCount === 1, 'it waits')
        leaving.abort()
        await refused
        await eventually(() => intentWatch.waitingCount === 0, 'it is gone')
      })
    })

    describe('audits', () => {
      test('find the groups that lack rows, and those that have more', async () => {
        const site = await hub.site()
        const day = Date.UTC(2026, 4, 1)
        const at = (ms: number[]) => ms.map((each) => day + each)
        const late = gpsRun('cart-3', [day + DAY_MS - 1, day + DAY_MS])
        await site.pushRuns([gpsRun('cart-1', at([0, 1, 2])), gpsRun('cart-2', at([5, 6])), late])
        const groups = [
          { group: 'cart-1', ...sumOf(gpsAt(at([0, 1, 2]))) },
          { group: 'cart-2', ...sumOf(gpsAt(at([5, 7]))) },
          { group: 'cart-4', ...sumOf(gpsAt(at([9]))) },
        ]
        const { status, body } = await site.audit('gps', day, groups)
        assert.equal(status, 200)
        assert.deepEqual(body, { resend: ['cart-2', 'cart-4'], extra: [{ group: 'cart-3', count: 1 }] })
        const resend = [
          site.part('telemetry', runsContent([gpsRun('cart-2', at([5, 7]))]), { isResend: true }),
          site.part('history', blocksContent([gpsBlock('cart-4', at([9]))]), { isResend: true }),
        ]
        const before = site.cursors
        assert.equal((await site.push(...resend)).status, 200)
        assert.deepEqual(site.cursors, before)
        const second = await site.audit('gps', day, groups)
        assert.deepEqual(second.body, {
          resend: [],
          extra: [
            { group: 'cart-2', count: 1 },
            { group: 'cart-3', count: 1 },
          ],
        })
        assert.deepEqual(
          await database().get(
            'SELECT kind, row_count, missing_groups, extra_count FROM audit WHERE site_id = $1 AND day_ms = $2',
            [site.siteId, day],
          ),
          { kind: 'gps', row_count: 6, missing_groups: 0, extra_count: 2 },
        )
      })

      test('find missing rows in a group with extra rows, and request them once', async () => {
        const site = await hub.site()
        const day = Date.UTC(2026, 4, 1)
        const at = (ms: number[]) => ms.map((each) => day + each)
        await site.pushRuns([gpsRun('cart-1', at([0, 1, 2, 3]))])
        const groups = [{ group: 'cart-1', ...sumOf(gpsAt(at([2, 3, 4]))) }]
        const ask = async () => (await site.audit('gps', day, groups)).body
        const resend = (ms: number[]) => site.pushRuns([gpsRun('cart-1', at(ms))], { isResend: true })
        assert.deepEqual(await ask(), { resend: ['cart-1'], extra: [{ group: 'cart-1', count: 1 }] })
        await resend([2, 3])
        assert.deepEqual((await ask()).resend, ['cart-1'], 'not all of it came')
        await resend([2, 3])
        await resend([4])
        for (let night = 0; night < 2; night++)
          assert.deepEqual(await ask(), { resend: [], extra: [{ group: 'cart-1', count: 2 }] })
        assert.deepEqual(await times(site), at([0, 1, 2, 3, 4]))
        await database().run('DELETE FROM telemetry_block WHERE site_id = $1 AND last_ms = $2', [site.siteId, day + 4])
        assert.deepEqual((await ask()).resend, ['cart-1'], 'what was lost since is asked for again')
      })

      test('compare what a device had when it was counted, whatever it has sent since', async () => {
        const site = await hub.site()
        assert.equal((await site.hello()).body.audits_through, true)
        const day = Date.UTC(2026, 4, 1)
        const at = (ms: number[]) => ms.map((each) => day + each)
        await site.pushRuns([gpsRun('cart-1', at([0, 2, 3, 4]))])
        const group = (times: number[]) => {
          return { group: 'cart-1', ...sumOf(gpsAt(at(times))), through_ms: day + Math.max(...times) }
        }
        assert.deepEqual((await site.audit('gps', day, [group([0, 1, 2])])).body, { resend: ['cart-1'], extra: [] })
        assert.deepEqual((await site.audit('gps', day, [group([0, 2])])).body, { resend: [], extra: [] })
        const events = [sentLockEvent(1), sentLockEvent(2)]
        await site.pushRows('lock_events', events)
        const sum = new RowHashSum()
        const { seq: _, ...first } = events[0] ?? { seq: 0 }
        sum.addText(JSON.stringify(first))
        const counted = { group: 'cart-1', count: 1, sum: sum.toString() }
        const through = { ...counted, through_ms: NOON_MS + 1 }
        assert.deepEqual((await site.audit('lock_events', day, [through])).body, { resend: [], extra: [] })
        assert.deepEqual((await site.audit('lock_events', day, [counted])).body.extra, [{ group: 'cart-1', count: 1 }])
      })

      test('compare events by their content, and entities without a day', async () => {
        const site = await hub.site()
        const rows = [
          sentLockEvent(1, { metadata: { '10': 'ten', a: 1.5e300 } }),
          sentLockEvent(2, { hardware_id: 'cart-2' }),
        ]
        const entities = [
          { seq: 1, table: 'device', key: 'a', body: { name: 'é \u{1f6a9} "x"' } },
          { seq: 2, table: 'device', key: 'b', body: null },
        ]
        await site.push(site.part('lock_events', rowsContent(rows)), site.part('entities', rowsContent(entities)))
        const sum = new RowHashSum()
        const { seq: _, ...first } = rows[0] ?? { seq: 0 }
        sum.addText(JSON.stringify(first))
        const day = Date.UTC(2026, 4, 1)
        const groups = [{ group: 'cart-1', count: 1, sum: sum.toString() }]
        assert.deepEqual((await site.audit('lock_events', day, groups)).body, {
          resend: [],
          extra: [{ group: 'cart-2', count: 1 }],
        })
        const entitySum = new RowHashSum()
        entitySum.addText(JSON.stringify(['device', 'a', entities[0]?.body]))
        assert.deepEqual(
          (await site.audit('entities', null, [{ group: 'device', count: 1, sum: entitySum.toString() }])).body,
          { resend: [], extra: [] },
        )
        assert.equal((await site.audit('entities', day, [])).status, 400)
        assert.equal((await site.audit('gps', null, [])).status, 400)
        assert.equal((await site.audit('gps', day + 1, [])).status, 400)
        assert.deepEqual((await site.audit('notes', day, [])).body, { resend: [], extra: [] })
      })
    })

    test('rejects a report acknowledging rows it lacks, with its cursors, and stores no states', async () => {
      const site = await hub.site()
      await site.pushRows('lock_events', [sentLockEvent(1)])
      const backlog = { rows: 0, oldest_ms: null, unconfirmed_rows: 0 }
      const devices = [{ hardware_id: 'cart-1' }]
      assert.equal((await site.latest({ backlog: { ...backlog, acked: { lock_events: 1 } } })).status, 200)
      const lost = await site.latest({ devices, backlog: { ...backlog, acked: { lock_events: 2 } } })
      assert.deepEqual([lost.status, lost.body.code], [409, 'cursor'])
      assert.deepEqual(lost.body.cursors, site.cursors)
      const row = await database().get('SELECT hardware_id FROM site_latest WHERE site_id = $1', [site.siteId])
      assert.equal(row, undefined)
    })

    test('includes its current time in every response, also in a rejection', async () => {
      const site = await hub.site()
      const stranger = hub.client(site.siteId, 'cbs_wrong')
      for (const answer of [
        await site.hello(),
        await site.latest({}),
        await site.request('GET', '/intents?after=0&wait=0'),
        await site.audit('gps', 1, []),
        await stranger.latest({}),
      ])
        assert.ok(
          Math.abs(Number(answer.headers.get('cartbarn-time')) - hub.clock.nowMs()) < 10_000,
          String(answer.status),
        )
    })

    test('binds an instance to one start of a gateway, even if the database changes', async () => {
      const site = await hub.site()
      const unknown = { epoch: site.epoch, instance: randomUUID(), parts: [site.part('notes', rowsContent([]))] }
      assert.equal((await site.request('POST', '/push', unknown)).body.code, 'unknown_epoch')
    })
  })
}
