import assert from 'node:assert/strict'
import { before, beforeEach, describe, test } from 'node:test'
import { eventually } from '#shared/testing/eventually.ts'
import { MINUTE_MS, toIso } from '#shared/time.ts'
import type { MessageJson } from '#shared/wire/messages/messages.ts'
import { CommandedDevice } from '#testing/course/commanded-device.ts'
import { box, collection } from '#testing/course/features.ts'
import { fails, ok, pluck, publish, scene } from '#testing/scene.ts'

const { g, clock, onlyFor } = scene({ inScope: ['unrelated-1'] })
onlyFor(
  'staff',
  ['POST', '/messages', { text: 'x', to: { all_out: true } }],
  ['GET', '/messages'],
  ['GET', '/messages/x'],
)

const BARN = 0.1
const HOLE_3 = 0.103
const passwords = new Map<string, string>()

async function device(hardware_id: string, device_type: string, cart: string, group_id?: number): Promise<void> {
  const body = { hardware_id, device_type, cart, ...(group_id === undefined ? {} : { group_id }) }
  passwords.set(hardware_id, (await ok(g.post('/devices', body), 201)).mqtt.password)
}
const connect = (hardwareId: string) => CommandedDevice.connect(g, hardwareId, passwords.get(hardwareId) ?? '')

/** Sends the position of a lock often enough to count for zones. */
async function stands(hardwareId: string, lat: number): Promise<void> {
  const client = await g.connect(hardwareId, passwords.get(hardwareId) ?? '')
  for (let i = 0; i < 3; i++) {
    clock.advance(3000)
    await publish(client, `dev/${hardwareId}/tlm`, { lat, long: 0.1, speed: 0 })
  }
}

// 7 and the ranger are out on hole 3 with a screen, 9 without one; 8 is in the barn; 10 has no position
before(async () => {
  const strip = (id: string, properties: object, south: number, north: number) => ({
    type: 'Feature',
    id,
    properties: { name: id, ...properties },
    geometry: { type: 'Polygon', coordinates: [box(0.09, south, 0.11, north)] },
  })
  const zones = collection(
    strip('barn', { type: 'parking' }, 0.099, 0.101),
    strip('hole', { type: 'hole', hole: 3 }, 0.102, 0.104),
  )
  await ok(g.put('/zones', zones, { headers: { 'if-match': '*' } }))
  await ok(g.post('/groups', { name: 'Club', group_id: 5 }), 201)
  for (const cart of ['7', '8', 'R1']) await device(`screen-${cart}`, 'cartcaddie', cart)
  await device('screen-10', 'cartcaddie', '10', 5)
  for (const cart of ['7', '8', '9', 'R1']) await device(`lock-${cart}`, 'teebox', cart)
  await ok(g.patch('/carts/R1', { kind: 'ranger' }))
  for (const cart of ['7', '9', 'R1']) await stands(`lock-${cart}`, HOLE_3)
  await stands('lock-8', BARN)
  await eventually(async () => {
    const carts = (await ok(g.get('/carts'))).carts as { cart: string; state: string }[]
    return carts.map(({ state }) => state).join() === 'out,in,out,unknown,out'
  }, 'all carts are where they stand')
})
// the budget of a minute is over
beforeEach(() => clock.advance(MINUTE_MS + 1000))

const send = async (to: object, fields: object = { text: 'Fog.' }): Promise<MessageJson> =>
  ok(g.post('/messages', { ...fields, to }), 201)
const read = async (id: string): Promise<MessageJson> => ok(g.get(`/messages/${id}`))
const becomes = (id: string, screen: string) =>
  eventually(async () => (await read(id)).carts[0]?.screen === screen, `the screen: ${screen}`)
const commandsOf = async (hardwareId: string) =>
  (await ok(g.get(`/devices/${hardwareId}/commands?limit=1000`))).commands

