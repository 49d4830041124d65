import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import Database from 'better-sqlite3'
import { ANY_DATABASE, type DatabaseKind, LONG_SUITE_KINDS } from '#hub/testing/databases.ts'
import { openHub, type TestHub } from '#hub/testing/open-hub.ts'
import { ENTRY } from '#scripts/cli/start-command.ts'
import { bareEnvironment } from '#shared/testing/bare-environment.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { png } from '#shared/testing/images.ts'
import { DAY_MS, toIso } from '#shared/time.ts'
import { startGateway, type TestGateway } from '#testing/start-gateway.ts'

const DEVICES = ['cart-1', 'cart-2', 'cart-3']
const RECORDS = 4500
/** The user of a service: as root, the command leaves the folder to its owner. */
const OWNER = process.getuid?.() === 0 ? 54_321 : process.getuid?.()
/** Much is sent, on a busy machine too. */
const SYNC_LIMIT_MS = 120_000
/** Number of chunks of 48 KB or less. */
const PHOTO_PIECES = 7

/** Data that the hub has of each table; positions and voltages are compared as the API shows them. */
const TABLES: Record<string, string> = {
  device: 'device_id, hardware_id, short_id, device_type, name, cart, group_id, created_at_ms, updated_at_ms',
  device_group: '*',
  device_config: '*',
  group_config: '*',
  geofence_set: 'group_id, version, zones, updated_at_ms',
  zone_set: '*',
  site: '*',
  course: '*',
  course_photo: '*',
  course_piece: '*',
  user: 'user_id, name, email, role, is_active, allowed_hardware_ids, mask_codes, created_at_ms',
  command: 'command_id, hardware_id, short_id, command, params, metadata, status, requested_by, created_at_ms, error',
  audit_entry: 'entry_id, at_ms, user_id, person, address, action, target, before, after',
  cart_note: '*',
  lock_event: 'event_id, hardware_id, short_id, event, source, at_ms, code, command_id, metadata',
  geofence_event: 'event_id, hardware_id, short_id, event, group_id, zone_id, zone_name, at_ms, lat_e7, long_e7',
  note: 'note_id, kind, at_ms, body',
  alert:
    'alert_id, kind, cart, hardware_id, opened_at_ms, closed_at_ms, acknowledged_at_ms, acknowledged_by, note, details',
  device_state: 'device_id, gps_count, gps_first_ms, gps_last_ms, battery_count, battery_first_ms, battery_last_ms',
}

/** Several rows of one moment, whose order the hub does not know. */
const ORDERS: Record<string, string> = {
  user: 'user_id',
  alert: 'alert_id',
  command: 'command_id',
  course_piece: 'hash, number',
}

function rowsOf(dataDir: string): Record<string, unknown[]> {
  const db = new Database(join(dataDir, 'cartbarn.db'))
  try {
    return Object.fromEntries(
      Object.entries(TABLES).map(([table, columns]) => [
        table,
        db.prepare(`SELECT ${columns} FROM ${table} ORDER BY ${ORDERS[table] ?? 'rowid'}`).all(),
      ]),
    )
  } finally {
    db.close()
  }
}

function newFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-rebuild-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'data')
}

const ZONES = {
  type: 'FeatureCollection',
  features: [
    {
      type: 'Feature',
      geometry: { type: 'Point', coordinates: [7.001, 51.001] },
      properties: { name: 'Pond', type: 'stop', radius_m: 100 },
    },
  ],
}

const COURSE = {
  type: 'FeatureCollection',
  features: [
    {
      type: 'Feature',
      geometry: {
        type: 'Polygon',
        coordinates: [
          [
            [7, 51],
            [7.001, 51],
            [7.001, 51.001],
            [7, 51],
          ],
        ],
      },
      properties: { golf: 'green' },
    },
  ],
}

async function done(answer: Promise<{ status: number; body: unknown }>): Promise<void> {
  const { status, body } = await answer
  assert.ok(status < 300, JSON.stringify(body))
}

