import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'
import { HttpExchange } from '#agent/http-exchange.ts'
import type { Hub } from '#hub/hub.ts'
import { readTelemetry } from '#hub/store/telemetry/reader.ts'
import { ANY_DATABASE } from '#hub/testing/databases.ts'
import { openHub } from '#hub/testing/open-hub.ts'
import { ADMIN_KEY } from '#hub/testing/people.ts'
import { FaultyFront, type FrontFault } from '#scripts/testing/faulty-front.ts'
import { BATTERY, GPS } from '#shared/telemetry/records.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { SharedCarts, type SiteMeasurement } from './carts.ts'
import { SitesFigures } from './figures.ts'
import { parseSitesOptions } from './options.ts'
import { createSite, drain, type Site, startSites, troubles } from './sites.ts'

const START_MS = 1_777_636_800_000

let hub: Hub
let stopHub: () => Promise<void>

before(async () => {
  const opened = await openHub(ANY_DATABASE)
  hub = opened.hub
  stopHub = () => opened.stop()
})
after(() => stopHub())

interface Rig extends Site {
  readonly front: FaultyFront
  readonly figures: SitesFigures
  readonly measurements: SiteMeasurement[]
  /** Advances by this number of seconds. */
  drive(seconds: number): void
  /** Sends all remaining data. */
  finish(): Promise<void>
  /** Returns the number of occurrences of a problem, as printed for users. */
  count(trouble: string): number
}

/** Starts a site of two carts with a hub, and a proxy in between that misbehaves on request. */
async function startRig(t: TestContext): Promise<Rig> {
  const { siteId, key } = await hub.sites.add(t.name.slice(0, 30))
  const front = new FaultyFront(hub.url())
  await front.start()
  t.after(() => front.stop())
  const exchange = new HttpExchange(new URL(front.url), 4)
  const carts = new SharedCarts(2, 1)
  const figures = new SitesFigures()
  const measurements: SiteMeasurement[] = []
  const options = { hubUrl: front.url, isInsecureAllowed: false, seed: 1, intervalS: 1 }
  const site = createSite({ siteId, key }, 0, { options, carts, figures, exchange })
  await site.agent.start()
  t.after(async () => {
    await site.agent.stop()
    exchange.close()
  })
  return {
    ...site,
    front,
    figures,
    measurements,
    drive(seconds) {
      for (let i = 0; i < seconds; i++) {
        carts.step()
        const measurement = site.devices.measure(START_MS + measurements.length * 1000)
        measurements.push(measurement)
        site.log.add(measurement)
      }
    },
    finish: () => drain([site]),
    count: (trouble) => Number(new RegExp(`${trouble} (\\d+)`).exec(troubles([site], figures))?.[1]),
  }
}

/** Fails unless the hub has the measurements from some second on, once, and nothing else. */
async function assertHubHas(siteId: string, measurements: readonly SiteMeasurement[]): Promise<void> {
  const range = { fromMs: 0, toMs: START_MS * 2 }
  for (const [i, hardwareId] of ['cart-001', 'cart-002'].entries()) {
    const of = { siteId, hardwareId }
    const gps = await readTelemetry(hub.database, GPS, of, range)
    assert.deepEqual(
      [...gps.atMs],
      measurements.map(({ atMs }) => atMs),
    )
    assert.deepEqual(
      [...gps.latE7],
      measurements.map(({ measured }) => measured[i]?.latE7),
    )
    const battery = await readTelemetry(hub.database, BATTERY, of, range)
    assert.deepEqual(
      [...battery.voltageMv],
      measurements.map(({ measured }) => measured[i]?.voltageMv),
    )
  }
}

/** Returns the number of rows of the site that the hub reports as received. */
async function rowsTaken(siteId: string): Promise<number> {
  const row = await hub.database.get<{ rows: number }>(
    `SELECT coalesce(sum(row_count), 0)::bigint AS "rows" FROM sync_cursor
      WHERE site_id = $1 AND stream = 'telemetry'`,
    [siteId],
  )
  return row?.rows ?? 0
}

test('measured rows are at the hub once, whatever faults occur on the way', async (t) => {
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
  rig.front.faultOf = (path) => {
    // hundreds of requests that wait for intents would take all connections
    assert.doesNotMatch(path, /intents/)
    return path.endsWith('/push') ? (faults.shift() ?? 'pass') : 'pass'
  }
  while (faults.length > 0) {
    const { length } = faults
    rig.drive(3)
    await eventually(() => faults.length < length, 'a push')
  }
  await rig.finish()
  await assertHubHas(rig.siteId, rig.measurements)
  assert.equal(rig.figures.rows, rig.measurements.length * 4)
  assert.equal(await rowsTaken(rig.siteId), rig.figures.rows)
  assert.equal(rig.count('busy'), 3)
  assert.ok(rig.count('failed') > 0)
  assert.deepEqual([rig.count('refused'), rig.count('forks')], [0, 0])
})

