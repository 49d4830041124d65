import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { checkList, linesIn, listFaults, listOperations } from '#shared/testing/list-rules.ts'
import { checkRepeated } from '#shared/testing/parameter-rules.ts'
import { DAY_MS, toIso } from '#shared/time.ts'
import { fails, publish, scene } from '#testing/scene.ts'
import type { GatewayDocument } from './documents/openapi.ts'

/** Responses that contain rows but are not lists of rows. */
const NO_LISTS = {
  '/health': 'a status: what is damaged is a part of it',
  '/repairs': 'a status: what is wrong now',
  '/setup/places': 'a status: sticks, and the size of the upload',
  '/checklist': 'a status: steps that are always the same',
  '/pace': 'a judgement of all parties, the worst first',
  '/parties/{id}': 'one party, with its carts and notes',
  '/recall': 'the state of one recall, with its carts',
  '/messages/{id}': 'one message, with its carts',
  '/texts': 'one list, written as a whole in the order of its author',
  '/carts/{cart}': 'one cart, with its devices and zones',
  '/groups/{groupId}/config/{type}': 'one layer, with its warnings',
  '/zones': 'a map',
  '/geofences/{id}': 'a map',
  '/geofences/{id}/download': 'a map',
  '/groups/{groupId}/geofences': 'a map',
  '/course': 'a map',
  '/reports/day': 'one day',
  '/reports/month': 'one month',
  '/reports/traffic': 'a map: cells of a grid have no order',
  '/reports/silence': 'a map: the longest silences',
  '/carts/{cart}/track': 'columns of numbers, to be drawn',
  '/replay': 'columns of numbers, to be drawn',
}

const { g, clock } = scene()
let document: GatewayDocument

before(async () => {
  document = (await g.get('/openapi.json', { key: null })).body
  for (const id of ['a', 'b']) {
    clock.advance(1000)
    const device = await g.device(id)
    const { userId } = await g.createUser({ name: `=${id}, "x"\n`.trim(), email: `${id}@x.example` })
    await g.put(`/users/${userId}/pin`, { pin: '4711' })
    await g.post('/groups', { name: id })
    await g.put(`/groups/1/devices/${id}`)
    await g.post('/access-requests', { name: id }, { key: null })
    await g.post(`/devices/a/commands`, { command: 'unlock' })
    await g.post('/webhooks', { url: `http://127.0.0.1:9/${id}` })
    await g.post('/notifiers', { channel: 'ntfy', to: `https://127.0.0.1:9/${id}` })
    for (const eid of ['1', '2']) {
      const event = { eid, event: 'lock', source: 'rfid', code: '-04A1', ts: clock.nowMs() - Number(eid) }
      await publish(device, `dev/${id}/evt`, event)
      await publish(device, `dev/${id}/tlm`, `{"lat":${eid},"long":-2.5,"battery_voltage":50}`)
      clock.advance(1000)
    }
    await publish(device, `dev/${id}/tlm`, '{')
  }
})

test('every GET that returns rows accepts order and CSV, or has a reason not to', () =>
  assert.deepEqual(listFaults(document, NO_LISTS), []))

test('every list obeys order and format, and an unknown value is an error', async () => {
  const ids = { '{groupId}': '1', '{id}': 'a', '{hardwareId}': 'a' }
  const range = `from=${toIso(clock.nowMs() - DAY_MS)}&to=${toIso(clock.nowMs())}`
  const values: Record<string, string> = { from: range, to: '', month: `month=${toIso(clock.nowMs()).slice(0, 7)}` }
  const counts: Record<string, number> = {}
  const ask = (path: string, headers = {}) => g.get(path, { headers })
  for (const { path, name, operation } of listOperations(document)) {
    if (Object.hasOwn(NO_LISTS, path)) continue
    const filled = Object.entries(ids).reduce((text, [place, id]) => text.replace(place, id), path)
    const needed = operation.parameters.filter((one) => one.in === 'query' && one.required)
    const query = needed.map((one) => values[one.name] ?? assert.fail(`${path} needs ${one.name}`))
    const full = query.some(Boolean) ? `${filled}?${query.filter(Boolean).join('&')}` : filled
    counts[path] = await checkList(ask, full, name)
  }
  const { '/users': users, '/lock-events': events, '/people': people, '/devices/{id}/gps': fixes } = counts
  assert.deepEqual([users, events, people, fixes], [3, 4, 2, 2])
  for (const path of ['/webhooks', '/notifiers', '/access-requests', '/carts', '/groups', '/mqtt/quarantine'])
    assert.equal(counts[path], 2, path)
})

test('CSV cells match the JSON: text is no formula, numbers stay numbers, objects become columns', async () => {
  const { body, headers } = await g.get('/users?format=csv&order=desc')
  const [names = [], ...users] = linesIn(body)
  const of = (name: string) => users.map((user) => user[names.indexOf(name)])
  assert.deepEqual(of('name'), [`'=b, "x"`, `'=a, "x"`, 'Admin'])
  assert.deepEqual(of('usage.total_requests').slice(0, 2), ['0', '0'])
  assert.deepEqual(of('email'), ['b@x.example', 'a@x.example', ''])
  assert.equal(headers.get('content-disposition'), 'attachment; filename="users.csv"')
  const devices = (await g.get('/groups/1/devices?format=csv')).headers
  assert.equal(devices.get('content-disposition'), 'attachment; filename="groups-1-devices.csv"')
  const events = linesIn((await g.get('/lock-events?format=csv&limit=1')).body)
  assert.equal(events[1]?.[events[0]?.indexOf('code') ?? -1], "'-04A1")
})

test('a single-value parameter given twice is an error that names it', async () => {
  const ids = { id: 'a', groupId: '1', hardwareId: 'a', cart: 'a', type: 'teebox', restore_id: 'a' }
  const ask = (method: string, path: string) => g.request(method, path)
  assert.ok((await checkRepeated(document, ask, ids)) > 150)
})

test('an error is a problem document in any format', async () => {
  await fails(g.get('/lock-events?before=unknown', { headers: { accept: 'text/csv' } }), 400, 'invalid_parameter')
  const { key } = await g.createUser({})
  assert.equal((await g.get('/users?format=csv', { key })).body.code, 'admin_required')
})