test('a message goes to the screens of carts, is confirmed, and staff are notified', async () => {
  const screen = await connect('screen-7')
  const socket = await g.realtime()
  const answer = await g.post('/messages', { text: ' Fog on hole 2. ', to: { carts: ['9', '7', '7'] } })
  const message = await ok(answer, 201)
  assert.equal(answer.headers.get('location'), `/messages/${message.message_id}`)
  const { message_id, sent_at, ...rest } = message
  assert.deepEqual(rest, {
    text: 'Fog on hole 2.',
    text_id: null,
    to: { carts: ['9', '7', '7'] },
    expires_at: toIso(Date.parse(sent_at) + 30 * MINUTE_MS),
    by: { user_id: await g.adminId(), name: 'Admin' },
    carts: [
      { cart: '7', screen: 'sent' },
      { cart: '9', screen: 'none' },
    ],
  })
  const sent = await socket.next('message')
  assert.deepEqual([sent.event, sent.message], ['sent', message])
  const { id, cmd, params } = await screen.next()
  assert.deepEqual([cmd, params], ['message', { text: 'Fog on hole 2.', message_id }])
  await screen.ack(id, 'completed')
  const confirmed = await socket.next('message')
  assert.deepEqual([confirmed.event, confirmed.message.carts[0]], ['confirmed', { cart: '7', screen: 'confirmed' }])
  assert.deepEqual(await read(message_id), confirmed.message)
  await screen.leave()
})

test('the same request with the same Idempotency-Key gets the same message, and sends nothing', async () => {
  const ask = (text: string) =>
    g.post('/messages', { text, to: { carts: ['10'] } }, { headers: { 'idempotency-key': 'fog' } })
  const first = await ask('Fog.')
  const count = (await commandsOf('screen-10')).length
  const again = await ask('Fog.')
  assert.deepEqual(await ok(again, 201), await ok(first, 201))
  const headers = [first, again].map((answer) => answer.headers.get('idempotency-replayed'))
  assert.deepEqual(headers, [null, 'true'])
  assert.equal((await commandsOf('screen-10')).length, count)
  await fails(ask('Rain.'), 409, 'idempotency_key_reused')
})

test('a screen that is away gets the message when it reconnects, once', async () => {
  const { message_id, carts } = await send({ carts: ['7'] })
  assert.deepEqual(carts, [{ cart: '7', screen: 'offline' }])
  const screen = await connect('screen-7')
  const { id } = await screen.next()
  await becomes(message_id, 'sent')
  await screen.ack(id, 'completed')
  await becomes(message_id, 'confirmed')
  await screen.lose(g)
  const again = await connect('screen-7')
  assert.deepEqual(await again.flush(), [])
  assert.equal((await read(message_id)).carts[0]?.screen, 'confirmed')
  await again.leave()
})

test('a party gets a message on the screens of its carts that are out', async () => {
  const { party } = await ok(g.post('/parties', { carts: [{ cart: '7' }, { cart: '9' }], unlock: false }), 201)
  const { party_id } = party
  assert.deepEqual(pluck((await send({ party_id })).carts, 'cart'), ['7', '9'])
  await ok(g.post(`/parties/${party_id}/return`, { carts: ['9'] }))
  assert.deepEqual(pluck((await send({ party_id })).carts, 'cart'), ['7'])
  await ok(g.post(`/parties/${party_id}/return`, {}))
  await fails(g.post('/messages', { text: 'Fog.', to: { party_id } }), 409, 'nobody_to_tell')
  await fails(g.post('/messages', { text: 'Fog.', to: { party_id: 'none' } }), 404, 'party_not_found')
})

