import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { AUDIT_ACTIONS } from '#shared/audit-actions.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { png } from '#shared/testing/images.ts'
import { MINUTE_MS, toIso } from '#shared/time.ts'
import type { AuditEntryJson } from '#shared/wire/audit-log.ts'
import { operations } from '#shared/wire/operations.ts'
import { Barn } from '#testing/course/barn.ts'
import { box, circle, collection } from '#testing/course/features.ts'
import { ok, pluck, publish, scene } from '#testing/scene.ts'

const knownActions: ReadonlySet<string> = new Set(AUDIT_ACTIONS)
const KEY = 'enrolment-key-of-the-course-0123'
const { g, clock, fresh, onlyFor } = scene({
  settings: { CARTBARN_ENROLMENT_KEY: KEY, CARTBARN_SMTP_URL: 'smtp://127.0.0.1:9', CARTBARN_SMTP_FROM: 'a@b.example' },
  inScope: [],
})
let adminId: string

before(async () => {
  adminId = await g.adminId()
})

type Entry = Omit<AuditEntryJson, 'before' | 'after'> & Record<'before' | 'after', Record<string, unknown> | null>
const entries = async (query = '?limit=1000'): Promise<Entry[]> => (await ok(g.get(`/audit-log${query}`))).entries

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
const ZONES = collection(circle('barn', { enabled: true, visible: true }))
/** Puts one zone of the site with this id. */
const putZones = (id: string) => ok(g.put('/zones', collection(circle(id)), { headers: { 'if-match': '*' } }))
const LINE = { type: 'LineString', coordinates: box(-81.58, 28.41, -81.57, 28.42).slice(0, 2) }
const COURSE = collection({ type: 'Feature', properties: { golf: 'hole', ref: '7' }, geometry: LINE })
async function putPhoto() {
  const corners = encodeURIComponent('28.42,-81.59;28.42,-81.57;28.40,-81.57;28.40,-81.59')
  const image = png()
  await ok(g.put(`/course/photo?corners=${corners}`, image, { headers: { 'content-type': image.type } }))
}
/** Address without a listener. */
const NOWHERE = 'http://127.0.0.1:9/hook'
const newWebhook = async () => (await does('POST', '/webhooks', { url: NOWHERE })).webhook.webhook_id
const newNotifier = async () =>
  (await does('POST', '/notifiers', { channel: 'ntfy', to: NOWHERE })).notifier.notifier_id
const TYPE = { description: 'A mower', defaults: {}, commands: {}, config_schema: { type: 'object', properties: {} } }
const RECORDS = { gps: [{ timestamp: '2026-04-01T00:00:00Z', lat: 1, long: 1 }] }
const newMailReport = async () =>
  (await does('POST', '/mail-reports', { to: 'a@b.example', report: 'day' })).report.report_id
type Prepare = () => Promise<unknown>
const nothing = async () => []
const newUser = async () => (await g.createUser({})).userId
const newSession = async () => (await g.signIn()).sessionId
const newRequest = async () => (await does('POST', '/access-requests', { name: 'Tablet' })).request_id
const newMember = async () => {
  const ids = [await newGroup(), await newDevice()]
  await does('PUT', `/groups/${ids[0]}/devices/${ids[1]}`)
  return ids
}
/** Returns a device whose first command has ended, because there is a second, and that command. */
const newEndedCommand = async () => {
  const id = await newDevice()
  const { command_id } = await does('POST', `/devices/${id}/commands`, { command: 'unlock' })
  await does('POST', `/devices/${id}/commands`, { command: 'lock' })
  return command_id
}
const newTypeConfig = async () => {
  const id = await newGroup()
  await does('PUT', `/groups/${id}/config/teebox`, { a: 1 })
  return [id, 'teebox']
}
const newConfig = async () => {
  const id = await newDevice()
  await does('PUT', `/devices/${id}/config`, { a: 1 })
  return id
}
const newZones = async () => {
  const id = fresh('700')
  await does('PUT', `/geofences/${id}`, ZONES)
  return id
}

const newParty = async (body: object = {}) => (await does('POST', '/parties', body)).party.party_id
const newHandOut = async () => newParty({ carts: [{ cart: await newDevice() }], unlock: false })

const newEntry = async () => {
  const body = { cart: await newDevice(), what: 'Brakes adjusted' }
  return (await does('POST', '/service-entries', body)).entry_id
}
const newPlan = async () => (await does('POST', '/service-plans', { name: 'Brakes', every: { days: 90 } })).plan_id

