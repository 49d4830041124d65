import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { FakeClock } from '#shared/testing/clocks.ts'
import { MINUTE_MS } from '#shared/time.ts'
import type { OperationName } from '#shared/wire/operation-types.ts'
import type { Role } from '#shared/wire/users.ts'
import { type Answer, startGateway, type TestGateway } from '#testing/start-gateway.ts'

/**
 * Rights per operation: the lowest role, or none if no key is needed; `device` for users whose device must also be in
 * scope. A missing operation does not compile.
 */
const RIGHTS: Record<OperationName, 'none' | Role | 'device'> = {
  'GET /health': 'none',
  'GET /stats': 'admin',
  'GET /backups': 'admin',
  'POST /backups': 'admin',
  'GET /setup/places': 'admin',
  'PUT /setup/upload': 'admin',
  'POST /setup/backups': 'admin',
  'POST /setup/restore': 'admin',
  'GET /setup/restore/{restore_id}': 'none',
  'GET /metrics': 'admin',
  'POST /clock/confirm': 'admin',
  'POST /machine/confirm': 'admin',
  'GET /tls': 'admin',
  'GET /repairs': 'admin',
  'POST /repairs/accept': 'admin',
  'POST /tls/renew': 'admin',
  'GET /site': 'staff',
  'GET /checklist': 'staff',
  'GET /parties': 'staff',
  'POST /parties': 'staff',
  'POST /parties/import': 'staff',
  'GET /parties/{id}': 'staff',
  'PATCH /parties/{id}': 'staff',
  'DELETE /parties/{id}': 'staff',
  'POST /parties/{id}/carts': 'staff',
  'POST /parties/{id}/return': 'staff',
  'POST /parties/{id}/notes': 'staff',
  'GET /service-entries': 'staff',
  'POST /service-entries': 'staff',
  'PATCH /service-entries/{id}': 'staff',
  'DELETE /service-entries/{id}': 'admin',
  'GET /service-plans': 'staff',
  'POST /service-plans': 'admin',
  'PATCH /service-plans/{id}': 'admin',
  'DELETE /service-plans/{id}': 'admin',
  'GET /service-due': 'staff',
  'GET /recall': 'staff',
  'POST /recall': 'staff',
  'DELETE /recall': 'staff',
  'POST /messages': 'staff',
  'GET /messages': 'staff',
  'GET /messages/{id}': 'staff',
  'GET /texts': 'staff',
  'PUT /texts': 'admin',
  'PATCH /site': 'admin',
  'GET /carts': 'user',
  // of a cart with a device in scope
  'GET /carts/{cart}': 'user',
  'PATCH /carts/{cart}': 'staff',
  'GET /carts/{cart}/meter': 'staff',
  'GET /carts/{cart}/track': 'user',
  'GET /replay': 'staff',
  'GET /devices': 'user',
  'POST /devices': 'admin',
  'POST /devices/import': 'admin',
  'GET /devices/{id}': 'device',
  'PATCH /devices/{id}': 'device',
  'PUT /devices/{id}': 'admin',
  'DELETE /devices/{id}': 'admin',
  'GET /devices/{id}/details': 'admin',
  'GET /devices/{id}/messages': 'admin',
  'POST /devices/{id}/rotate-mqtt-password': 'admin',
  'GET /enrolment': 'admin',
  'POST /enrolment': 'admin',
  'GET /devices/{id}/gps': 'device',
  'GET /devices/{id}/gps/latest': 'device',
  'GET /devices/{id}/battery': 'device',
  'GET /devices/{id}/battery/latest': 'device',
  'GET /devices/{id}/telemetry/stats': 'admin',
  'DELETE /devices/{id}/telemetry': 'admin',
  'DELETE /devices/{id}/telemetry/gps': 'admin',
  'DELETE /devices/{id}/telemetry/battery': 'admin',
  'POST /devices/{id}/telemetry/import': 'admin',
  'GET /telemetry/months': 'admin',
  'POST /telemetry/purge': 'admin',
  'GET /lock-events': 'user',
  'POST /erasures': 'admin',
  'POST /devices/{id}/commands': 'device',
  'GET /devices/{id}/commands': 'device',
  'GET /commands': 'staff',
  'GET /commands/{id}': 'user',
  'POST /commands/{id}/retry': 'admin',
  'POST /groups/{groupId}/commands': 'staff',
  'POST /carts/lock': 'staff',
  'GET /trips': 'user',
  'GET /pace': 'staff',
  'GET /rounds': 'user',
  'GET /rounds/active': 'user',
  'GET /trips/active': 'user',
  'GET /trips/{hardwareId}': 'device',
  'GET /trips/{hardwareId}/active': 'device',
  'GET /trips/{hardwareId}/summary': 'device',
  'GET /reports/utilisation': 'staff',
  'GET /reports/battery': 'staff',
  'GET /reports/day': 'staff',
  'GET /reports/month': 'staff',
  'GET /reports/traffic': 'staff',
  'GET /reports/silence': 'staff',
  'GET /alerts': 'user',
  'GET /alerts/{id}': 'user',
  'POST /alerts/{id}/acknowledge': 'staff',
  'POST /alerts/{id}/close': 'staff',
  'GET /users': 'admin',
  'POST /users': 'admin',
  'GET /users/{id}': 'admin',
  'PATCH /users/{id}': 'admin',
  'DELETE /users/{id}': 'admin',
  'POST /users/{id}/rotate-key': 'admin',
  // of another user
  'PUT /users/{id}/pin': 'admin',
  'GET /webhooks': 'admin',
  'POST /webhooks': 'admin',
  'DELETE /webhooks/{id}': 'admin',
  'POST /webhooks/{id}/test': 'admin',
  'GET /mail-reports': 'admin',
  'POST /mail-reports': 'admin',
  'PATCH /mail-reports/{id}': 'admin',
  'DELETE /mail-reports/{id}': 'admin',
  'POST /mail-reports/{id}/test': 'admin',
  'GET /notifiers': 'admin',
  'POST /notifiers': 'admin',
  'PATCH /notifiers/{id}': 'admin',
  'DELETE /notifiers/{id}': 'admin',
  'POST /notifiers/{id}/test': 'admin',
  'GET /audit-log': 'admin',
  'GET /me': 'user',
  'GET /people': 'user',
  'POST /sessions': 'none',
  'GET /sessions': 'admin',
  'GET /sessions/current': 'none',
  'DELETE /sessions/current': 'user',
  'POST /sessions/current/person': 'user',
  'POST /sessions/current/key': 'user',
  'DELETE /sessions/current/person': 'user',
  'DELETE /sessions/{id}': 'admin',
  'POST /pairing-codes': 'admin',
  'POST /access-requests': 'none',
  'GET /access-requests': 'admin',
  'POST /access-requests/{id}/allow': 'admin',
  'DELETE /access-requests/{id}': 'admin',
  'GET /groups': 'staff',
  'POST /groups': 'admin',
  'GET /groups/{groupId}': 'staff',
  'PATCH /groups/{groupId}': 'admin',
  'DELETE /groups/{groupId}': 'admin',
  'GET /groups/{groupId}/devices': 'staff',
  'PUT /groups/{groupId}/devices/{id}': 'admin',
  'DELETE /groups/{groupId}/devices/{id}': 'admin',
  'GET /device-types': 'staff',
  'GET /device-types/{type}': 'staff',
  'PUT /device-types/{type}': 'admin',
  'GET /groups/{groupId}/config': 'admin',
  'GET /groups/{groupId}/config/{type}': 'admin',
  'PUT /groups/{groupId}/config/{type}': 'admin',
  'DELETE /groups/{groupId}/config/{type}': 'admin',
  'GET /devices/{id}/config': 'admin',
  'PUT /devices/{id}/config': 'admin',
  'DELETE /devices/{id}/config': 'admin',
  'GET /groups/{groupId}/geofences': 'staff',
  'PUT /groups/{groupId}/geofences': 'admin',
  'GET /course': 'user',
  'PUT /course': 'admin',
  'DELETE /course': 'admin',
  'GET /course/photo': 'user',
  'PUT /course/photo': 'admin',
  'DELETE /course/photo': 'admin',
  'POST /course/propose-zones': 'admin',
  'GET /zones': 'user',
  'PUT /zones': 'admin',
  'POST /zones/switch': 'staff',
  'GET /zones/applied': 'staff',
  'GET /zones/versions': 'admin',
  'POST /zones/versions/{version}/restore': 'admin',
  'GET /geofences/{id}': 'admin',
  'PUT /geofences/{id}': 'admin',
  'DELETE /geofences/{id}': 'admin',
  // with a key instead of a token
  'GET /geofences/{id}/download': 'admin',
  'GET /geofence-events': 'user',
  'GET /mqtt/clients': 'admin',
  'DELETE /mqtt/clients/{client_id}': 'admin',
  'GET /mqtt/stats': 'admin',
  'GET /mqtt/addresses': 'admin',
  'GET /mqtt/quarantine': 'admin',
  'GET /sync/status': 'admin',
  'POST /sync/audit': 'admin',
  'GET /sync/export': 'admin',
  'POST /sync/receipts': 'admin',
}