/** Fills a working course: some of everything that is sent to a hub. */
async function fill(g: TestGateway): Promise<void> {
  // not when this file is loaded: that may be minutes ago, and only fresh positions enter zones
  const nowMs = Date.now()
  const { body } = await g.request('POST', '/groups', { body: { name: 'North "side"' } })
  const groupId = body.group_id
  for (const [i, id] of DEVICES.entries()) {
    const device = await g.device(id)
    await done(g.request('PATCH', `/devices/${id}`, { body: { name: `Cart ${i}`, cart: `${i}` } }))
    await done(g.request('PUT', `/groups/${groupId}/devices/${id}`))
    const gps = Array.from({ length: RECORDS }, (_, n) => ({
      timestamp: toIso(nowMs - DAY_MS - n * 1000 * (i + 1)),
      lat: 51 + n / 1e5,
      long: -7.0000001 - i,
      ...(n % 3 === 0 ? {} : { speed: n / 1000 }),
    }))
    const battery = gps.slice(0, 100 * i).map(({ timestamp }, n) => ({ timestamp, battery_voltage: n / 100 }))
    await done(g.request('POST', `/devices/${id}/telemetry/import`, { body: { gps, battery } }))
    for (const [eid, code] of [
      ['1', '04AB'],
      ['2', null],
    ] as const) {
      const event = {
        event: 'unlock',
        source: code === null ? 'key' : 'rfid',
        eid,
        ...(code === null ? {} : { code }),
      }
      await device.publishAsync(`dev/${id}/evt`, JSON.stringify(event), { qos: 1 })
    }
    await device.publishAsync(`dev/${id}/tlm`, JSON.stringify({ lat: 51.001, long: 7.001, ts: nowMs }), {
      qos: 1,
    })
  }
  await done(g.request('PUT', `/devices/cart-1/config`, { body: { realtime_enabled: false } }))
  await done(g.request('PUT', `/groups/${groupId}/geofences`, { body: ZONES }))
  const device = await g.connect('cart-9', await g.register('cart-9'))
  await done(g.request('PUT', `/groups/${groupId}/devices/cart-9`))
  // a zone is entered or left by two fixes that are some seconds apart
  for (const [n, lat] of [50, 51.001, 51.001, 50, 50].entries()) {
    const fix = { lat, long: 7.001, ts: nowMs - 60_000 + n * 5_000 }
    await device.publishAsync('dev/cart-9/tlm', JSON.stringify(fix), { qos: 1 })
  }
  await done(g.request('PATCH', '/site', { body: { name: 'Old Course' } }))
  await done(g.request('PUT', '/course', { body: COURSE }))
  await done(
    g.request('PUT', '/course/photo?corners=51.2,7.1;51.2,7.2;51.1,7.2;51.1,7.1', {
      body: png({ weight: 300_000 }),
      headers: { 'content-type': 'image/png' },
    }),
  )
  await done(
    g.request('POST', '/devices/cart-2/commands', {
      body: { command: 'locate', metadata: { why: ['a', 1] } },
    }),
  )
  for (let n = 0; n < 5; n++) await done(g.request('POST', '/devices/cart-1/commands', { body: { command: 'locate' } }))
  await g.createUser({ name: 'Clerk', role: 'user', allowed_hardware_ids: ['cart-1'] })
  await done(g.request('DELETE', '/devices/cart-3/telemetry/battery'))
}

async function status(g: TestGateway) {
  return (await g.request('GET', '/sync/status')).body
}

interface Site {
  hub: TestHub
  settings: Record<string, string>
}

async function newSite(t: TestContext, kind: DatabaseKind): Promise<Site> {
  const hub = await openHub(kind)
  t.after(() => hub.stop())
  const { siteId, key } = await hub.hub.sites.add('Old Course')
  return {
    hub,
    settings: { CARTBARN_UPSTREAM_URL: hub.hub.url(), CARTBARN_UPSTREAM_KEY: key, CARTBARN_SITE_ID: siteId },
  }
}

