import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { AUDIT_ACTIONS } from '#shared/audit-actions.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { png } from '#shared/testing/images.ts'
import { MINUTE_MS, toIso } from '#shared/time.ts'
import { operations } from '#shared/wire/operations.ts'
import { createCallers, REFUSED_AS_NO_ADMIN } from '#testing/callers.ts'
import { Barn } from '#testing/course/barn.ts'
import { fails, ok, pluck, publish, scene } from '#testing/scene.ts'

const knownActions: ReadonlySet<string> = new Set(AUDIT_ACTIONS)
const KEY = 'enrolment-key-of-the-course-0123'
const { g, clock, fresh } = scene({ settings: { CARTBARN_ENROLMENT_KEY: KEY } })
let adminId: string

before(async () => {
  adminId = await g.adminId()
})

interface Entry {
  entry_id: string
  at: string
  user_id: string | null
  address: string | null
  action: string
  target: string
  before: Record<string, unknown> | null
  after: Record<string, unknown> | null
}

async function entries(query = '?limit=1000'): Promise<Entry[]> {
  const body = await ok(g.get(`/audit-log${query}`))
  return body.entries
}

/** Returns the entries written while `work` ran, oldest first. */
async function entered(work: () => Promise<unknown>): Promise<Entry[]> {
  const known = new Set((await entries()).map(({ entry_id }) => entry_id))
  await work()
  return (await entries()).filter(({ entry_id }) => !known.has(entry_id)).reverse()
}

async function does(method: string, path: string, body?: unknown) {
  const answer = await g.request(method, path, { body })
  assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
  return answer.body
}

async function newDevice(): Promise<string> {
  const hardwareId = fresh('cart')
  await g.register(hardwareId)
  return hardwareId
}
/** Opens an alert for a cart with a low battery. */
async function newAlert(): Promise<string> {
  const hardwareId = fresh('cart')
  const device = await g.device(hardwareId)
  const report = (fields: object) =>
    publish(device, `dev/${hardwareId}/tlm`, { ts: clock.nowMs(), lat: 0.1, long: 0.1, speed: 0, ...fields })
  await does('PATCH', '/site', { pack: { low_v: 48 } })
  await report({})
  clock.advance(6 * MINUTE_MS)
  await report({ battery_voltage: 47 })
  const alerts = async () => (await does('GET', `/alerts?kind=low_battery&cart=${hardwareId}`)).alerts
  await eventually(async () => (await alerts()).length > 0, 'the alert')
  return (await alerts())[0].alert_id
}
const newGroup = async () => (await does('POST', '/groups', { name: fresh('group') })).group_id
const newCommand = async (id: string) =>
  (await does('POST', `/devices/${id}/commands`, { command: 'locate' })).command_id

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
/** Puts one zone of the site with this id. */
async function putZones(id: string) {
  const features = ZONES.features.map((feature) => ({ ...feature, id }))
  const answer = await g.put('/zones', { ...ZONES, features }, { headers: { 'if-match': '*' } })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body
}
const COURSE = {
  type: 'FeatureCollection',
  features: [
    {
      type: 'Feature',
      properties: { golf: 'hole', ref: '7' },
      geometry: {
        type: 'LineString',
        coordinates: [
          [-81.58, 28.41],
          [-81.57, 28.41],
        ],
      },
    },
  ],
}
async function putPhoto() {
  const corners = encodeURIComponent('28.42,-81.59;28.42,-81.57;28.40,-81.57;28.40,-81.59')
  const image = png()
  const headers = { 'content-type': image.type }
  await ok(g.put(`/course/photo?corners=${corners}`, image, { headers }))
}
/** Address without a listener. */
const NOWHERE = 'http://127.0.0.1:9/hook'
const newWebhook = async () => (await does('POST', '/webhooks', { url: NOWHERE })).webhook.webhook_id
const newNotifier = async () =>
  (await does('POST', '/notifiers', { channel: 'ntfy', to: NOWHERE })).notifier.notifier_id
const TYPE = { description: 'A mower', defaults: {}, commands: {}, config_schema: { type: 'object', properties: {} } }
const RECORDS = { gps: [{ timestamp: '2026-04-01T00:00:00Z', lat: 1, long: 1 }] }