const RANKS = { none: 0, user: 1, device: 1, staff: 2, admin: 3 } as const
const REFUSED: Partial<Record<string, string>> = { staff: 'staff_required', admin: 'admin_required' }

/** Users of the test: their stored scope, and the devices that they are to see. */
const WHO: Record<string, { role: Role; scope: readonly string[] | null; sees: readonly string[] }> = {
  'a user of one cart': { role: 'user', scope: ['cart-in'], sees: ['cart-in'] },
  'a user of all': { role: 'user', scope: ['*'], sees: ['cart-in', 'cart-out'] },
  'a user of none': { role: 'user', scope: null, sees: [] },
  'staff of one cart': { role: 'staff', scope: ['cart-in'], sees: ['cart-in'] },
  'staff of all': { role: 'staff', scope: ['*'], sees: ['cart-in', 'cart-out'] },
  'staff of none': { role: 'staff', scope: [], sees: [] },
  'an admin': { role: 'admin', scope: null, sees: ['cart-in', 'cart-out'] },
}

type Ask = (method: string, path: string, body?: unknown) => Promise<Answer>

const clock = new FakeClock()
let g: TestGateway
const users = new Map<string, { userId: string; key: string }>()

before(async () => {
  g = await startGateway({}, { clock })
  await g.request('POST', '/groups', { body: { name: 'Both', group_id: 7 } })
  await g.request('POST', '/groups', { body: { name: 'In', group_id: 8 } })
  for (const hardware_id of ['cart-in', 'cart-out'])
    await g.request('POST', '/devices', { body: { hardware_id, device_type: 'teebox', group_id: 7 } })
  for (const [who, { role, scope }] of Object.entries(WHO)) {
    const user = await g.createUser({ name: who, role, allowed_hardware_ids: scope })
    users.set(who, user)
    await g.request('PUT', `/users/${user.userId}/pin`, { body: { pin: '1234' } })
  }
})
after(() => g.stop())