/** Runs the command in a separate process; `during` may end it. */
async function restore(
  settings: Record<string, string>,
  options: readonly string[] = [],
  during?: (child: ReturnType<typeof spawn>) => void,
) {
  const child = spawn(process.execPath, [ENTRY, 'restore', '--from-upstream', ...options], {
    env: bareEnvironment(settings),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  during?.(child)
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
  return { out, err, code }
}

/** Starts a proxy for a hub; `onRequest` decides the result of the n-th request. */
async function startFront(t: TestContext, hubUrl: string, onRequest: (n: number) => 'pass' | 'cut' | 'change') {
  let requests = 0
  const server = createServer(async (request, response) => {
    const fate = onRequest(++requests)
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { authorization = '', 'content-encoding': encoding } = request.headers
    const answer = await fetch(hubUrl + request.url, {
      method: request.method ?? 'GET',
      headers: {
        authorization,
        ...(encoding === undefined ? {} : { 'content-type': 'application/json', 'content-encoding': encoding }),
      },
      ...(request.method === 'POST' ? { body: Buffer.concat(chunks) } : {}),
    })
    const body = Buffer.from(await answer.arrayBuffer())
    response.writeHead(answer.status, { 'content-type': 'application/json', 'content-length': body.length })
    if (fate === 'cut') {
      response.write(body.subarray(0, body.length / 2), () => response.destroy())
      return
    }
    const at = body.indexOf('"content":"') + 14
    // a letter of base64 or of a text: it is JSON still
    if (fate === 'change' && at > 14) body[at] = body[at] === 0x41 ? 0x42 : 0x41
    response.end(body)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  // it listens on a port
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, requests: () => requests }
}

/** Destroys a course whose data is all at the hub. Returns its data, and the responses of its API. */
async function burn(t: TestContext, site: Site) {
  const g = await startGateway({ ...site.settings, CARTBARN_UPSTREAM_HOLD_MS: '0' })
  const burnt = newFolder(t)
  let isStopped = false
  t.after(() => (isStopped ? undefined : g.stop()))
  await fill(g)
  // these wait for others, or for each other: the status counts the remaining rows only occasionally
  const { database } = site.hub.hub
  await eventually(
    async () => {
      const { events, pieces } =
        (await database.get<{ events: number; pieces: number }>(
          `SELECT (SELECT COUNT(*) FROM event WHERE stream = 'geofence_events') AS events,
           (SELECT COUNT(*) FROM entity WHERE entity_table = 'course_piece') AS pieces`,
        )) ?? {}
      return events === 2 && pieces === PHOTO_PIECES
    },
    'zone events and the photo at the hub',
    SYNC_LIMIT_MS,
  ).catch(async () => assert.fail(JSON.stringify(await status(g))))
  await eventually(
    async () => {
      const { state, details } = await status(g)
      return (
        state === 'in_sync' && details.streams.every(({ waiting_rows }: { waiting_rows: number }) => waiting_rows === 0)
      )
    },
    'everything at the hub',
    SYNC_LIMIT_MS,
  ).catch(async () => assert.fail(JSON.stringify(await status(g))))
  await g.closeClients()
  await new Promise((resolve) => setTimeout(resolve, 500))
  await eventually(async () => (await status(g)).state === 'in_sync', 'in sync')
  const histories = await historiesOf(g)
  await g.restart(() => cpSync(g.config.dataDir, burnt, { recursive: true }))
  await g.stop()
  isStopped = true
  return { rows: rowsOf(burnt), histories, burnt }
}

async function historiesOf(g: TestGateway) {
  const found: Record<string, unknown> = {}
  for (const id of DEVICES)
    for (const stream of ['gps', 'battery'])
      found[`${id} ${stream}`] = (await g.request('GET', `/devices/${id}/${stream}?limit=10000&order=asc`)).body
  return found
}

for (const kind of LONG_SUITE_KINDS) {
  test(`a lost gateway is restored row by row despite kills and cut connections, on ${kind.name}`, {
    skip: kind.skip,
  }, async (t) => {
    const site = await newSite(t, kind)
    const { rows, histories } = await burn(t, site)
    const dataDir = newFolder(t)
    mkdirSync(dataDir, { mode: 0o700 })
    if (OWNER !== undefined) chownSync(dataDir, OWNER, OWNER)
    let fate: (n: number) => 'pass' | 'cut' | 'change' = () => 'pass'
    const front = await startFront(t, site.settings.CARTBARN_UPSTREAM_URL ?? '', (n) => fate(n))
    const settings = { ...site.settings, CARTBARN_UPSTREAM_URL: front.url, CARTBARN_DATA_DIR: dataDir }
    for (const kill of [1, 2, 3, 4]) {
      const before = front.requests()
      await restore(settings, [], (child) => {
        fate = (n) => {
          if (n - before === kill) child.kill('SIGKILL')
          return 'pass'
        }
      })
      assert.ok(!existsSync(join(dataDir, 'cartbarn.db')), `killed at request ${kill}`)
    }
    const before = front.requests()
    fate = (n) => (['pass', 'cut', 'change'] as const)[(n - before) % 3] ?? 'pass'
    const { out, err, code } = await restore(settings)
    assert.equal(code, 0, err)
    assert.match(
      out,
      /^Continuing with site .*\n.* has [\d,]+ rows and [\d,]+ positions and voltages\. Start the gateway\.$/m,
    )
    for (const name of readdirSync(dataDir)) assert.equal(lstatSync(join(dataDir, name)).uid, OWNER, name)
    const found = rowsOf(dataDir)
    for (const table of Object.keys(TABLES)) assert.deepEqual(found[table], rows[table], table)
    for (const table of [
      'device',
      'lock_event',
      'audit_entry',
      'user',
      'command',
      'geofence_set',
      'device_config',
      'geofence_event',
      'course',
      'course_photo',
      'course_piece',
      'note',
    ])
      assert.ok((rows[table]?.length ?? 0) > 0, `no rows of ${table}`)
    assert.deepEqual(
      readdirSync(dataDir).filter((name) => !/^cartbarn\.(db|lock)/.test(name)),
      ['new-credentials.csv'],
    )

    const credentials = readFileSync(join(dataDir, 'new-credentials.csv'), 'utf8').trimEnd().split('\n')
    assert.equal(statSync(join(dataDir, 'new-credentials.csv')).mode & 0o777, 0o600)
    assert.deepEqual(
      credentials.map((line) => line.split(',').slice(0, 1).join()),
      ['kind', 'device', 'device', 'device', 'device', 'user'],
    )
    const { database } = site.hub.hub
    const received = () => database.all('SELECT stream, seq, row_count FROM sync_cursor ORDER BY epoch, stream')
    const events = () => database.all('SELECT stream, COUNT(*) AS n FROM event GROUP BY stream ORDER BY stream')
    const earlier = { received: await received(), events: await events() }

    const g = await startGateway({
      ...site.settings,
      CARTBARN_ADMIN_API_KEY: undefined as never,
      CARTBARN_DATA_DIR: dataDir,
    })
    t.after(() => g.stop())
    const key = readFileSync(join(dataDir, 'admin-key.txt'), 'utf8').split('\n')[0] ?? ''
    const asked = async (path: string) => (await g.request('GET', path, { key })).body
    for (const [name, history] of Object.entries(histories)) {
      const [id, stream] = name.split(' ')
      assert.deepEqual(await asked(`/devices/${id}/${stream}?limit=10000&order=asc`), history, name)
    }
    const password = /^device,cart-2,.*,(.+)$/m.exec(credentials.join('\n'))?.[1] ?? ''
    await g.connect('cart-2', password)
    await eventually(async () => (await asked('/sync/status')).state === 'in_sync', 'in sync')
    assert.deepEqual(await events(), earlier.events, 'no event a second time')
    const now = await received()
    // only changes made by the start itself were sent: on a slow machine some rows of states twice
    const rowsSent = (now as { row_count: number }[]).reduce((sum, row) => sum + Number(row.row_count), 0)
    const rowsBefore = (earlier.received as { row_count: number }[]).reduce(
      (sum, row) => sum + Number(row.row_count),
      0,
    )
    assert.ok(rowsSent - rowsBefore < 50, `${rowsSent - rowsBefore} rows were sent again`)

    await g.request('POST', '/sync/audit', { key })
    await eventually(async () => {
      const { details } = await asked('/sync/status')
      return details.audit.last !== null && details.audit.state === 'idle'
    }, 'an audit')
    const { counts } = (await asked('/sync/status')).details.audit.last
    for (const { kind: what, rows: count, confirmed, resent, extra } of counts)
      assert.deepEqual([what, confirmed, resent, extra], [what, count, 0, 0], JSON.stringify(counts))
  })
}

test('passwords, keys and local data come from an older database, all else from the head office', async (t) => {
  const site = await newSite(t, ANY_DATABASE)
  const g = await startGateway({ ...site.settings, CARTBARN_UPSTREAM_HOLD_MS: '0' })
  let isStopped = false
  t.after(() => (isStopped ? undefined : g.stop()))
  const password = await g.register('cart-1')
  const { key } = await g.createUser({ name: 'Clerk', role: 'staff' })
  const older = newFolder(t)
  await g.restart(() => cpSync(g.config.dataDir, older, { recursive: true }))
  await g.register('cart-2')
  const { database } = site.hub.hub
  const known = () =>
    database.all(
      "SELECT entity_key FROM entity WHERE entity_table IN ('device', 'user') AND body IS NOT NULL ORDER BY entity_key",
    )
  await eventually(async () => (await known()).length === 4, 'two devices and two users at the hub')
  await g.stop()
  isStopped = true
  const from = join(older, 'cartbarn.db')
  // as if a device had been removed when it was copied
  const db = new Database(from)
  db.exec(
    "INSERT INTO removed_device (hardware_id, removed_at_ms) VALUES ('cart-9', 5); UPDATE user SET pin_hash = 'a-pin'",
  )
  db.close()
  const before = readFileSync(from)
  const dataDir = newFolder(t)
  const settings = { ...site.settings, CARTBARN_DATA_DIR: dataDir }
  const refused = await restore(settings, ['--secrets-from', join(older, 'admin-key.txt')])
  assert.equal(refused.code, 1)
  assert.match(refused.err, /admin-key\.txt is not a database with passwords and keys/)
  // a view is not read: its query may never end
  const altered = join(older, 'altered.db')
  cpSync(from, altered)
  const views = new Database(altered)
  views.exec('ALTER TABLE webhook RENAME TO kept; CREATE VIEW webhook AS SELECT * FROM kept')
  views.close()
  const ofView = await restore(settings, ['--secrets-from', altered])
  assert.equal(ofView.code, 1)
  assert.match(ofView.err, /altered\.db is not a database with passwords and keys/)
  const { err, code, out } = await restore(settings, ['--secrets-from', from])
  assert.equal(code, 0, err)
  assert.match(out, /new-credentials\.csv has 1 new MQTT passwords of devices and 0 new API keys/)
  assert.ok(readFileSync(from).equals(before), 'the older one is as it was')
  assert.match(readFileSync(join(dataDir, 'new-credentials.csv'), 'utf8'), /^device,cart-2,/m)
  const rebuilt = new Database(join(dataDir, 'cartbarn.db'), { readonly: true })
  t.after(() => rebuilt.close())
  const column = (sql: string) => rebuilt.prepare(sql).pluck().all()
  assert.deepEqual(column('SELECT hardware_id FROM removed_device'), ['cart-9'])
  assert.deepEqual(column('SELECT DISTINCT pin_hash FROM user'), ['a-pin'])
  const again = await startGateway({ ...site.settings, CARTBARN_DATA_DIR: dataDir })
  t.after(() => again.stop())
  assert.equal((await again.request('GET', '/devices', { key })).status, 200)
  await again.connect('cart-1', password)
})

test('a replacement that was killed is finished first, and no second database is created', async (t) => {
  const dataDir = newFolder(t)
  mkdirSync(dataDir, { mode: 0o700 })
  const successor = new Database(join(dataDir, 'cartbarn.db-successor'))
  successor.pragma('user_version = 1')
  successor.close()
  const { err, code } = await restore(
    {
      CARTBARN_DATA_DIR: dataDir,
      CARTBARN_UPSTREAM_URL: 'http://127.0.0.1:9',
      CARTBARN_UPSTREAM_KEY: `cbs_site_${'k'.repeat(43)}`,
      CARTBARN_SITE_ID: 'site',
    },
    ['--retry-for', '1'],
  )
  assert.equal(code, 1)
  assert.match(err, /already has a database/)
  assert.deepEqual(readdirSync(dataDir).sort(), ['cartbarn.db', 'cartbarn.lock'])
})
