import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import Database from 'better-sqlite3'
import { readConfig } from '#gateway/config.ts'
import { entityRev } from '#shared/sync-hash.ts'
import { FakeClock } from '#shared/testing/clocks.ts'
import { eventually } from '#shared/testing/eventually.ts'
import type { Intent, IntentResult } from '#shared/wire/replication/sync.ts'
import { openReader } from '#store/db/connection.ts'
import { entityBody } from '#store/replication/entities.ts'
import { CommandedDevice, commandBecomes, readCommand } from '#testing/course/commanded-device.ts'
import { startGateway, type TestGateway } from '#testing/start-gateway.ts'
import { intentCommandId } from './intent-command-id.ts'

const HOUR_MS = 3_600_000
const clock = new FakeClock()
let g: TestGateway
let seq = 0

before(async () => {
  g = await startGateway({ CARTBARN_UPSTREAM_INTENTS: 'all' }, { clock, isTimeSynchronized: () => false })
})
after(() => g.stop())

function intentOf(kind: string, body: Record<string, unknown>, fields: Partial<Intent> = {}): Intent {
  return {
    intent_id: randomUUID(),
    seq: ++seq,
    kind,
    body,
    issued_at_ms: clock.nowMs(),
    expires_at_ms: clock.nowMs() + HOUR_MS,
    base_rev: null,
    ...fields,
  }
}

function receive(kind: string, body: Record<string, unknown>, fields: Partial<Intent> = {}) {
  return g.intents.receive(intentOf(kind, body, fields))
}

function read<Row>(sql: string, ...values: string[]): Row[] {
  const db = new Database(join(g.config.dataDir, 'cartbarn.db'), { readonly: true })
  const rows = db.prepare<string[], Row>(sql).all(...values)
  db.close()
  return rows
}

/**
 * Checks the result of an intent that the hub will receive: there must be exactly one note, with the result that was
 * returned.
 */
function assertReportedOnce({ intent_id, status, reason }: IntentResult): void {
  const notes = read<{ body: string }>(
    `SELECT body FROM note WHERE kind = 'intent_result' AND json_extract(body, '$.intent_id') = ?`,
    intent_id,
  )
  const shown = notes.map(({ body }) => JSON.parse(body))
  assert.deepEqual(shown, [{ intent_id, status, reason }])
}

/** Revision that the hub would know. */
function revOf(table: Parameters<typeof entityBody>[1], key: string): string {
  const connection = openReader(join(g.config.dataDir, 'cartbarn.db'))
  // as it is parsed after the transfer
  const body = JSON.parse(JSON.stringify(entityBody(connection, table, key)))
  connection.close()
  return entityRev(body)
}

async function get(path: string) {
  return (await g.request('GET', path)).body
}

async function newGroup(): Promise<number> {
  return (await g.request('POST', '/groups', { body: { name: 'Group' } })).body.group_id
}

const zones = (name: string) => ({
  type: 'FeatureCollection',
  features: [
    {
      type: 'Feature',
      id: 'p',
      geometry: { type: 'Point', coordinates: [-81.6, 28.4] },
      properties: { name, type: 'parking', radius_m: 25 },
    },
  ],
})

test('a configuration is set and published once, however often it arrives, also after a restart', async () => {
  const device = await g.device('set-1')
  const received: string[] = []
  device.on('message', (_topic, payload) => received.push(payload.toString()))
  await device.subscribeAsync('dev/set-1/cfg', { qos: 1 })
  await eventually(() => received.length === 1, 'the command before')
  const intent = intentOf('config.set', { hardware_id: 'set-1', config: { beep: 1 } })
  const result = { intent_id: intent.intent_id, status: 'applied', reason: null }
  assert.deepEqual(await Promise.all([g.intents.receive(intent), g.intents.receive(intent)]), [result, result])
  await eventually(() => received.length === 2, 'the command arrives')
  assert.equal(JSON.parse(received[1] ?? '').config.beep, 1)
  await g.request('PUT', '/devices/set-1/config', { body: { beep: 2 } })
  await g.restart()
  assert.equal(g.intents.lastSeq(), intent.seq)
  assert.deepEqual(await g.intents.receive(intent), { ...result, status: 'applied' })
  assert.deepEqual((await get('/devices/set-1/config')).layers.device, { beep: 2 })
  assertReportedOnce(await g.intents.receive(intent))
})

test('an absurd number that a hostile hub once sent is forgotten', async () => {
  const before = g.intents.lastSeq()
  await receive('reboot.all', {}, { seq: 9_007_199_254_740_991 })
  assert.equal(g.intents.lastSeq(), before)
  await g.restart()
  assert.equal(g.intents.lastSeq(), before)
  await receive('reboot.all', {})
  assert.equal(g.intents.lastSeq(), seq)
})

