import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '#shared/testing/eventually.ts'
import { PACKET, publishPacket } from '#testing/mqtt-packets.ts'
import { RawMqtt } from '#testing/raw-mqtt.ts'
import { fails, ok, pluck, publish, scene } from '#testing/scene.ts'
import { metric, startFor } from '#testing/start-gateway.ts'

const KEY = 'the-key-of-this-course-0123456789'
const { g, clock, fresh } = scene({ settings: { CARTBARN_ENROLMENT_KEY: KEY } })

async function newDevice(fields: object = {}): Promise<string> {
  const hardware_id = fresh('box-')
  await ok(g.post('/devices', { hardware_id, device_type: 'teebox', ...fields }), 201)
  return hardware_id
}

async function cartOf(hardwareId: string): Promise<string | null> {
  const { body } = await g.get(`/devices/${hardwareId}`)
  const listed = await g.get(`/devices?hardware_ids=${hardwareId}`)
  const details = await g.get(`/devices/${hardwareId}/details`)
  assert.deepEqual([listed.body.devices[0].cart, details.body.cart], [body.cart, body.cart])
  return body.cart
}

for (const [sent, kept] of [
  ['17', '17'],
  [' 17\t', '17'],
  ['007', '007'],
  ['Ä/é ?#%+', 'Ä/é ?#%+'],
  ['SITE', 'SITE'],
  ['x'.repeat(16), 'x'.repeat(16)],
  ['🏌'.repeat(16), '🏌'.repeat(16)],
  [null, null],
] as const)
  test(`the cart ${JSON.stringify(sent)} is stored as ${JSON.stringify(kept)}, however it is set`, async () => {
    const made = await newDevice({ cart: sent })
    assert.equal(await cartOf(made), kept)
    const changed = await newDevice({ cart: 'before' })
    const patched = await g.patch(`/devices/${changed}`, { cart: sent })
    assert.deepEqual([patched.status, patched.body.cart], [200, kept])
    const put = await newDevice()
    const body = { name: null, device_type: 'cartcaddie', group_id: null, cart: sent }
    const answer = await g.put(`/devices/${put}`, body)
    assert.deepEqual([answer.status, answer.body.cart], [200, kept])
    assert.deepEqual([await cartOf(changed), await cartOf(put)], [kept, kept])
  })

for (const [what, cart] of [
  ['an empty text', ''],
  ['blanks', '  \n'],
  ['17 characters', 'x'.repeat(17)],
  ['a control character', 'a\u0007b'],
  ['a line feed', 'a\nb'],
  ['a control character of the second set', 'a\u0085b'],
  ['half a character', 'a\ud83c'],
  ['the name of the site', 'site'],
  ['the name of the site among blanks', ' site '],
  ['a number', 17],
  ['a list', ['17']],
  ['a huge text', 'x'.repeat(50_000)],
] as const)
  test(`${what} is rejected as a cart`, async () => {
    const id = await newDevice({ cart: '5' })
    const whole = { name: null, device_type: 'teebox', group_id: null, cart }
    for (const [method, path, body] of [
      ['POST', '/devices', { hardware_id: 'bad-1', device_type: 'teebox', cart }],
      ['PATCH', `/devices/${id}`, { name: 'x', cart }],
      ['PUT', `/devices/${id}`, whole],
    ] as const) {
      const { errors } = await fails(g.request(method, path, { body }), 400, 'invalid_field')
      assert.equal(errors[0].name, 'cart')
    }
    const { body } = await g.get(`/devices/${id}`)
    assert.deepEqual([body.cart, body.name], ['5', undefined])
    assert.equal((await g.get('/devices/bad-1')).status, 404)
  })