test('carts are chosen by hole, group, or as all that are out; other vehicles only by name or group', async () => {
  const cartsOf = async (to: object) => pluck((await send(to)).carts, 'cart')
  assert.deepEqual(await cartsOf({ hole: 3 }), ['7', '9'])
  assert.deepEqual(await cartsOf({ all_out: true }), ['7', '9'])
  assert.deepEqual(await cartsOf({ group_id: 5 }), ['10'])
  assert.deepEqual(await cartsOf({ carts: ['R1', 'lock-8'] }), ['8', 'R1'])
  await ok(g.patch('/carts/7', { out_of_service: { why: 'tyre' } }))
  await fails(g.post('/messages', { text: 'x', to: { all_out: true } }), 409, 'no_screen')
  await ok(g.patch('/carts/7', { out_of_service: null }))
})

test('a ready text is sent in the language of the site, or the one asked for', async () => {
  const text = async (fields: object) => (await send({ carts: ['7'] }, { text_id: 'kiosk', ...fields })).text
  assert.equal(await text({}), 'The kiosk is open.')
  assert.equal(await text({ language: 'de' }), 'Der Kiosk ist geöffnet.')
  await ok(g.patch('/site', { language: 'de' }))
  assert.equal(await text({}), 'Der Kiosk ist geöffnet.')
  await ok(g.patch('/site', { language: null }))
  const newest = (await ok(g.get('/messages?limit=1'))).messages[0]
  assert.deepEqual([newest.text, newest.text_id], ['Der Kiosk ist geöffnet.', 'kiosk'])
})

const TO = { carts: ['7'] }
const REJECTED: [what: string, body: object, status: number, code: string, name?: string][] = [
  ['no text', { to: TO }, 400, 'missing_field', 'text'],
  ['an empty text', { text: ' ', to: TO }, 400, 'invalid_field', 'text'],
  ['a text of 201 characters', { text: 'x'.repeat(201), to: TO }, 400, 'invalid_field', 'text'],
  ['control characters', { text: 'a\u0007', to: TO }, 400, 'invalid_field', 'text'],
  ['two texts', { text: 'x', text_id: 'kiosk', to: TO }, 400, 'invalid_field', 'text'],
  ['no carts', { text: 'x', to: {} }, 400, 'missing_field', 'to'],
  ['an empty list of carts', { text: 'x', to: { carts: [] } }, 400, 'invalid_field', 'to.carts'],
  ['two choices', { text: 'x', to: { hole: 3, all_out: true } }, 400, 'invalid_field', 'to'],
  ['not all that are out', { text: 'x', to: { all_out: false } }, 400, 'invalid_field', 'to.all_out'],
  ['hole 0', { text: 'x', to: { hole: 0 } }, 400, 'invalid_field', 'to.hole'],
  ['another language', { text_id: 'kiosk', language: 'fr', to: TO }, 400, 'invalid_field', 'language'],
  ['no time', { text: 'x', to: TO, ttl_min: 0 }, 400, 'invalid_field', 'ttl_min'],
  ['over four hours', { text: 'x', to: TO, ttl_min: 241 }, 400, 'invalid_field', 'ttl_min'],
  ['an unknown ready text', { text_id: 'soup', to: TO }, 404, 'text_not_found'],
  ['an unknown cart', { text: 'x', to: { carts: ['7', '99'] } }, 404, 'cart_not_found'],
  ['an unknown group', { text: 'x', to: { group_id: 99 } }, 404, 'group_not_found'],
  ['a hole without carts', { text: 'x', to: { hole: 17 } }, 409, 'nobody_to_tell'],
  ['a cart without a screen', { text: 'x', to: { carts: ['9'] } }, 409, 'no_screen'],
]
for (const [what, body, status, code, name] of REJECTED)
  test(`${what} is rejected, and nothing is stored`, async () => {
    const count = async () => (await ok(g.get('/messages?limit=1000'))).messages.length
    const [messages, commands] = [await count(), (await commandsOf('screen-7')).length]
    const problem = await fails(g.post('/messages', body), status, code)
    if (name !== undefined) assert.ok(pluck(problem.errors, 'name').includes(name), JSON.stringify(problem.errors))
    assert.deepEqual([await count(), (await commandsOf('screen-7')).length], [messages, commands])
  })