function userOf(who: string): { userId: string; key: string } {
  const user = users.get(who)
  assert.ok(user !== undefined, who)
  return user
}

function withKey(key: string): Ask {
  return (method, path, body) => g.request(method, path, { key, ...(body === undefined ? {} : { body }) })
}

/** Bodies of requests that are otherwise rejected before the device is found. */
const BODIES: Partial<Record<string, object>> = { 'POST /devices/{id}/commands': { command: 'locate' } }

/** Returns each way to authenticate, with the resulting access. */
function doors(): [how: string, open: () => Promise<{ ask: Ask; role: Role; sees: readonly string[] }>][] {
  const byRow = Object.entries(WHO).flatMap(
    ([who, rights]): ReturnType<typeof doors> => [
      [`${who} with a key`, async () => ({ ask: withKey(userOf(who).key), ...rights })],
      [
        `${who} on a tablet`,
        async () => {
          const browser = await g.pair(userOf(who).userId)
          return { ask: (method, path, body) => browser.request(method, path, { body }), ...rights }
        },
      ],
    ],
  )
  const together: [tablet: string, person: string, role: Role, sees: readonly string[]][] = [
    ['an admin', 'staff of one cart', 'staff', ['cart-in']],
    ['an admin', 'a user of one cart', 'user', ['cart-in']],
    ['staff of all', 'an admin', 'staff', ['cart-in', 'cart-out']],
    ['a user of one cart', 'an admin', 'user', ['cart-in']],
    ['staff of one cart', 'a user of all', 'user', ['cart-in']],
  ]
  return [
    ...byRow,
    [
      'an admin on a tablet ten minutes later',
      async () => {
        const browser = await g.pair(userOf('an admin').userId)
        clock.advance(10 * MINUTE_MS)
        const ask: Ask = (method, path, body) => browser.request(method, path, { body })
        return { ask, role: 'staff', sees: ['cart-in', 'cart-out'] }
      },
    ],
    ...together.map(([tablet, person, role, sees]): ReturnType<typeof doors>[number] => [
      `${person} on the tablet of ${tablet}`,
      async () => {
        const browser = await g.pair(userOf(tablet).userId)
        assert.equal((await browser.act(userOf(person).userId, '1234')).status, 200)
        return { ask: (method, path, body) => browser.request(method, path, { body }), role, sees }
      },
    ]),
  ]
}