test('a cart stays over other changes and over a restart', async () => {
  const id = await newDevice({ cart: '9' })
  await g.patch(`/devices/${id}`, { name: 'Nine' })
  await g.patch(`/devices/${id}`, {})
  const body = { name: 'Nine', device_type: 'cartcaddie', group_id: null }
  assert.equal((await g.put(`/devices/${id}`, body)).body.cart, '9')
  await g.post(`/devices/${id}/rotate-mqtt-password`)
  await g.restart()
  assert.equal(await cartOf(id), '9')
  const updatedAt = (await g.get(`/devices/${id}`)).body.updated_at
  clock.advance(1000)
  assert.equal((await g.patch(`/devices/${id}`, { cart: ' 9 ' })).body.updated_at, updatedAt)
  const both = await g.patch(`/devices/${id}`, { name: 'Ten', cart: '10' })
  assert.deepEqual([both.body.name, both.body.cart], ['Ten', '10'])
  assert.ok(both.body.updated_at > updatedAt)
})

test('concurrent changes of name, cart and type are all kept', async () => {
  const id = await newDevice()
  for (let i = 0; i < 20; i++) {
    const place = { name: `n${i}`, device_type: i % 2 === 0 ? 'cartcaddie' : 'teebox', group_id: null }
    const answers = await Promise.all([g.put(`/devices/${id}`, place), g.patch(`/devices/${id}`, { cart: `c${i}` })])
    assert.deepEqual(pluck(answers, 'status'), [200, 200])
    const { body } = await g.get(`/devices/${id}`)
    assert.deepEqual([body.name, body.device_type, body.cart], [place.name, place.device_type, `c${i}`])
  }
})

test('only an admin sets the cart, even together with the name', async () => {
  const id = await newDevice({ cart: '3' })
  for (const role of ['user', 'staff'] as const) {
    const { key } = await g.createUser({ role, allowed_hardware_ids: [id] })
    for (const [path, body] of [
      [id, { cart: '4' }],
      [id, { cart: '3' }],
      [id, { cart: null }],
      [id, { name: 'x', cart: '4' }],
      // this fails before the device is searched
      ['nowhere', { cart: '4' }],
    ] as const)
      await fails(g.patch(`/devices/${path}`, body, { key }), 403, 'admin_required', JSON.stringify(body))
    const renamed = await g.patch(`/devices/${id}`, { name: role }, { key })
    assert.deepEqual([renamed.status, renamed.body.name, renamed.body.cart], [200, role, '3'])
  }
})

test('the audit log has the user who put a device into a cart', async () => {
  const id = await newDevice({ cart: '21' })
  await g.patch(`/devices/${id}`, { cart: '22' })
  const { entries } = (await g.get('/audit-log?limit=2&action=device.updated')).body
  assert.deepEqual([entries[0].target, entries[0].before, entries[0].after], [id, { cart: '21' }, { cart: '22' }])
})

/** Enrols a device with this status; returns its connection. */
async function enrol(hardwareId: string, status: unknown): Promise<RawMqtt> {
  const client = await RawMqtt.open(g.mqtt)
  assert.equal(await client.login({ clientId: hardwareId, username: hardwareId, password: KEY }), 0)
  await sendStatus(client, hardwareId, status)
  return client
}

async function sendStatus(client: RawMqtt, hardwareId: string, status: unknown): Promise<void> {
  client.send(publishPacket(`dev/${hardwareId}/st`, JSON.stringify(status)))
  await client.next(PACKET.puback)
}

test('a device reports its cart once, when it enrols', async () => {
  const client = await enrol('new-1', { online: true, type: 'teebox', cart: ' 31 ' })
  assert.equal(await cartOf('new-1'), '31')
  await sendStatus(client, 'new-1', { online: true, type: 'teebox', cart: '32' })
  assert.equal(await cartOf('new-1'), '31')
  await g.patch('/devices/new-1', { cart: null })
  await sendStatus(client, 'new-1', { online: true, type: 'teebox', cart: '31' })
  assert.equal(await cartOf('new-1'), null)
  const registered = await newDevice()
  const own = await g.post(`/devices/${registered}/rotate-mqtt-password`)
  const other = await g.connect(registered, own.body.mqtt.password)
  await publish(other, `dev/${registered}/st`, { online: true, type: 'teebox', cart: '33' })
  assert.equal(await cartOf(registered), null)
  for (const id of ['new-1', registered]) assert.deepEqual((await g.get(`/devices/${id}/details`)).body.dropped, {})
  client.destroy()
  await other.endAsync()
})