/** Operations that change data: each function prepares what the operation needs and returns the call. */
const CHANGES: Record<string, () => Promise<() => Promise<unknown>>> = {
  'POST /devices': async () => newDevice,
  'POST /devices/import': async () => () => {
    const headers = { 'content-type': 'text/csv' }
    const body = `hardware_id,device_type\n${fresh('cart')},teebox\n`
    return g.post('/devices/import', body, { headers })
  },
  'PATCH /devices/{id}': async () => {
    const id = await newDevice()
    return () => does('PATCH', `/devices/${id}`, { name: 'Ann' })
  },
  'PUT /devices/{id}': async () => {
    const id = await newDevice()
    return () => does('PUT', `/devices/${id}`, { device_type: 'teebox', name: 'Bob', group_id: null })
  },
  'DELETE /devices/{id}': async () => {
    const id = await newDevice()
    return () => does('DELETE', `/devices/${id}`)
  },
  'POST /devices/{id}/rotate-mqtt-password': async () => {
    const id = await newDevice()
    return () => does('POST', `/devices/${id}/rotate-mqtt-password`)
  },
  'POST /devices/{id}/telemetry/import': async () => {
    const id = await newDevice()
    return () => does('POST', `/devices/${id}/telemetry/import`, RECORDS)
  },
  'DELETE /devices/{id}/telemetry': async () => {
    const id = await newDevice()
    return () => does('DELETE', `/devices/${id}/telemetry`)
  },
  'DELETE /devices/{id}/telemetry/gps': async () => {
    const id = await newDevice()
    return () => does('DELETE', `/devices/${id}/telemetry/gps`)
  },
  'DELETE /devices/{id}/telemetry/battery': async () => {
    const id = await newDevice()
    return () => does('DELETE', `/devices/${id}/telemetry/battery`)
  },
  'POST /telemetry/purge': async () => () => does('POST', '/telemetry/purge', { older_than_days: 30 }),
  'POST /clock/confirm': async () => () => does('POST', '/clock/confirm', { time: toIso(clock.nowMs()) }),
  'POST /enrolment': async () => () => does('POST', '/enrolment', { minutes: 1_440 }),
  'POST /erasures': async () => () => does('POST', '/erasures', { person: 'Jane Doe' }),
  'POST /users': async () => () => g.createUser({}),
  'PATCH /users/{id}': async () => {
    const { userId } = await g.createUser({})
    return () => does('PATCH', `/users/${userId}`, { is_active: false })
  },
  'DELETE /users/{id}': async () => {
    const { userId } = await g.createUser({})
    return () => does('DELETE', `/users/${userId}`)
  },
  'POST /users/{id}/rotate-key': async () => {
    const { userId } = await g.createUser({})
    return () => does('POST', `/users/${userId}/rotate-key`)
  },
  'PUT /users/{id}/pin': async () => {
    const { userId } = await g.createUser({})
    return () => does('PUT', `/users/${userId}/pin`, { pin: '1234' })
  },
  'POST /recall': async () => {
    await g.remove('/recall')
    return () => does('POST', '/recall')
  },
  'DELETE /recall': async () => {
    await g.post('/recall')
    return () => does('DELETE', '/recall')
  },
  'PATCH /carts/{cart}': async () => {
    const id = await newDevice()
    return () => does('PATCH', `/carts/${id}`, { note: 'squeaks' })
  },
  'POST /webhooks': async () => newWebhook,
  'DELETE /webhooks/{id}': async () => {
    const id = await newWebhook()
    return () => does('DELETE', `/webhooks/${id}`)
  },
  'POST /webhooks/{id}/test': async () => {
    const id = await newWebhook()
    return () => does('POST', `/webhooks/${id}/test`)
  },
  'POST /notifiers': async () => newNotifier,
  'PATCH /notifiers/{id}': async () => {
    const id = await newNotifier()
    return () => does('PATCH', `/notifiers/${id}`, { kinds: ['disk'] })
  },
  'DELETE /notifiers/{id}': async () => {
    const id = await newNotifier()
    return () => does('DELETE', `/notifiers/${id}`)
  },
  'POST /notifiers/{id}/test': async () => {
    const id = await newNotifier()
    return () => does('POST', `/notifiers/${id}/test`)
  },
  'PATCH /site': async () => () => does('PATCH', '/site', { name: fresh('links') }),
  'POST /alerts/{id}/acknowledge': async () => {
    const id = await newAlert()
    return () => does('POST', `/alerts/${id}/acknowledge`, { note: 'on it' })
  },
  'POST /alerts/{id}/close': async () => {
    const id = await newAlert()
    return () => does('POST', `/alerts/${id}/close`)
  },
  'POST /sessions': async () => () => g.signIn(),
  'DELETE /sessions/current': async () => {
    const browser = await g.signIn()
    return () => browser.remove('/sessions/current')
  },
  'POST /sessions/current/person': async () => {
    const browser = await g.signIn()
    await does('PUT', `/users/${adminId}/pin`, { pin: '1234' })
    return () => browser.act(adminId, '1234')
  },
  'DELETE /sessions/current/person': async () => {
    const browser = await g.signIn()
    await does('PUT', `/users/${adminId}/pin`, { pin: '1234' })
    await browser.act(adminId, '1234')
    return () => browser.remove('/sessions/current/person')
  },
  'DELETE /sessions/{id}': async () => {
    const { sessionId } = await g.signIn()
    return () => does('DELETE', `/sessions/${sessionId}`)
  },
  'POST /pairing-codes': async () => () => does('POST', '/pairing-codes', { user_id: adminId, name: 'Tablet' }),
  'POST /access-requests': async () => () => does('POST', '/access-requests', { name: 'Tablet' }),
  'POST /access-requests/{id}/allow': async () => {
    const { request_id } = await does('POST', '/access-requests', { name: 'Tablet' })
    return () => does('POST', `/access-requests/${request_id}/allow`, { user_id: adminId })
  },
  'DELETE /access-requests/{id}': async () => {
    const { request_id } = await does('POST', '/access-requests', { name: 'Tablet' })
    return () => does('DELETE', `/access-requests/${request_id}`)
  },
  'POST /groups': async () => newGroup,
  'PATCH /groups/{groupId}': async () => {
    const id = await newGroup()
    return () => does('PATCH', `/groups/${id}`, { name: 'Other' })
  },
  'DELETE /groups/{groupId}': async () => {
    const id = await newGroup()
    return () => does('DELETE', `/groups/${id}`)
  },
  'PUT /groups/{groupId}/devices/{id}': async () => {
    const [group, id] = [await newGroup(), await newDevice()]
    return () => does('PUT', `/groups/${group}/devices/${id}`)
  },
  'DELETE /groups/{groupId}/devices/{id}': async () => {
    const [group, id] = [await newGroup(), await newDevice()]
    await does('PUT', `/groups/${group}/devices/${id}`)
    return () => does('DELETE', `/groups/${group}/devices/${id}`)
  },
  'POST /devices/{id}/commands': async () => {
    const id = await newDevice()
    return () => newCommand(id)
  },
  'POST /commands/{id}/retry': async () => {
    const id = await newDevice()
    const command = (await does('POST', `/devices/${id}/commands`, { command: 'unlock' })).command_id
    // ends the previous command
    await does('POST', `/devices/${id}/commands`, { command: 'lock' })
    return () => does('POST', `/commands/${command}/retry`)
  },
  'POST /groups/{groupId}/commands': async () => {
    const [group, id] = [await newGroup(), await newDevice()]
    await does('PUT', `/groups/${group}/devices/${id}`)
    return () => does('POST', `/groups/${group}/commands`, { command: 'locate' })
  },
  'POST /carts/lock': async () => {
    const barn = await Barn.draw(g)
    const cart = await barn.cart(fresh('cart'))
    await cart.at('barn')
    return () => does('POST', '/carts/lock', { carts: [cart.hardwareId] })
  },
  'PUT /device-types/{type}': async () => () => does('PUT', `/device-types/${fresh('mower')}`, TYPE),
  'PUT /groups/{groupId}/config/{type}': async () => {
    const id = await newGroup()
    return () => does('PUT', `/groups/${id}/config/teebox`, { a: 1 })
  },
  'DELETE /groups/{groupId}/config/{type}': async () => {
    const id = await newGroup()
    await does('PUT', `/groups/${id}/config/teebox`, { a: 1 })
    return () => does('DELETE', `/groups/${id}/config/teebox`)
  },
  'PUT /devices/{id}/config': async () => {
    const id = await newDevice()
    return () => does('PUT', `/devices/${id}/config`, { a: 1 })
  },
  'DELETE /devices/{id}/config': async () => {
    const id = await newDevice()
    await does('PUT', `/devices/${id}/config`, { a: 1 })
    return () => does('DELETE', `/devices/${id}/config`)
  },
  'PUT /zones': async () => () => putZones(fresh('barn')),
  'POST /zones/switch': async () => {
    const id = fresh('barn')
    await putZones(id)
    return () => does('POST', '/zones/switch', { zone_ids: [id], enabled: false })
  },
  'POST /zones/versions/{version}/restore': async () => {
    const { version } = await putZones(fresh('barn'))
    await putZones(fresh('barn'))
    return () => does('POST', `/zones/versions/${version}/restore`)
  },
  'PUT /course': async () => () => does('PUT', '/course', COURSE),
  'DELETE /course': async () => {
    await does('PUT', '/course', COURSE)
    return () => does('DELETE', '/course')
  },
  'PUT /course/photo': async () => putPhoto,
  'DELETE /course/photo': async () => {
    await putPhoto()
    return () => does('DELETE', '/course/photo')
  },
  'PUT /groups/{groupId}/geofences': async () => {
    const id = await newGroup()
    return () => does('PUT', `/groups/${id}/geofences`, ZONES)
  },
  'PUT /geofences/{id}': async () => () => does('PUT', `/geofences/${fresh('700')}`, ZONES),
  'DELETE /geofences/{id}': async () => {
    const id = fresh('700')
    await does('PUT', `/geofences/${id}`, ZONES)
    return () => does('DELETE', `/geofences/${id}`)
  },
}