test('a batch that is too large is halved', async (t) => {
  const rig = await startRig(t)
  let refusals = 6
  rig.front.faultOf = (path) => (path.endsWith('/push') && refusals-- > 0 ? { status: 413 } : 'pass')
  rig.drive(300)
  await rig.finish()
  await assertHubHas(rig.siteId, rig.measurements)
  // 20,000 rows at most, halved six times: 78 seconds of four rows
  assert.equal(rig.figures.pushes, 4)
  assert.equal(rig.count('refused'), 6)
})

test('a hub that has lost everything gets the rows measured from then on', async (t) => {
  const rig = await startRig(t)
  rig.drive(10)
  await eventually(() => rig.figures.rows === 40, 'the first rows')
  for (const table of ['site_epoch', 'site_instance', 'sync_cursor', 'segment']) {
    await hub.database.run(`DELETE FROM ${table} WHERE site_id = $1`, [rig.siteId])
  }
  rig.drive(10)
  await rig.finish()
  await assertHubHas(rig.siteId, rig.measurements.slice(10))
  assert.deepEqual([rig.count('refused'), rig.count('forks')], [0, 0])
})

test('rows at the hub that a site never sent make the site start another epoch', async (t) => {
  const rig = await startRig(t)
  rig.drive(5)
  await eventually(() => rig.figures.rows === 20, 'the first rows')
  await hub.database.run(`UPDATE sync_cursor SET hash = $2 WHERE site_id = $1 AND stream = 'telemetry'`, [
    rig.siteId,
    'f'.repeat(64),
  ])
  rig.drive(5)
  await rig.finish()
  await assertHubHas(rig.siteId, rig.measurements)
  assert.deepEqual([rig.count('conflicts'), rig.count('forks')], [1, 1])
  const epochs = await hub.database.all<{ forkedFrom: string | null }>(
    'SELECT forked_from AS "forkedFrom" FROM site_epoch WHERE site_id = $1 ORDER BY first_seen_ms',
    [rig.siteId],
  )
  assert.deepEqual(
    epochs.map(({ forkedFrom }) => forkedFrom !== null),
    [false, true],
  )
})

test('a revoked key is counted as rejected, with the reason', async (t) => {
  const rig = await startRig(t)
  rig.drive(5)
  await eventually(() => rig.figures.rows === 20, 'the first rows')
  await hub.sites.revoke(rig.siteId)
  rig.drive(5)
  await eventually(() => rig.count('refused') > 0, 'a refusal')
  assert.match(troubles([rig], rig.figures), /last error: .*revoked_site_key/)
  assert.equal(rig.figures.rows, 20)
})

test('the states of all devices are reported, with the backlog', async (t) => {
  const rig = await startRig(t)
  rig.front.faultOf = (path) => (path.endsWith('/push') ? { status: 429 } : 'pass')
  rig.drive(3)
  await rig.agent.loops.monitor.runOnce()
  const states = () =>
    hub.database.all<{ body: string }>('SELECT body FROM site_latest WHERE site_id = $1 ORDER BY hardware_id', [
      rig.siteId,
    ])
  await eventually(async () => (await states()).length === 2, 'states')
  assert.equal(JSON.parse((await states())[1]?.body ?? '').hardware_id, 'cart-002')
  const site = await hub.database.get<{ rows: number }>('SELECT backlog_rows AS "rows" FROM site WHERE site_id = $1', [
    rig.siteId,
  ])
  assert.equal(site?.rows, 12)
})

test('sites are created at the hub, replicate for a while, leave no files, and can come back', async () => {
  const argv = ['--sites', '5', '--hub', hub.url(), '--key', ADMIN_KEY]
  const more = ['--devices', '3', '--interval', '1', '--duration', '2']
  const options = parseSitesOptions([...argv, ...more], { env: {}, folder: '.', stdout: process.stdout })
  let rows = 0
  for (let run = 1; run <= 2; run++) {
    const lines: string[] = []
    const sites = startSites(options, { line: (text) => lines.push(text), progress: () => undefined })
    await sites.done
    assert.ok(sites.figures.rows >= 5 * 3 * 2, `${sites.figures.rows} rows`)
    assert.ok(sites.figures.lag.percentile(50) > 0)
    assert.match(lines.at(-1) ?? '', /rows acknowledged in \d+ pushes, 0 not acknowledged; lag p50 .* refused 0 /)
    rows += sites.figures.rows
    const taken = await Promise.all([1, 2, 3, 4, 5].map((number) => rowsTaken(`sim-00${number}`)))
    assert.equal(
      taken.reduce((sum, one) => sum + one, 0),
      rows,
    )
  }
})