/** Operations that change data: each row prepares what the operation needs and returns its ids; then the body. */
const ROWS: Record<string, [prepare: Prepare, body?: unknown]> = {
  'PATCH /devices/{id}': [newDevice, { name: 'Ann' }],
  'PUT /devices/{id}': [newDevice, { device_type: 'teebox', name: 'Bob', group_id: null }],
  'DELETE /devices/{id}': [newDevice],
  'POST /devices/{id}/rotate-mqtt-password': [newDevice],
  'POST /devices/{id}/telemetry/import': [newDevice, RECORDS],
  'DELETE /devices/{id}/telemetry': [newDevice],
  'DELETE /devices/{id}/telemetry/gps': [newDevice],
  'DELETE /devices/{id}/telemetry/battery': [newDevice],
  'POST /telemetry/purge': [nothing, { older_than_days: 30 }],
  'POST /enrolment': [nothing, { minutes: 1_440 }],
  'POST /erasures': [nothing, { person: 'Jane Doe' }],
  'PATCH /users/{id}': [newUser, { is_active: false }],
  'DELETE /users/{id}': [newUser],
  'POST /users/{id}/rotate-key': [newUser],
  'PUT /users/{id}/pin': [newUser, { pin: '1234' }],
  'POST /recall': [() => g.remove('/recall')],
  'DELETE /recall': [() => g.post('/recall')],
  'PUT /texts': [nothing, [{ text_id: 'fog', en: 'Fog', de: 'Nebel' }]],
  'POST /parties': [nothing, { players: ['Ann'] }],
  'PATCH /parties/{id}': [() => newParty(), { players: ['Ann'] }],
  'DELETE /parties/{id}': [() => newParty()],
  'POST /parties/{id}/return': [newHandOut, {}],
  'POST /parties/{id}/notes': [() => newParty(), { text: 'Asked to keep up' }],
  'PATCH /service-entries/{id}': [newEntry, { what: 'Brakes replaced', note: 'both' }],
  'DELETE /service-entries/{id}': [newEntry],
  'POST /service-plans': [nothing, { name: 'Tyres', every: { km: 900 } }],
  'PATCH /service-plans/{id}': [newPlan, { every: { hours: 90 } }],
  'DELETE /service-plans/{id}': [newPlan],
  'PATCH /carts/{cart}': [newDevice, { note: 'squeaks' }],
  'DELETE /webhooks/{id}': [newWebhook],
  'POST /webhooks/{id}/test': [newWebhook],
  'PATCH /notifiers/{id}': [newNotifier, { kinds: ['disk'] }],
  'DELETE /notifiers/{id}': [newNotifier],
  'POST /notifiers/{id}/test': [newNotifier],
  'PATCH /mail-reports/{id}': [newMailReport, { at: '07:00' }],
  'DELETE /mail-reports/{id}': [newMailReport],
  'POST /mail-reports/{id}/test': [newMailReport],
  'PATCH /site': [nothing, { name: 'Links' }],
  'POST /alerts/{id}/acknowledge': [newAlert, { note: 'on it' }],
  'POST /alerts/{id}/close': [newAlert],
  'DELETE /sessions/{id}': [newSession],
  'POST /access-requests': [nothing, { name: 'Tablet' }],
  'DELETE /access-requests/{id}': [newRequest],
  'PATCH /groups/{groupId}': [newGroup, { name: 'Other' }],
  'DELETE /groups/{groupId}': [newGroup],
  'PUT /groups/{groupId}/devices/{id}': [async () => [await newGroup(), await newDevice()]],
  'DELETE /groups/{groupId}/devices/{id}': [newMember],
  'POST /devices/{id}/commands': [newDevice, { command: 'locate' }],
  'POST /commands/{id}/retry': [newEndedCommand],
  'POST /groups/{groupId}/commands': [newMember, { command: 'locate' }],
  'PUT /device-types/{type}': [async () => fresh('mower'), TYPE],
  'PUT /groups/{groupId}/config/{type}': [async () => [await newGroup(), 'teebox'], { a: 1 }],
  'DELETE /groups/{groupId}/config/{type}': [newTypeConfig],
  'PUT /devices/{id}/config': [newDevice, { a: 1 }],
  'DELETE /devices/{id}/config': [newConfig],
  'PUT /course': [nothing, COURSE],
  'DELETE /course': [() => does('PUT', '/course', COURSE)],
  'DELETE /course/photo': [putPhoto],
  'PUT /groups/{groupId}/geofences': [newGroup, ZONES],
  'PUT /geofences/{id}': [async () => fresh('700'), ZONES],
  'DELETE /geofences/{id}': [newZones],
}