/** Operations that change nothing a person decides, with the reason. */
const CHANGES_NOTHING: Record<string, string> = {
  'POST /sync/audit': 'compares, and sends what is missing',
  'POST /sync/receipts': 'notes what the head office has',
  'POST /course/propose-zones': 'answers zones that somebody may save',
  'DELETE /mqtt/clients/{client_id}': 'closes a connection, which the client may open again',
}

/** Operations that need a gateway of their own, and the tests that check their entries. */
const ELSEWHERE: Record<string, string> = {
  'POST /machine/confirm': 'machine/machine.test.ts: on another machine',
  'POST /backups': 'machine/backups.test.ts: with a target',
  'POST /sessions/current/key': '../first-run.test.ts: of the browser that sets up',
}

/** Operation without an authenticated user. */
const WITHOUT_USER = 'POST /access-requests'

for (const operation of Object.keys(operations).filter((name) => !name.startsWith('GET '))) {
  if (operation in CHANGES_NOTHING || operation in ELSEWHERE) continue
  test(`${operation} is entered with the user who did it`, async () => {
    const prepare = CHANGES[operation]
    assert.ok(prepare !== undefined, `say here how ${operation} changes something, or why it does not`)
    const change = await prepare()
    const [entry, ...others] = await entered(change)
    assert.ok(entry !== undefined, 'nothing was entered')
    assert.deepEqual(others, [])
    const userId = operation === WITHOUT_USER ? null : adminId
    assert.deepEqual([entry.user_id, entry.address], [userId, 'unknown'])
    assert.ok(knownActions.has(entry.action), `AUDIT_ACTIONS lacks ${entry.action}`)
    assert.equal(entry.at, toIso(clock.nowMs()))
  })
}

