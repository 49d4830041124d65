import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { MqttClient } from 'mqtt'
import { TABLES } from '#store/tables/all.ts'
import { sealTelemetry } from '#testing/course/telemetry-answers.ts'
import { type DamageKind, type DamagePlace, damagePage, placesOf } from '#testing/damage/page-damage.ts'
import { metric, startGateway, type TestGateway } from '#testing/start-gateway.ts'

// A page that a failing disk returns as noise or zeros costs only its rows: the gateway starts, reports the damage, and
// continues.

const CARTS = Array.from({ length: 60 }, (_, i) => `cart-${String(i).padStart(2, '0')}`)
const GROUP = 7
/** Set CARTBARN_TEST_LONG=1 for all indexes; without it every third is enough to show that they are rebuilt. */
const isLong = process.env.CARTBARN_TEST_LONG !== undefined
const INDEX_STRIDE = isLong ? 1 : 3
/** Damaged pages per gateway; with CARTBARN_TEST_LONG=1 only one. */
const PAGES_AT_ONCE = isLong ? 1 : 6
/**
 * True for tables that are not read completely at the start, nor near the damage by this test: the nightly check finds
 * the damage.
 */
function isLarge({ table }: Pick<DamagePlace, 'table'>): boolean {
  return !TABLES.has(table) || TABLES.get(table)?.care.size !== undefined
}

const passwords = new Map<string, string>()
const places: DamagePlace[] = []
let folder = ''
/** Data folder with which each case begins. */
let undamaged = ''

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'cartbarn-damage-'))
  undamaged = join(folder, 'undamaged')
  const g = await startGateway()
  try {
    await fill(g)
    await g.restart(() => {
      // readers skip its damaged pages, see damaged-disk.test.ts
      places.push(...placesOf(databaseOf(g.config.dataDir)).filter(({ name }) => name !== 'telemetry_block'))
      cpSync(g.config.dataDir, undamaged, { recursive: true })
    })
  } finally {
    await g.stop()
  }
})

async function fill(g: TestGateway): Promise<void> {
  await g.request('POST', '/groups', { body: { name: 'Course', group_id: GROUP } })
  await g.request('PUT', `/groups/${GROUP}/geofences`, { body: ZONES })
  await g.request('PUT', '/zones', { body: SITE_ZONES, headers: ANY_VERSION })
  for (const id of CARTS) passwords.set(id, await g.register(id))
  for (const name of CARTS) await g.createUser({ name, allowed_hardware_ids: [name] })
  await drive(g, CARTS, 0)
  await sealTelemetry(g)
  await drive(g, CARTS, 1)
  await g.program({ clean: false, clientId: 'kept' }).then((client) => client.subscribeAsync('dev/#', { qos: 1 }))
  await g.closeClients()
  await drive(g, CARTS.slice(0, 5), 2)
  for (const id of CARTS.slice(0, 40)) await g.request('POST', `/devices/${id}/commands`, { body: LOCATE })
}

after(() => rmSync(folder, { recursive: true, force: true }))

const LOCATE = { command: 'locate' }
const ZONES = {
  type: 'FeatureCollection',
  features: [
    {
      type: 'Feature',
      id: 'barn',
      geometry: { type: 'Point', coordinates: [-81.6, 28.4] },
      properties: { name: 'Barn', type: 'parking', enabled: true, visible: true, radius_m: 25 },
    },
  ],
}

const SITE_ZONES = { ...ZONES, features: ZONES.features.map((feature) => ({ ...feature, id: 'site' })) }
const ANY_VERSION = { 'if-match': '*' }

function databaseOf(dataDir: string): string {
  return join(dataDir, 'cartbarn.db')
}

/** Sends a record, a lock event and an unreadable message from each cart, and waits until all are acknowledged. */
async function drive(g: TestGateway, carts: readonly string[], turn: number): Promise<void> {
  for (const id of carts) {
    const client: MqttClient = await g.connect(id, passwords.get(id) ?? '')
    const ts = Date.now()
    const send = (level: string, body: unknown) =>
      client.publishAsync(`dev/${id}/${level}`, JSON.stringify(body), { qos: 1 })
    await Promise.all([
      send('tlm', { ts, lat: 28.4 + turn / 1000, long: -81.6, speed: 12, battery_voltage: 51.2 }),
      send('evt', { eid: `${turn}-${id}-${ts}`, event: 'unlock', source: 'rfid', code: '04A1B2C3', ts }),
      send('evt', 'no event'),
    ])
    await client.endAsync()
  }
}