for (const [i, cart] of ['', 'site', 'x'.repeat(17), 'a\u0000', 17, true, {}, ['3'], 'x'.repeat(9000)].entries())
  test(`the cart ${JSON.stringify(cart).slice(0, 20)} of an enrolling device is dropped`, async () => {
    const before = await metric(g, 'cartbarn_dropped_total', 'invalid_cart')
    const client = await enrol(`odd-${i}`, { online: true, type: 'teebox', fw: '1', cart })
    assert.equal(await cartOf(`odd-${i}`), null)
    const { dropped, status } = (await g.get(`/devices/odd-${i}/details`)).body
    assert.deepEqual([dropped, status.fw], [{ invalid_cart: 1 }, '1'])
    assert.equal(await metric(g, 'cartbarn_dropped_total', 'invalid_cart'), before + 1)
    // later ones are ignored
    await sendStatus(client, `odd-${i}`, { online: true, type: 'teebox', cart })
    assert.deepEqual((await g.get(`/devices/odd-${i}/details`)).body.dropped, { invalid_cart: 1 })
    client.destroy()
  })

test('a device that reports no cart when it enrols has none, and nothing is dropped', async () => {
  const client = await enrol('plain', { online: true, type: 'teebox', cart: null })
  assert.equal(await cartOf('plain'), null)
  assert.deepEqual((await g.get('/devices/plain/details')).body.dropped, {})
  client.destroy()
})

test('devices are listed by cart, presence, group and voltage, combined with other filters', async (t) => {
  const own = await startFor(t, {}, { clock })
  const { group_id } = (await own.post('/groups', { name: 'A' })).body
  for (const [hardware_id, fields] of [
    ['a', { cart: '7', group_id }],
    ['b', { cart: '7', device_type: 'cartcaddie' }],
    ['c', { cart: '07', group_id }],
    ['d', { name: '7' }],
  ] as const)
    await own.post('/devices', { hardware_id, device_type: 'teebox', ...fields })
  const online = await own.device('e')
  await publish(online, 'dev/e/tlm', '{"battery_voltage":48.5}')
  const empty = await own.device('f')
  await publish(empty, 'dev/f/tlm', '{"battery_voltage":0}')
  await empty.endAsync()
  const ids = async (query: string) =>
    (await own.get(`/devices?${query}`)).body.devices.map(({ hardware_id }: { hardware_id: string }) => hardware_id)
  await eventually(async () => (await ids('is_online=true')).length === 1, 'f is gone')
  for (const [query, expected] of [
    ['cart=7', ['a', 'b']],
    ['cart=07', ['c']],
    ['cart=%207', []],
    ['cart=', []],
    ['cart=null', []],
    ['cart=7&device_type=cartcaddie', ['b']],
    ['cart=7&order=desc&limit=1', ['b']],
    [`group_id=${group_id}`, ['a', 'c']],
    [`group_id=${group_id}&cart=07`, ['c']],
    ['group_id=2147483647', []],
    ['is_online=true', ['e']],
    ['is_online=false', ['a', 'b', 'c', 'd', 'f']],
    ['battery_below=48.5', ['f']],
    ['battery_below=48.51', ['e', 'f']],
    ['battery_below=0', []],
    ['battery_below=100&is_online=false', ['f']],
  ] as const)
    assert.deepEqual(await ids(query), expected, query)
  for (const [query, name] of [
    ['is_online=yes', 'is_online'],
    ['is_online=', 'is_online'],
    ['group_id=0', 'group_id'],
    ['group_id=x', 'group_id'],
    ['battery_below=-1', 'battery_below'],
    ['battery_below=x', 'battery_below'],
    ['cart=1&cart=2', 'cart'],
  ] as const) {
    const { status, body } = await own.get(`/devices?${query}`)
    assert.deepEqual([status, body.errors?.[0]?.name], [400, name], query)
  }
})