for (const [who, status, code] of REFUSED_AS_NO_ADMIN)
  test(`${who} gets ${status} ${code}`, async () => {
    const keys = await createCallers(g, [])
    await fails(g.get('/audit-log', { key: keys[who] }), status, code)
    clock.advance(MINUTE_MS)
  })

test('an entry has the changed fields, before and after, and no secret', async () => {
  const id = fresh('cart')
  let password = ''
  let apiKey = ''
  const all = await entered(async () => {
    password = await g.register(id)
    await does('PATCH', `/devices/${id}`, { name: 'Ann' })
    const { userId, key } = await g.createUser({ name: 'Kiosk', email: 'a@b.example' })
    apiKey = key
    await does('PATCH', `/users/${userId}`, { is_active: false, name: 'Kiosk' })
    apiKey += (await does('POST', `/users/${userId}/rotate-key`)).api_key
    password += (await does('POST', `/devices/${id}/rotate-mqtt-password`)).mqtt.password
    await does('DELETE', `/devices/${id}`)
  })
  assert.deepEqual(pluck(all, 'action'), [
    'device.created',
    'device.updated',
    'user.created',
    'user.updated',
    'key.rotated',
    'device.password_rotated',
    'device.deleted',
  ])
  const [created, named, , disabled, , , deleted] = all
  assert.deepEqual([created?.before, created?.after?.hardware_id], [null, id])
  assert.deepEqual([named?.before, named?.after, named?.target], [{ name: null }, { name: 'Ann' }, id])
  assert.deepEqual([disabled?.before, disabled?.after], [{ is_active: true }, { is_active: false }])
  assert.deepEqual([deleted?.before?.name, deleted?.after], ['Ann', null])
  const text = JSON.stringify(all)
  for (const secret of [apiKey.slice(0, 47), apiKey.slice(47), password.slice(0, 20), 'hash', 'flt_'])
    assert.ok(!text.includes(secret), secret)
})