async function startDamaged(damaged: readonly DamagePlace[], kind: DamageKind): Promise<TestGateway> {
  const dataDir = mkdtempSync(join(folder, 'case-'))
  cpSync(undamaged, dataDir, { recursive: true })
  for (const { page } of damaged) damagePage(databaseOf(dataDir), page, kind)
  return startGateway({ CARTBARN_DATA_DIR: dataDir })
}

/** Performs the actions of users, none of which may fail with an internal error. */
async function use(g: TestGateway, id: string): Promise<number[]> {
  const requests: [string, string, unknown?, Record<string, string>?][] = [
    ['POST', '/groups', { name: 'New' }],
    ['POST', '/users', { name: 'New', role: 'user' }],
    ['POST', '/devices', { hardware_id: `new-${id}`, device_type: 'teebox' }],
    ['PUT', `/groups/${GROUP}/geofences`, ZONES],
    ['GET', '/zones'],
    ['GET', '/zones/versions'],
    ['POST', '/zones/versions/1/restore'],
    ['PUT', '/zones', SITE_ZONES, ANY_VERSION],
    ['POST', `/devices/${id}/commands`, LOCATE, { 'idempotency-key': `key-${id}` }],
    ...['/devices', '/users', '/groups', '/lock-events', '/commands', '/geofence-events', '/audit-log'].map(
      (path): [string, string] => ['GET', path],
    ),
    ...[`/devices/${id}/telemetry/stats`, `/devices/${id}/gps/latest`, '/stats', '/mqtt/clients'].map(
      (path): [string, string] => ['GET', path],
    ),
  ]
  const statuses: number[] = []
  for (const [method, path, body, headers] of requests) {
    const { status } = await g.request(method, path, { body, ...(headers === undefined ? {} : { headers }) })
    assert.notEqual(status, 500, `${method} ${path}`)
    statuses.push(status)
  }
  return statuses
}

/** Returns the damage that the gateway reports. */
async function assertGoesOn(damaged: readonly DamagePlace[], kind: DamageKind): Promise<DamagePlace[]> {
  const g = await startDamaged(damaged, kind)
  try {
    const { body: list } = await g.request('GET', '/devices')
    const known: string[] = list.devices.map((device: { hardware_id: string }) => device.hardware_id)
    assert.ok(known.length >= CARTS.length / 4, `${known.length} devices are left`)
    const others = [known[0], known[known.length >> 1], known.at(-1)].filter((id) => id !== undefined)
    await drive(g, others, 3)
    await use(g, others[0] ?? '')
    const { body: health } = await g.request('GET', '/health')
    assert.equal(health.status, 'ok')
    const reported: { place: string; detail: string }[] = health.damage ?? []
    const found = damaged.filter(({ table }) => reported.some(({ place }) => place === table))
    for (const { place, detail } of reported) {
      // damage found in a large table of a running gateway waits for the next start
      const waits = isLarge({ table: place }) && /until the gateway is restarted/.test(detail)
      if (!waits) assert.match(detail, /npm run repair/)
    }
    if (found.length > 0)
      assert.ok(
        (await metric(g, 'cartbarn_damage_found_total', 'set_aside')) +
          (await metric(g, 'cartbarn_damage_found_total', 'mended')) >
          0,
      )
    return found
  } finally {
    await g.stop()
  }
}

/** Limits for many gateways, some of them in parallel, because each mostly waits for its disk. */
const TEST_LIMIT = { timeout: 900_000, concurrency: 4 }

test('a page of noise or zeros in any table or index stops no gateway and is reported', TEST_LIMIT, async (t) => {
  const [tables, indexes] = [true, false].map((isTable) =>
    places.filter(({ name, table }) => (name === table) === isTable),
  )
  const chosen = [...(tables ?? []), ...(indexes ?? []).filter((_, i) => i % INDEX_STRIDE === 0)]
  assert.ok(chosen.length > 50, `${chosen.length} places`)
  const count = Math.ceil(chosen.length / PAGES_AT_ONCE)
  await Promise.all(
    Array.from({ length: count }, (_, turn) => {
      const kind = turn % 2 === 0 ? 'noise' : 'zeros'
      const damaged = chosen.filter((_, i) => i % count === turn)
      return t.test(`${kind} in ${damaged.map(({ name }) => name).join(', ')}`, async () => {
        const reported = await assertGoesOn(damaged, kind)
        for (const place of damaged)
          assert.ok(reported.includes(place) || isLarge(place), `${place.name} is not in /health`)
      })
    }),
  )
})
