import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import { Sites } from '#hub/sites/sites.ts'
import { PostgresDatabase } from '#hub/store/database/postgres.ts'
import { compactSegments } from '#hub/store/telemetry/compactor.ts'
import { readTelemetry } from '#hub/store/telemetry/reader.ts'
import { sharedPostgres, whyNoPostgres } from '#hub/testing/databases.ts'
import { sentLockEvent } from '#hub/testing/reported.ts'
import { type HubProcess, runHub } from '#hub/testing/run-hub.ts'
import { rowsContent, runsContent, SiteClient } from '#hub/testing/site-client.ts'
import { EVER, gpsRun } from '#hub/testing/telemetry.ts'
import { createLog } from '#shared/log.ts'
import { GPS } from '#shared/telemetry/records.ts'
import { systemClock } from '#shared/time.ts'
import type { SyncPart } from '#shared/wire/replication/sync.ts'

const HUBS = 2

describe('several hubs over one PostgreSQL', { skip: whyNoPostgres() }, () => {
  const hubs: HubProcess[] = []
  let database: PostgresDatabase
  let sites: Sites
  before(async () => {
    const url = await (await sharedPostgres()).createDatabase()
    const settings = { CARTBARN_HUB_DATABASE_URL: url, CARTBARN_HUB_LOG_LEVEL: 'info' }
    hubs.push(...(await Promise.all(Array.from({ length: HUBS }, () => runHub(settings)))))
    database = new PostgresDatabase({ url, log: createLog('silent') })
    await database.start()
    sites = new Sites(database, systemClock)
  })
  after(async () => {
    for (const hub of hubs) await hub.end('SIGTERM')
    await database?.stop()
  })

  const send = (path: string, init: RequestInit, hub: number) => fetch(`${hubs[hub]?.url}${path}`, init)

  test('store the batches of a site once and in order, whichever of several senders is faster', async () => {
    let round = 0
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 2, max: 4 }),
        fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 3, maxLength: 12 }),
        fc.array(fc.nat({ max: HUBS - 1 }), { minLength: 20, maxLength: 40 }),
        fc.boolean(),
        async (senders, sizes, route, isCompacted) => {
          const { siteId, key } = await sites.add(`Round ${++round}`)
          let requests = 0
          const through = (path: string, init: RequestInit) => send(path, init, route[requests++ % route.length] ?? 0)
          const first = new SiteClient(through, siteId, key)
          assert.equal((await first.hello()).status, 200)
          // every sender has the same stream, as clones of one gateway have
          const parts: { events: SyncPart; telemetry: SyncPart }[] = []
          let before: { events: SyncPart; telemetry: SyncPart } | undefined
          let seq = 0
          for (const size of sizes) {
            const seqs = Array.from({ length: size }, (_, i) => seq + i + 1)
            const events = rowsContent(seqs.map((each) => sentLockEvent(each)))
            const telemetry = runsContent([gpsRun('cart-1', seqs)])
            seq += size
            before = {
              events: first.part('lock_events', events, { to: seq, before: before?.events }),
              telemetry: first.part('telemetry', telemetry, { to: seq, before: before?.telemetry }),
            }
            parts.push(before)
          }
          let taken = 0
          const drain = async () => {
            const client = new SiteClient(through, siteId, key)
            client.epoch = first.epoch
            assert.equal((await client.hello()).status, 200)
            while (client.cursors.lock_events.seq < seq) {
              const next = parts.find(({ events }) => events.from === client.cursors.lock_events.seq)
              assert.ok(next, 'a cursor where no part begins')
              const answer = await client.push(next.events, next.telemetry)
              if (answer.status === 200) taken++
              else {
                assert.deepEqual([answer.status, answer.body.code], [409, 'cursor'])
                client.cursors = answer.body.cursors
              }
            }
            assert.equal(client.cursors.lock_events.hash, parts.at(-1)?.events.hash)
          }
          const compact = async () => {
            while (taken < parts.length) await compactSegments(database, siteId, 0)
          }
          await Promise.all([...Array.from({ length: senders }, drain), ...(isCompacted ? [compact()] : [])])
          assert.equal(taken, parts.length)
          const of = { siteId, hardwareId: 'cart-1' }
          const all = Array.from({ length: seq }, (_, i) => i + 1)
          assert.deepEqual([...(await readTelemetry(database, GPS, of, EVER)).atMs], all)
          const sql = 'SELECT COUNT(*) AS count FROM event WHERE site_id = $1'
          const events = await database.get<{ count: number }>(sql, [siteId])
          assert.equal(events?.count, seq)
          const cursor = await database.get<{ rows: number }>(
            `SELECT row_count AS rows FROM sync_cursor WHERE site_id = $1 AND stream = 'telemetry'`,
            [siteId],
          )
          assert.equal(cursor?.rows, seq)
        },
      ),
      { numRuns: 8 },
    )
  })
})
