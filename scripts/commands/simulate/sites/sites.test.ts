import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'
import { HttpExchange } from '#agent/http-exchange.ts'
import { Upstream } from '#agent/upstream.ts'
import type { Hub } from '#hub/hub.ts'
import { readTelemetry } from '#hub/store/telemetry/reader.ts'
import { DATABASE_KINDS } from '#hub/testing/databases.ts'
import { openHub } from '#hub/testing/open-hub.ts'
import { ADMIN_KEY } from '#hub/testing/people.ts'
import { FaultyFront, type FrontFault } from '#scripts/testing/faulty-front.ts'
import { BATTERY, GPS } from '#shared/telemetry/records.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { systemClock } from '#shared/time.ts'
import { SharedCarts, SiteDevices, type SiteLook } from './carts.ts'
import { SitesFigures } from './figures.ts'
import { SiteLog } from './log.ts'
import { parseSitesOptions } from './options.ts'
import { SiteSender } from './sender.ts'
import { startSites } from './sites.ts'

const START_MS = 1_777_636_800_000

let hub: Hub
let stopHub: () => Promise<void>

before(async () => {
  const [kind] = DATABASE_KINDS
  assert.ok(kind !== undefined)
  const opened = await openHub(kind)
  hub = opened.hub
  stopHub = () => opened.stop()
})
after(() => stopHub())

interface Rig {
  readonly siteId: string
  readonly front: FaultyFront
  readonly sender: SiteSender
  readonly log: SiteLog
  readonly figures: SitesFigures
  readonly looks: SiteLook[]
  /** So many seconds pass. */
  drive(seconds: number): void
  /** Sends all there is. */
  finish(): Promise<void>
}

/** A site of two carts before a hub, with something in between that misbehaves when it is told to. */
async function startRig(t: TestContext): Promise<Rig> {
  const { siteId, key } = await hub.sites.add(t.name.slice(0, 30))
  const front = new FaultyFront(hub.url())
  await front.start()
  t.after(() => front.stop())
  const exchange = new HttpExchange(new URL(front.url), 4)
  const carts = new SharedCarts(2, 1)
  const devices = new SiteDevices(carts, 1, 0, START_MS)
  const log = new SiteLog(devices.hardwareIds)
  const figures = new SitesFigures()
  const looks: SiteLook[] = []
  const upstream = new Upstream({ url: front.url, key, isInsecureAllowed: false, exchange })
  const sender = new SiteSender({
    ...{ siteId, upstream, devices, log, figures },
    ...{ clock: systemClock, random: () => 0, intervalMs: 10 },
  })
  const stopping = new AbortController()
  const done = sender.run(stopping.signal)
  t.after(async () => {
    stopping.abort()
    await done
    exchange.close()
  })
  return {
    ...{ siteId, front, sender, log, figures, looks },
    drive(seconds) {
      for (let i = 0; i < seconds; i++) {
        carts.step()
        const look = devices.measure(START_MS + looks.length * 1000)
        looks.push(look)
        log.add(look)
      }
    },
    async finish() {
      sender.finish()
      await done
    },
  }
}

/** Fails unless the hub has what was measured from some second on, once, and nothing else. */
async function assertHubHas(siteId: string, looks: readonly SiteLook[]): Promise<void> {
  const range = { fromMs: 0, toMs: START_MS * 2 }
  for (const [i, hardwareId] of ['cart-001', 'cart-002'].entries()) {
    const of = { siteId, hardwareId }
    const gps = await readTelemetry(hub.database, GPS, of, range)
    assert.deepEqual(
      [...gps.atMs],
      looks.map(({ atMs }) => atMs),
    )
    assert.deepEqual(
      [...gps.latE7],
      looks.map(({ latE7 }) => latE7[i]),
    )
    const battery = await readTelemetry(hub.database, BATTERY, of, range)
    assert.deepEqual(
      [...battery.voltageMv],
      looks.map(({ voltageMv }) => voltageMv[i]),
    )
  }
}

/** How many rows of the site the hub says it took. */
async function rowsTaken(siteId: string): Promise<number> {
  const row = await hub.database.get<{ rows: number }>(
    `SELECT coalesce(sum(row_count), 0)::bigint AS "rows" FROM sync_cursor
      WHERE site_id = $1 AND stream = 'telemetry'`,
    [siteId],
  )
  return row?.rows ?? 0
}

test('what was measured is at the hub once, whatever happens on the way', async (t) => {
  const rig = await startRig(t)
  const faults: FrontFault[] = [
    'cut_after',
    { status: 503, headers: { 'retry-after': '1' } },
    'cut_before',
    'pass',
    { status: 429 },
    'pass',
    'cut_after',
    'cut_after',
    { status: 502 },
  ]
  rig.front.faultOf = (path) => (path.endsWith('/push') ? (faults.shift() ?? 'pass') : 'pass')
  while (faults.length > 0) {
    const { length } = faults
    rig.drive(3)
    await eventually(() => faults.length < length, 'a push')
  }
  await rig.finish()
  await assertHubHas(rig.siteId, rig.looks)
  assert.equal(rig.figures.rows, rig.looks.length * 4)
  assert.equal(await rowsTaken(rig.siteId), rig.figures.rows)
  assert.equal(rig.figures.busy, 2)
  assert.ok(rig.figures.failed > 0)
  assert.deepEqual([rig.figures.refused, rig.figures.forks], [0, 0])
})