test('a layer of a group is set for its devices', async () => {
  const groupId = await newGroup()
  await g.register('grouped-1')
  await g.request('PUT', `/groups/${groupId}/devices/grouped-1`)
  const body = { group_id: groupId, device_type: 'teebox', config: { key_keyless_state: 'keyless' } }
  assertReportedOnce(await receive('config.set', body))
  assert.equal((await get('/devices/grouped-1/config')).resolved.key_keyless_state, 'keyless')
})

test('zones are stored', async () => {
  const groupId = await newGroup()
  const { status } = await receive('geofence.put', { group_id: groupId, geofences: zones('Barn') })
  assert.equal(status, 'applied')
  const { features } = await get(`/groups/${groupId}/geofences`)
  assert.equal(features[0].properties.name, 'Barn')
})

test('a command is sent under an id the head office knows, and only within its lifetime', async () => {
  const device = await CommandedDevice.connect(g, 'device-1', await g.register('device-1', 'cartcaddie'))
  const body = { hardware_id: 'device-1', command: 'unlock', metadata: { name: 'Jane' }, ttl_s: 50 }
  const expiresAtMs = clock.nowMs() + 20_500
  const result = await receive('command.send', body, { expires_at_ms: expiresAtMs })
  assert.equal(result.status, 'applied')
  const { id, ttl } = await device.next()
  assert.deepEqual([id, ttl], [intentCommandId(result.intent_id), 20])
  const { requested_by, metadata, expires_at } = await readCommand(g, id)
  assert.deepEqual([requested_by, metadata], ['head office', { name: 'Jane' }])
  assert.ok(Date.parse(expires_at) <= expiresAtMs)
  await device.ack(id, 'completed')
  await device.leave()
})

test('a lock for a device that is away never runs late, even after a restart', async () => {
  const password = await g.register('away-1', 'cartcaddie')
  const { intent_id } = await receive(
    'command.send',
    { hardware_id: 'away-1', command: 'lock' },
    { expires_at_ms: clock.nowMs() + 30_000 },
  )
  await g.restart(() => clock.advance(30_000))
  const device = await CommandedDevice.connect(g, 'away-1', password)
  await commandBecomes(g, intentCommandId(intent_id), 'timeout')
  assert.deepEqual(await device.flush(), [])
  await device.leave()
})

test('an intent that arrives too late is not carried out', async () => {
  await g.register('late-1')
  for (const [kind, body] of [
    ['config.set', { hardware_id: 'late-1', config: { beep: 9 } }],
    ['command.send', { hardware_id: 'late-1', command: 'unlock' }],
  ] as const) {
    const result = await receive(kind, body, { expires_at_ms: clock.nowMs() })
    assert.deepEqual([result.status, result.reason], ['expired', 'the intent arrived after it had expired'])
    assertReportedOnce(result)
  }
  // less than a second is left: no command can be that short
  const body = { hardware_id: 'late-1', command: 'unlock' }
  assert.equal((await receive('command.send', body, { expires_at_ms: clock.nowMs() + 999 })).status, 'expired')
  assert.deepEqual((await get('/devices/late-1/config')).layers.device, {})
  assert.deepEqual((await get('/devices/late-1/commands')).commands, [])
})

test('a user is disabled immediately, except for the last active admin', async () => {
  const { userId, key } = await g.createUser({ role: 'user' })
  assert.equal((await receive('user.disable', { user_id: userId })).status, 'applied')
  assert.equal((await g.request('GET', '/devices', { key })).status, 401)
  const result = await receive('user.disable', { user_id: await g.adminId() })
  assert.deepEqual([result.status, result.reason], ['rejected', 'this would leave no active admin'])
  assertReportedOnce(result)
  assert.equal((await g.request('GET', '/users')).status, 200)
})

test('a newer local change is kept', async () => {
  const groupId = await newGroup()
  await g.register('rev-1')
  await g.request('PUT', `/groups/${groupId}/geofences`, { body: zones('One') })
  const layer = { group_id: groupId, device_type: 'teebox' }
  const [none, zonesRev] = [revOf('device_config', 'rev-1'), revOf('geofence_set', String(groupId))]
  const groupRev = revOf('group_config', `${groupId}/teebox`)
  const cases: [string, Record<string, unknown>, string][] = [
    ['config.set', { hardware_id: 'rev-1', config: { beep: 1 } }, none],
    ['config.set', { ...layer, config: { beep: 1 } }, groupRev],
    ['geofence.put', { group_id: groupId, geofences: zones('Two') }, zonesRev],
  ]
  for (const [kind, body, rev] of cases) {
    assert.equal((await receive(kind, body, { base_rev: rev })).status, 'applied', kind)
    const again = await receive(kind, body, { base_rev: rev })
    assert.deepEqual([again.status, again.reason], ['superseded', 'the site has changed it since the intent was made'])
    assertReportedOnce(again)
  }
  const { version } = await get(`/groups/${groupId}/geofences`)
  assert.equal(version, 2)
  const changed = revOf('device_config', 'rev-1')
  const undone = { hardware_id: 'rev-1', config: {} }
  assert.equal((await receive('config.set', undone, { base_rev: changed })).status, 'applied')
  assert.equal(revOf('device_config', 'rev-1'), none, 'what is not there has a revision too')
})