test('a message that does not exist is not found', () => fails(g.get('/messages/x'), 404, 'message_not_found'))

test('when a message expires its states stay, also over a restart', async () => {
  const here = await connect('screen-7')
  const { message_id } = await send({ carts: ['7', '8'] }, { text: 'Soon.', ttl_min: 1 })
  const states = async () => pluck((await read(message_id)).carts, 'screen')
  assert.deepEqual(await states(), ['sent', 'offline'])
  clock.advance(MINUTE_MS + 1000)
  await eventually(async () => (await commandsOf('screen-8'))[0].status === 'timeout', 'the command expires')
  await here.lose(g)
  const late = await connect('screen-8')
  await eventually(async () => (await states()).join() === 'sent,offline', 'the states stay')
  await late.leave()
  const confirmed = (await ok(g.get('/messages?limit=1000'))).messages.filter(
    ({ carts }: MessageJson) => carts[0]?.screen === 'confirmed',
  )
  await g.restart()
  assert.deepEqual(await states(), ['sent', 'offline'])
  assert.ok(confirmed.length > 0)
  for (const one of confirmed) assert.deepEqual(await read(one.message_id), one)
})

test('a user sends at most 30 messages a minute', async () => {
  for (let i = 0; i < 30; i++) await send(TO)
  const answer = await g.post('/messages', { text: 'x', to: TO })
  await fails(answer, 429, 'too_many_messages')
  assert.equal(answer.headers.get('retry-after'), '60')
  const { key } = await g.createUser({ role: 'staff', allowed_hardware_ids: ['*'] })
  await ok(g.post('/messages', { text: 'x', to: TO }, { key }), 201)
  clock.advance(MINUTE_MS)
  await send(TO)
})

test('during a recall carts get no other message', async () => {
  await ok(g.post('/recall'), 201)
  await fails(g.post('/messages', { text: 'x', to: TO }), 409, 'recall_active')
  await ok(g.remove('/recall'))
  await send(TO)
})

describe('staff with some carts', () => {
  let key: string
  before(async () => {
    key = (await g.createUser({ role: 'staff', allowed_hardware_ids: ['screen-7', 'lock-9'] })).key
  })

  test('send to carts in scope only, and see only these of a message', async () => {
    const ask = (to: object) => g.post('/messages', { text: 'x', to }, { key })
    await fails(ask({ carts: ['7', '8'] }), 403, 'cart_forbidden')
    await fails(ask({ carts: ['9'] }), 409, 'no_screen')
    const socket = await g.realtime(key)
    const all = await send({ carts: ['7', '8'] })
    assert.deepEqual((await socket.next('message')).message.carts, [{ cart: '7', screen: 'offline' }])
    assert.deepEqual((await ok(g.get(`/messages/${all.message_id}`, { key }))).carts, [
      { cart: '7', screen: 'offline' },
    ])
    const other = await send({ carts: ['8'] })
    await fails(g.get(`/messages/${other.message_id}`, { key }), 403, 'cart_forbidden')
    const { messages } = await ok(g.get('/messages?limit=1', { key }))
    assert.deepEqual(messages[0]?.message_id, all.message_id)
    await ok(ask({ carts: ['7'] }), 201)
  })
})

test('a message is in the audit log with the commands that show it, and leaves with an erasure', async () => {
  const { message_id } = await send(TO, { text: 'Jane Doe' })
  const { entries } = await ok(g.get('/audit-log?limit=2'))
  assert.deepEqual(pluck(entries, 'action').sort(), ['command.created', 'message.created'])
  const entry = entries.find(({ action }: { action: string }) => action === 'message.created')
  assert.deepEqual([entry.target, entry.after], [message_id, { text: 'Jane Doe', text_id: null, to: TO }])
  await ok(g.post('/erasures', { person: 'jane doe' }))
  assert.equal((await read(message_id)).text, '')
})