/** Operations that end the session or sign-in of their caller, need a key, or need the browser of the set-up. */
const NOT_BY_SESSION: readonly string[] = [
  'DELETE /sessions/current',
  'DELETE /sessions/current/person',
  'POST /sessions/current/key',
  'GET /geofences/{id}/download',
]

for (const [how, open] of doors()) {
  test(`every operation for ${how}`, async () => {
    const { ask, role, sees } = await open()
    for (const [name, lowest] of Object.entries(RIGHTS)) {
      if (!how.endsWith('with a key') && NOT_BY_SESSION.includes(name)) continue
      const [method = '', template = ''] = name.split(' ')
      const body = BODIES[name] ?? (['POST', 'PUT', 'PATCH'].includes(method) ? {} : undefined)
      const query = template.startsWith('/trips') ? '?from=2026-05-01&to=2026-05-02' : ''
      const path = template.replace('/geofences/{id}', '/geofences/7').replaceAll(/\{\w+\}/g, 'nothing')
      const { status, body: problem } = await ask(method, path + query, body)
      const isRefused = RANKS[role] < RANKS[lowest]
      const refusal = ['staff_required', 'admin_required'].includes(problem?.code) ? problem.code : undefined
      assert.equal(refusal, isRefused ? REFUSED[lowest] : undefined, `${name}: ${status}`)
      if (isRefused) assert.equal(status, 403, name)
      else assert.ok(status !== 401, `${name}: ${status}`)
      if (lowest !== 'device') continue
      for (const id of ['cart-in', 'cart-out']) {
        const answer = await ask(method, template.replaceAll(/\{\w+\}/g, id) + query, body)
        const isForbidden = answer.body?.code === 'device_forbidden'
        assert.equal(isForbidden, !sees.includes(id), `${name} of ${id}: ${answer.status}`)
      }
    }
  })

  test(`every list for ${how}`, async () => {
    const { ask, role, sees } = await open()
    const ids = (list: { hardware_id: string }[]) => [...new Set(list.map((one) => one.hardware_id))].sort()
    assert.deepEqual(ids((await ask('GET', '/devices')).body.devices), [...sees])
    const trips = await ask('GET', '/trips?from=2026-05-01&to=2026-05-02')
    const active = await ask('GET', '/trips/active')
    if (role === 'user') {
      for (const { status, body } of [trips, active]) assert.deepEqual([status, body.code], [400, 'missing_parameter'])
      return
    }
    for (const { body } of [trips, active]) assert.equal(body.summary.devicesQueried, sees.length)
    for (const id of ['cart-in', 'cart-out'])
      await g.request('POST', `/devices/${id}/commands`, { body: { command: 'locate' } })
    assert.deepEqual(ids((await ask('GET', '/commands?limit=1000')).body.commands), [...sees])
    for (const id of ['cart-in', 'cart-out']) {
      const { commands } = (await ask('GET', `/commands?hardware_id=${id}`)).body
      assert.equal(commands.length > 0, sees.includes(id))
    }
    assert.deepEqual(ids((await ask('GET', '/groups/7/devices')).body.devices), [...sees])
    assert.equal((await ask('GET', '/groups/7')).body.device_count, 2)
    assert.equal((await ask('GET', '/groups/7/geofences')).status, 200)
    const before = (await g.request('GET', '/stats')).body.commands
    const sent = await ask('POST', '/groups/7/commands', { command: 'locate' })
    const isAll = sees.length === 2
    assert.deepEqual([sent.status, sent.body.code], isAll ? [202, undefined] : [403, 'device_forbidden'])
    const made = (await g.request('GET', '/stats')).body.commands - before
    assert.equal(made, isAll ? 2 : 0)
  })
}