/** Operations whose call a row cannot say: each function prepares it and returns it. */
const CALLS: Record<string, () => Promise<Prepare>> = {
  'POST /devices': async () => newDevice,
  'POST /devices/import': async () => () => {
    const body = `hardware_id,device_type\n${fresh('cart')},teebox\n`
    return g.post('/devices/import', body, { headers: { 'content-type': 'text/csv' } })
  },
  'POST /clock/confirm': async () => () => does('POST', '/clock/confirm', { time: toIso(clock.nowMs()) }),
  'POST /users': async () => newUser,
  'POST /webhooks': async () => newWebhook,
  'POST /notifiers': async () => newNotifier,
  'POST /mail-reports': async () => newMailReport,
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
  'POST /pairing-codes': async () => () => does('POST', '/pairing-codes', { user_id: adminId, name: 'Tablet' }),
  'POST /access-requests/{id}/allow': async () => {
    const id = await newRequest()
    return () => does('POST', `/access-requests/${id}/allow`, { user_id: adminId })
  },
  'POST /groups': async () => newGroup,
  'POST /parties/{id}/carts': async () => {
    const [id, cart] = [await newParty(), await newDevice()]
    return () => does('POST', `/parties/${id}/carts`, { carts: [{ cart }], unlock: false })
  },
  'POST /parties/import': async () => () => {
    const body = `tee_time,players\n2026-05-01T${String(clock.nowMs() % 24).padStart(2, '0')}:00:00Z,Ann\n`
    return g.post('/parties/import', body, { headers: { 'content-type': 'text/csv' } })
  },
  'POST /service-entries': async () => {
    const cart = await newDevice()
    return () => does('POST', '/service-entries', { cart, what: 'Washed' })
  },
  'POST /carts/lock': async () => {
    const barn = await Barn.draw(g)
    const cart = await barn.cart(fresh('cart'))
    await cart.at('barn')
    return () => does('POST', '/carts/lock', { carts: [cart.hardwareId] })
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
  'PUT /course/photo': async () => putPhoto,
}

/** Prepares an operation; returns its call. */
async function prepared(operation: string): Promise<Prepare> {
  const [row, call] = [ROWS[operation], CALLS[operation]]
  if (call !== undefined) return call()
  assert.ok(row !== undefined, `say here how ${operation} changes something, or why it does not`)
  const [prepare, body] = row
  const ids = [await prepare()].flat()
  const [method = '', path = ''] = operation.split(' ')
  return () =>
    does(
      method,
      path.replaceAll(/\{\w+\}/g, () => String(ids.shift())),
      body,
    )
}

/** Operations that change nothing a person decides, with the reason. */
const CHANGES_NOTHING: Record<string, string> = {
  'POST /sync/audit': 'compares, and sends what is missing',
  'POST /sync/receipts': 'notes what the head office has',
  'POST /course/propose-zones': 'answers zones that somebody may save',
  'POST /setup/backups': 'reads what backups hold',
  'PUT /setup/upload': 'keeps a file for a day, for a restore that replaces the log',
  'DELETE /mqtt/clients/{client_id}': 'closes a connection, which the client may open again',
}

/** Operations that need a gateway of their own, and the tests that check their entries. */
const ELSEWHERE: Record<string, string> = {
  'POST /messages': 'messages/messages.test.ts: with the commands that show it',
  'POST /machine/confirm': 'machine/machine.test.ts: on another machine',
  'POST /repairs/accept': '../damaged-rows.test.ts: with damage',
  'POST /tls/renew': 'machine/repairs.test.ts: with a certificate',
  'POST /backups': 'machine/backups.test.ts: with a target',
  'POST /setup/restore': 'machine/restore.test.ts: the gateway restarts',
  'POST /sessions/current/key': '../first-run.test.ts: of the browser that sets up',
}

/** Operation without an authenticated user. */
const WITHOUT_USER = 'POST /access-requests'

for (const operation of Object.keys(operations).filter((name) => !name.startsWith('GET '))) {
  if (operation in CHANGES_NOTHING || operation in ELSEWHERE) continue
  test(`${operation} is entered with the user who did it`, async () => {
    const [entry, ...others] = await entered(await prepared(operation))
    assert.ok(entry !== undefined, 'nothing was entered')
    assert.deepEqual(others, [])
    const userId = operation === WITHOUT_USER ? null : adminId
    assert.deepEqual([entry.user_id, entry.address], [userId, 'unknown'])
    assert.ok(knownActions.has(entry.action), `AUDIT_ACTIONS lacks ${entry.action}`)
    assert.equal(entry.at, toIso(clock.nowMs()))
  })
}

onlyFor('admins', ['GET', '/audit-log'])

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