test('an impossible intent is rejected with a readable reason', async () => {
  await g.register('bad-1', 'cartcaddie')
  const cases: [string, Record<string, unknown>, RegExp][] = [
    ['reboot.all', {}, /does not know the kind reboot\.all/],
    ['config.set', { hardware_id: 'nobody', config: {} }, /there is no device nobody/],
    ['config.set', { hardware_id: 'bad-1' }, /config/],
    ['config.set', { group_id: 4711, device_type: 'teebox', config: {} }, /4711/],
    ['config.set', { hardware_id: 'bad-1', config: { a: 'x'.repeat(9000) } }, /8192 bytes/],
    ['config.set', { group_id: await newGroup(), device_type: 'zeppelin', config: {} }, /device_type must be/],
    ['geofence.put', { group_id: 4711, geofences: zones('x') }, /4711/],
    [
      'geofence.put',
      { group_id: await newGroup(), geofences: { type: 'Feature' } },
      /geofences\.features\[0\]\.geometry/,
    ],
    ['command.send', { hardware_id: 'bad-1', command: 'fly' }, /fly: /],
    ['command.send', { hardware_id: 'bad-1', command: 'unlock', params: { x: 1 } }, /params\.x/],
    ['command.send', { hardware_id: 'bad-1', command: 'unlock', ttl_s: 0 }, /ttl_s/],
    ['command.send', { hardware_id: 'bad-1', command: 'unlock', by: 'me' }, /by: is not a field/],
    ['user.disable', { user_id: 'nobody' }, /there is no user nobody/],
    ['resend', { kind: 'everything' }, /kind/],
    ['resend', { day: '2026-13-01' }, /day/],
  ]
  for (const [kind, body, reason] of cases) {
    const result = await receive(kind, body)
    assert.equal(result.status, 'rejected', `${kind} ${JSON.stringify(result)}`)
    assert.match(result.reason ?? '', reason)
    assertReportedOnce(result)
  }
  assert.deepEqual((await get('/devices/bad-1/commands')).commands, [])
})

test('a gateway applies only the intents that its setting allows, and commands only if it names them', async () => {
  const setting = (allowed: string | undefined) => readConfig({ CARTBARN_UPSTREAM_INTENTS: allowed })
  const { upstreamIntents } = g.config
  await g.register('careful-1', 'cartcaddie')
  const intents: [string, Record<string, unknown>][] = [
    ['command.send', { hardware_id: 'careful-1', command: 'unlock' }],
    ['config.set', { hardware_id: 'careful-1', config: { beep: 1 } }],
    ['geofence.put', { group_id: await newGroup(), geofences: zones('Careful') }],
    ['resend', {}],
  ]
  const outcomes: Record<string, (string | null)[]> = {}
  try {
    for (const allowed of [undefined, 'none', 'all']) {
      await g.restart(() => Object.assign(g.config, { upstreamIntents: setting(allowed).upstreamIntents }))
      outcomes[allowed ?? 'default'] = await Promise.all(
        intents.map(async ([kind, body]) => {
          const result = await receive(kind, body)
          assertReportedOnce(result)
          return result.reason ?? result.status
        }),
      )
    }
  } finally {
    await g.restart(() => Object.assign(g.config, { upstreamIntents }))
  }
  const none = 'this gateway accepts no intents from the hub (CARTBARN_UPSTREAM_INTENTS=none)'
  const noCommands = 'this gateway accepts no commands from the hub (CARTBARN_UPSTREAM_INTENTS=config)'
  assert.deepEqual(outcomes, {
    default: [noCommands, 'applied', 'applied', 'applied'],
    none: [none, none, none, none],
    all: ['applied', 'applied', 'applied', 'applied'],
  })
})

test('an intent with the id of an existing command is rejected', async () => {
  await g.register('twice-1', 'cartcaddie')
  const body = { hardware_id: 'twice-1', command: 'unlock' }
  const { body: local } = await g.request('POST', '/devices/twice-1/commands', { body: { command: 'lock' } })
  const result = await receive('command.send', body, { intent_id: local.command_id })
  assert.equal(result.status, 'rejected')
  assertReportedOnce(result)
})

test('while the time is unknown, commands are rejected and configurations are set', async () => {
  await g.register('timeless-1', 'cartcaddie')
  const nowMs = clock.nowMs()
  await g.restart(() => clock.set(0))
  try {
    const config = { hardware_id: 'timeless-1', config: { beep: 1 } }
    assert.equal((await receive('config.set', config, { expires_at_ms: 1 })).status, 'applied')
    const command = { hardware_id: 'timeless-1', command: 'unlock' }
    const expiresAtMs = nowMs + HOUR_MS
    const { status, reason } = await receive('command.send', command, { expires_at_ms: expiresAtMs })
    assert.deepEqual([status, reason], ['rejected', 'the clock of the gateway is not set'])
  } finally {
    await g.restart(() => clock.set(nowMs))
  }
})