describe('realtime', () => {
  for (const [who, { sees }] of Object.entries(WHO)) {
    test(`for ${who}`, async () => {
      const browser = await g.pair(userOf(who).userId)
      for (const socket of [await g.realtime(userOf(who).key), await browser.realtime()]) {
        const { hardwareIds, denied } = await socket.subscribe('cart-in', 'cart-out')
        assert.deepEqual(hardwareIds, [...sees])
        assert.equal(hardwareIds.length + denied.length, 2)
        for (const hardwareId of ['cart-in', 'cart-out']) {
          socket.send({ type: 'command', hardwareId, command: 'locate', id: hardwareId })
          const isSent = sees.includes(hardwareId)
          const { code } = await socket.next(isSent ? 'command_sent' : 'error')
          assert.equal(code, isSent ? undefined : 'device_forbidden')
        }
      }
    })
  }
})

/** Topic filters, and the users that may subscribe to them; each message is checked again on delivery. */
const FILTERS: [filter: string, may: (who: { role: Role; sees: readonly string[] }) => boolean][] = [
  ...['cart-in', 'cart-out'].flatMap((id): typeof FILTERS => [
    ...['tlm', 'evt', 'st', 'ack', 'cmd'].map((level): (typeof FILTERS)[number] => [
      `dev/${id}/${level}`,
      ({ sees }) => sees.includes(id),
    ]),
    [`dev/${id}/cfg`, ({ role }) => role === 'admin'],
    [`dev/${id}/key`, ({ role }) => role === 'admin'],
  ]),
  ['dev/+/tlm', () => true],
  ['#', () => true],
  ['sit/7/sz', ({ role }) => role !== 'user'],
  ['sit/+/sz', ({ role }) => role !== 'user'],
  ['sit/7/cfg', ({ role }) => role === 'admin'],
  ['alert/#', () => true],
  ['alert/+/site', ({ role }) => role !== 'user'],
  ['alert/disk/site', ({ role }) => role !== 'user'],
  ['alert/pin_locked/site', ({ role }) => role === 'admin'],
  ['alert/outside/cart-in', ({ sees }) => sees.includes('cart-in')],
  ['alert/+/cart-out', ({ sees }) => sees.includes('cart-out')],
  ['shop/lights', ({ role }) => role === 'admin'],
]

describe('MQTT', () => {
  for (const [who, rights] of Object.entries(WHO)) {
    test(`for ${who}`, async () => {
      const program = await g.program({}, userOf(who))
      for (const [filter, may] of FILTERS) {
        const granted = await program.subscribeAsync(filter).then(
          ([grant]) => grant?.qos !== 128,
          () => false,
        )
        assert.equal(granted, may(rights), filter)
      }
    })
  }

  test('a cookie or a PIN opens nothing', async () => {
    const { userId } = userOf('an admin')
    const { cookie } = await g.pair(userId)
    for (const password of [cookie.split('=')[1] ?? '', '1234', ''])
      await assert.rejects(g.connect(userId, password, { clientId: 'thief' }))
    await g.program({}, userOf('an admin'))
  })
})
