import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { PostgresDatabase } from '#hub/store/database/postgres.ts'
import { schemaStatements } from '#hub/store/database/schema.ts'
import { whyNoPostgres } from '#hub/testing/databases.ts'
import { HUB_CONFIG } from '#hub/testing/open-hub.ts'
import { sentLockEvent } from '#hub/testing/reported.ts'
import { SiteClient } from '#hub/testing/site-client.ts'
import { type PostgresServer, startPostgres } from '#hub/testing/start-postgres.ts'
import { createLog } from '#shared/log.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { type SiteJson, siteSchema } from '#shared/wire/sites.ts'
import { createHub, type Hub } from './hub.ts'

const log = createLog('silent')
const WELL = { backlog: { rows: 0, oldest_ms: null, unconfirmed_rows: 0 } }

describe('two hubs over a PostgreSQL that is replaced while they run', { skip: whyNoPostgres() }, () => {
  let server: PostgresServer
  let hubs: Hub[] = []
  let site: SiteClient
  let sites = 0
  before(async () => {
    server = await startPostgres({ fsync: true })
    hubs = [0, 1].map(() => createHub(HUB_CONFIG, log, { database: new PostgresDatabase({ url: server.url, log }) }))
    for (const hub of hubs) await hub.start()
  })
  after(async () => {
    for (const hub of hubs) await hub.stop()
    await server?.stop()
  })
  beforeEach(async () => {
    const { siteId, key } = await first().sites.add(`Links ${++sites}`)
    // the second hub never gets a request of a gateway
    site = new SiteClient((path, init) => first().app.request(path, init), siteId, key)
    await site.hello()
    await site.latest(WELL)
  })

  const first = (): Hub => {
    const [hub] = hubs
    assert.ok(hub)
    return hub
  }
  const read = async (hub: Hub): Promise<SiteJson> => {
    const headers = { 'X-API-Key': HUB_CONFIG.adminApiKey ?? '' }
    let answer: Response | undefined
    await eventually(async () => {
      answer = await hub.app.request(site.path, { headers })
      return answer.status === 200
    }, 'an answer')
    return siteSchema.parse(await answer?.json())
  }
  /** Each hub checks the database before the gateway reports, as happens within seconds. */
  const reportWell = async () => {
    for (const hub of hubs) await hub.continuityCheck.run()
    assert.equal((await site.latest(WELL)).status, 200)
  }
  const statesAre = async (wanted: string) => {
    for (const hub of hubs) assert.equal((await read(hub)).state, wanted)
  }
  let seq = 0
  const pushOne = async () => {
    seq++
    assert.equal((await site.pushRows('lock_events', [sentLockEvent(seq)])).status, 200)
  }

  test('report that they are comparing when the server lacks acknowledged rows', async () => {
    await server.kill()
    const putBack = server.keepBackup()
    await server.restart()
    await eventually(async () => (await site.latest(WELL)).status === 200, 'the first server again')
    await pushOne()
    await reportWell()
    // the other hub gets no request before
    assert.equal((await read(first())).state, 'ok')
    await server.kill()
    putBack()
    await server.restart()
    await statesAre('comparing')
    for (const hub of hubs) {
      const { explanation, unconfirmed_rows } = await read(hub)
      assert.match(explanation, /on another server than before, or went back to an earlier state/)
      assert.doesNotMatch(explanation, /All is well|all data is here except/)
      assert.equal(unconfirmed_rows, null)
    }
    // it had acknowledged more than exists, and is refused until it has compared
    const backlog = { ...WELL.backlog, acked: { lock_events: site.cursors.lock_events.seq } }
    assert.equal((await site.latest({ backlog })).status, 409)
    await statesAre('comparing')
    await site.hello()
    await statesAre('comparing')
    await site.latest(WELL)
    await statesAre('ok')
  })

  test('report that they are comparing when tables are restored under open connections', async () => {
    const tables = schemaStatements().flatMap((text) => /CREATE TABLE IF NOT EXISTS (\w+)/.exec(text)?.[1] ?? [])
    const { database } = first()
    for (const table of tables) await database.run(`CREATE TABLE saved_${table} AS TABLE ${table}`)
    await pushOne()
    await reportWell()
    await statesAre('ok')
    await database.transaction(async (sql) => {
      for (const table of tables) {
        await sql.run(`DELETE FROM ${table}`)
        await sql.run(`INSERT INTO ${table} SELECT * FROM saved_${table}`)
      }
    })
    await statesAre('comparing')
    await site.hello()
    await site.latest(WELL)
    await statesAre('ok')
  })

  test('stop using connections to a standby once it accepts writes', async () => {
    const health = async (hub: Hub) => (await hub.app.request('/health')).status
    await server.kill()
    server.becomeStandby()
    await server.restart()
    for (const hub of hubs) {
      await eventually(
        async () => (await health(hub)) === 503 && (await hub.database.get('SELECT 1')) !== undefined,
        'the standby',
      )
      // as many as the pool has, all of them with a read under way
      const asked = Array.from({ length: 20 }, () => hub.database.get('SELECT pg_sleep(0.05)').catch(() => null))
      await Promise.all(asked)
      assert.equal((await site.latest(WELL)).status, 503)
    }
    await hubs[0]?.database.get('SELECT pg_promote()')
    for (const hub of hubs) {
      await eventually(async () => (await health(hub)) === 200, 'the new primary')
    }
    for (let i = 0; i < 20; i++) assert.equal((await site.latest(WELL)).status, 200)
    await reportWell()
    await statesAre('ok')
  })

  test('leave the load balancer when the server is set to read only', async () => {
    const { database } = first()
    const set = async (mode: string) => {
      await database.run(`ALTER SYSTEM SET default_transaction_read_only = ${mode}`)
      await database.get('SELECT pg_reload_conf()')
    }
    await set('on')
    await eventually(async () => (await hubs[1]?.app.request('/health'))?.status === 503, '503')
    await set('off')
    await eventually(async () => (await hubs[1]?.app.request('/health'))?.status === 200, '200')
  })
})