test('a rejected request, or one that changes nothing, is not entered', async () => {
  const { userId } = await g.createUser({ name: 'Same' })
  const all = await entered(async () => {
    await does('PATCH', `/users/${userId}`, { name: 'Same' })
    await g.remove(`/users/${adminId}`)
    await g.post('/groups', {})
    await g.get('/devices')
  })
  assert.deepEqual(all, [])
})

test('a command entry has its sender over HTTP and /realtime, and neither params nor metadata', async () => {
  const id = await newDevice()
  const users = await Promise.all([1, 2, 3].map(() => g.createUser({ allowed_hardware_ids: [id] })))
  const sockets = await Promise.all(users.map(({ key }) => g.realtime(key)))
  const all = await entered(async () => {
    const asked = users.flatMap(({ key }, i) => {
      const body = { command: 'locate', metadata: { name: 'Jane Doe' } }
      sockets[i]?.send({ type: 'command', hardwareId: id, ...body })
      return [1, 2, 3].map(() => g.post(`/devices/${id}/commands`, body, { key }))
    })
    await Promise.all([...asked, ...sockets.map((socket) => socket.next('command_sent'))])
  })
  assert.equal(all.length, 12)
  const { body } = await g.get(`/devices/${id}/commands?limit=100`)
  for (const command of body.commands) {
    const entry = all.find(({ target }) => target === command.command_id)
    assert.deepEqual([entry?.action, entry?.user_id], ['command.created', command.requested_by])
    assert.deepEqual(entry?.after?.hardware_id, id)
  }
  assert.equal(all.filter(({ address }) => address === '127.0.0.1').length, 3)
  assert.ok(!JSON.stringify(all).includes('Jane'))
})

test('an entry for an intent of the head office or an enrolment has no user', async () => {
  const id = await newDevice()
  const intent = {
    intent_id: 'i1',
    seq: 1,
    kind: 'config.set',
    body: { hardware_id: id, config: { a: 2 } },
    issued_at_ms: clock.nowMs(),
    expires_at_ms: clock.nowMs() + MINUTE_MS,
    base_rev: null,
  }
  const [byIntent] = await entered(() => g.intents.receive(intent))
  assert.deepEqual(
    [byIntent?.action, byIntent?.target, byIntent?.user_id, byIntent?.address],
    ['config.created', id, null, 'head office'],
  )
  const [enrolled] = await entered(async () => {
    const client = await g.connect('enrolled-1', KEY)
    await publish(client, 'dev/enrolled-1/st', '{"online":true,"type":"teebox"}')
  })
  assert.deepEqual([enrolled?.action, enrolled?.target, enrolled?.user_id], ['device.created', 'enrolled-1', null])
})

test('the log is listed newest first, by page, time, user and action', async () => {
  clock.advance(MINUTE_MS)
  const fromMs = clock.nowMs()
  const id = await newDevice()
  clock.advance(MINUTE_MS)
  await does('PATCH', `/devices/${id}`, { name: 'Ann' })
  const actions = async (query: string) => (await entries(query)).map(({ action }) => action)
  const from = `from=${toIso(fromMs)}`
  assert.deepEqual(await actions(`?${from}`), ['device.updated', 'device.created'])
  assert.deepEqual(await actions(`?${from}&to=${toIso(fromMs)}`), ['device.created'])
  assert.deepEqual(await actions(`?${from}&limit=1&offset=1`), ['device.created'])
  assert.deepEqual(await actions(`?${from}&order=asc`), ['device.created', 'device.updated'])
  assert.deepEqual(await actions(`?${from}&action=device.updated&user_id=${adminId}`), ['device.updated'])
  assert.deepEqual(await actions(`?${from}&user_id=nobody`), [])
  assert.equal((await g.get(`/audit-log?from=${toIso(fromMs)}&to=2020-01-01`)).status, 400)
})

test('the CSV has the same page, and no cell is a formula', async () => {
  const id = '-1-1'
  await g.register(id)
  await does('PATCH', `/devices/${id}`, { name: 'a "quoted", name' })
  const { userId } = await g.createUser({ name: '=1+1' })
  const { headers, body } = await g.get('/audit-log?format=csv&limit=2')
  assert.match(headers.get('content-type') ?? '', /^text\/csv/)
  const [head, created, named, end] = body.split('\r\n')
  assert.equal(head, 'entry_id,at,user_id,person,session_id,address,action,target,before,after')
  assert.ok(created.includes(`,user.created,${userId},,"{`), created)
  assert.ok(named.endsWith(`,device.updated,'${id},"{""name"":null}","{""name"":""a \\""quoted\\"", name""}"`), named)
  assert.equal(end, '')
})