test('a part that is too large is halved', async (t) => {
  const rig = await startRig(t)
  let refusals = 3
  rig.front.faultOf = (path) => (path.endsWith('/push') && refusals-- > 0 ? { status: 413 } : 'pass')
  rig.drive(300)
  await rig.finish()
  await assertHubHas(rig.siteId, rig.looks)
  // 2,000 rows, then 1,000, 500 and 250 at most: 62 seconds of four rows
  assert.equal(rig.figures.pushes, 5)
  assert.equal(rig.figures.refused, 3)
})

test('a hub that has lost everything gets what is measured from then on', async (t) => {
  const rig = await startRig(t)
  rig.drive(10)
  await eventually(() => rig.figures.rows === 40, 'the first rows')
  for (const table of ['site_epoch', 'site_instance', 'sync_cursor', 'segment']) {
    await hub.database.run(`DELETE FROM ${table} WHERE site_id = $1`, [rig.siteId])
  }
  rig.drive(10)
  await rig.finish()
  await assertHubHas(rig.siteId, rig.looks.slice(10))
  assert.deepEqual([rig.figures.refused, rig.figures.forks], [0, 0])
})

test('a hub that has what a site never sent makes it another epoch', async (t) => {
  const rig = await startRig(t)
  rig.drive(5)
  await eventually(() => rig.figures.rows === 20, 'the first rows')
  await hub.database.run(`UPDATE sync_cursor SET hash = $2 WHERE site_id = $1 AND stream = 'telemetry'`, [
    rig.siteId,
    'f'.repeat(64),
  ])
  rig.drive(5)
  await rig.finish()
  await assertHubHas(rig.siteId, rig.looks)
  assert.deepEqual([rig.figures.conflicts, rig.figures.forks], [1, 1])
  const epochs = await hub.database.all<{ forkedFrom: string | null }>(
    'SELECT forked_from AS "forkedFrom" FROM site_epoch WHERE site_id = $1 ORDER BY first_seen_ms',
    [rig.siteId],
  )
  assert.deepEqual(
    epochs.map(({ forkedFrom }) => forkedFrom !== null),
    [false, true],
  )
})

test('a key that is revoked is counted as refused, and why is kept', async (t) => {
  const rig = await startRig(t)
  rig.drive(5)
  await eventually(() => rig.figures.rows === 20, 'the first rows')
  await hub.sites.revoke(rig.siteId)
  rig.drive(5)
  await eventually(() => rig.figures.refused > 0, 'a refusal')
  assert.match(rig.figures.lastRefusal, /revoked_site_key/)
  assert.equal(rig.figures.rows, 20)
})

test('states of all devices are told, with what is still to come', async (t) => {
  const rig = await startRig(t)
  rig.front.faultOf = (path) => (path.endsWith('/push') ? { status: 429 } : 'pass')
  rig.drive(3)
  const states = () =>
    hub.database.all<{ body: string }>(
      'SELECT body FROM site_latest WHERE site_id = $1 ORDER BY hardware_id',
      [rig.siteId],
    )
  await eventually(async () => (await states()).length === 2, 'states')
  assert.equal(JSON.parse((await states())[1]?.body ?? '').hardware_id, 'cart-002')
  const site = await hub.database.get<{ rows: number }>(
    'SELECT backlog_rows AS "rows" FROM site WHERE site_id = $1',
    [rig.siteId],
  )
  assert.equal(site?.rows, 12)
})

test('sites are made at the hub, replicate for a while, leave nothing behind, and can come back', async () => {
  const argv = ['--sites', '5', '--hub', hub.url(), '--hub-key', ADMIN_KEY]
  const more = ['--devices', '3', '--interval', '1', '--duration', '2']
  const options = parseSitesOptions([...argv, ...more], { env: {}, stdout: process.stdout })
  let rows = 0
  for (let run = 1; run <= 2; run++) {
    const lines: string[] = []
    const sites = startSites(options, { line: (text) => lines.push(text), progress: () => undefined })
    await sites.done
    assert.ok(sites.figures.rows >= 5 * 3 * 2, `${sites.figures.rows} rows`)
    assert.ok(sites.figures.lag.p50Ms > 0)
    assert.match(
      lines.at(-1) ?? '',
      /rows acknowledged in \d+ pushes, 0 not acknowledged; lag p50 .* refused 0 /,
    )
    rows += sites.figures.rows
    const taken = await Promise.all([1, 2, 3, 4, 5].map((number) => rowsTaken(`sim-00${number}`)))
    assert.equal(
      taken.reduce((sum, one) => sum + one, 0),
      rows,
    )
  }
})
