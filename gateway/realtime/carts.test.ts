import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { connectAsync } from 'mqtt'
import { FakeClock } from '#shared/testing/clocks.ts'
import { toIso } from '#shared/time.ts'
import { Course } from '#testing/course/course.ts'
import { RealtimeClient } from '#testing/realtime-client.ts'
import { ADMIN_KEY, startGateway, type TestGateway } from '#testing/start-gateway.ts'

const clock = new FakeClock()
let g: TestGateway
let course: Course
let count = 0
const fresh = (name: string) => `${name}${++count}`

before(async () => {
  g = await startGateway({ CARTBARN_USER_REALTIME_SOCKETS: '1000' }, { clock })
  course = new Course(g, clock)
  await course.group(7)
})
after(() => g.stop())

/** Resolves with the next matching message about a cart; others may precede it. */
async function cartWith(
  watcher: Awaited<ReturnType<TestGateway['realtime']>>,
  // biome-ignore lint/suspicious/noExplicitAny: what a message holds is what is tested
  isWanted: (cart: any) => boolean,
  // biome-ignore lint/suspicious/noExplicitAny: see above
): Promise<any> {
  for (;;) {
    const message = await watcher.next('cart')
    if (isWanted(message.cart)) return message
  }
}

describe('cart', () => {
  test('messages have its state, zones, lock and notes as GET shows them, but not each position', async () => {
    const [id, other] = [fresh('d'), fresh('d')]
    const device = await course.device(id, { groupId: 7 })
    await course.device(other)
    const watcher = await g.realtime()
    await watcher.subscribe(id)
    await device.report('barn')
    const inBarn = await cartWith(watcher, ({ state }) => state === 'in')
    assert.deepEqual(inBarn, { type: 'cart', cart: await course.cart(id), timestamp: toIso(clock.nowMs()) })
    await device.goTo('fairway', { speed: 10 })
    await cartWith(watcher, ({ state }) => state === 'out')
    await device.send('evt', { event: 'unlock', source: 'key', ts: clock.nowMs() })
    await cartWith(watcher, ({ lock }) => lock?.is_locked === false)
    const before = watcher.received.length
    for (let i = 0; i < 20; i++) {
      clock.advance(1000)
      await device.report({ lat: 0.11 + i / 100_000, long: 0.1 }, { speed: 10 })
    }
    await g.request('PATCH', `/carts/${id}`, { body: { out_of_service: { why: 'Tyre' } } })
    await cartWith(watcher, ({ out_of_service }) => out_of_service?.why === 'Tyre')
    const messages = watcher.received.slice(before).filter(({ type }) => type === 'cart')
    assert.ok(messages.every(({ cart }) => cart.out_of_service !== null))
    assert.ok(watcher.received.every(({ type, cart }) => type !== 'cart' || cart.cart === id))
  })

  test('messages reflect only devices in scope, with codes masked where required', async () => {
    const [cart, lock, screen] = [fresh('C'), fresh('a'), fresh('b')]
    const teebox = await course.device(lock, { cart, groupId: 7 })
    await course.device(screen, { cart, deviceType: 'cartcaddie', groupId: 7 })
    const keyOf = async (fields: Record<string, unknown>) => (await g.createUser(fields)).key
    const [all, masked, part, none] = await Promise.all(
      [
        await keyOf({ role: 'staff', allowed_hardware_ids: ['*'] }),
        await keyOf({ allowed_hardware_ids: [lock], mask_codes: true }),
        await keyOf({ allowed_hardware_ids: [screen] }),
        await keyOf({ allowed_hardware_ids: ['other'] }),
      ].map(async (key) => {
        const watcher = await g.realtime(key)
        await watcher.subscribe('*')
        return watcher
      }),
    )
    assert.ok(all !== undefined && masked !== undefined && part !== undefined && none !== undefined)
    await teebox.send('evt', { event: 'lock', source: 'keypad', code: '471133', ts: clock.nowMs() })
    assert.equal((await cartWith(all, (one) => one.cart === cart && one.lock)).cart.lock.by, '471133')
    const seen = (await cartWith(masked, ({ lock: word }) => word !== null)).cart
    assert.deepEqual([seen.lock.by, seen.devices.length], ['****33', 1])
    const { cart: other } = await cartWith(part, (one) => one.cart === cart)
    assert.deepEqual([other.lock, other.devices[0].hardware_id], [null, screen])
    assert.equal(none.received.filter(({ type }) => type === 'cart').length, 0)
  })

  test('messages follow when a cart gets another device, loses one, or is removed', async () => {
    const [cart, one, two] = [fresh('C'), fresh('a'), fresh('b')]
    await course.device(one, { cart })
    const watcher = await g.realtime()
    await watcher.subscribe(one)
    const scoped = await g.realtime((await g.createUser({ allowed_hardware_ids: [one] })).key)
    await scoped.subscribe('*')
    await course.device(two, { cart })
    await cartWith(watcher, ({ devices }) => devices.length === 2)
    await g.request('PATCH', `/devices/${one}`, { body: { cart: null } })
    await cartWith(watcher, (each) => each.cart === one)
    await cartWith(scoped, (each) => each.cart === one)
    // connections that no longer see any of its devices receive its removal, others its current state
    const removed = ({ received }: typeof watcher) => received.filter(({ type }) => type === 'cart_removed')
    assert.deepEqual(removed(scoped), [{ type: 'cart_removed', cart }])
    const left = watcher.received.findLast((message) => message.cart?.cart === cart)
    const hardwareIds = left.cart.devices.map((device: { hardware_id: string }) => device.hardware_id)
    assert.deepEqual(hardwareIds, [two])
    await g.request('DELETE', `/devices/${one}`)
    for (const socket of [watcher, scoped]) {
      await socket.flush()
      assert.deepEqual(removed(socket).at(-1), { type: 'cart_removed', cart: one })
    }
  })
})

describe('snapshot', () => {
  test('arrives after subscribed with the same id, and has what GET shows', async () => {
    const [cart, one, two, other] = [fresh('C'), fresh('a'), fresh('b'), fresh('d')]
    const device = await course.device(one, { cart, groupId: 7 })
    await course.device(two, { cart })
    await course.device(other)
    await device.goTo('barn', { battery_voltage: 50 })
    const watcher = await g.realtime()
    await watcher.next('connected')
    watcher.send({ type: 'subscribe', hardwareIds: [one], snapshot: true, id: 9 })
    const [subscribed, snapshot] = [await watcher.next(), await watcher.next()]
    assert.deepEqual(subscribed, { type: 'subscribed', hardwareIds: [one], denied: [], id: 9 })
    const { body } = await g.request('GET', `/devices/${one}`)
    assert.deepEqual(snapshot, {
      type: 'snapshot',
      devices: [body],
      carts: [await course.cart(cart)],
      alerts: [],
      time: toIso(clock.nowMs()),
      id: 9,
    })
  })

  test('includes everything in scope for *, and is empty for an empty list', async () => {
    const [one, two] = [fresh('d'), fresh('d')]
    for (const id of [one, two]) await course.device(id)
    const { key } = await g.createUser({ allowed_hardware_ids: [one] })
    const watcher = await g.realtime(key)
    watcher.send({ type: 'subscribe', hardwareIds: ['*'], snapshot: true })
    const { devices, carts, id } = await watcher.next('snapshot')
    assert.deepEqual(
      [devices.length, devices[0].hardware_id, carts.length, carts[0].cart, id],
      [1, one, 1, one, undefined],
    )
    watcher.send({ type: 'subscribe', hardwareIds: [two], snapshot: true })
    const denied = await watcher.next('snapshot')
    assert.deepEqual([denied.devices, denied.carts], [[], []])
  })

  test('is sent only if requested, and other values than true or false are rejected', async () => {
    const watcher = await g.realtime()
    await watcher.next('connected')
    watcher.send({ type: 'subscribe', hardwareIds: [], snapshot: false })
    const types = (await watcher.flush()).map(({ type }) => type)
    assert.deepEqual(types, ['subscribed'])
    watcher.send({ type: 'subscribe', hardwareIds: [], snapshot: 'yes' })
    assert.equal((await watcher.next('error')).code, 'invalid_message')
  })
})

test('connected and pong include the time, the program and when it started', async () => {
  const watcher = await g.realtime()
  const connected = await watcher.next('connected')
  const me = (await g.request('GET', '/me')).body
  assert.deepEqual(
    [connected.time, connected.started_at, connected.version],
    [toIso(clock.nowMs()), me.started_at, me.version],
  )
  clock.advance(5000)
  watcher.send({ type: 'ping' })
  assert.equal((await watcher.next('pong')).time, toIso(clock.nowMs()))
})

test('a gateway that stops closes its sockets, without reporting devices as offline', async () => {
  const other = await startGateway({}, { clock })
  // sockets that the test does not close itself
  const devices = await Promise.all(
    ['d1', 'd2', 'd3'].map(async (clientId) => {
      const password = await other.register(clientId)
      return connectAsync(other.mqtt, { clientId, username: clientId, password, reconnectPeriod: 0 })
    }),
  )
  const watcher = await RealtimeClient.open(`${other.http.replace('http', 'ws')}/realtime?api_key=${ADMIN_KEY}`)
  await watcher.subscribe('*')
  await watcher.flush()
  const closed = watcher.closed()
  await other.stop()
  assert.equal(await closed, 1001)
  const unexpected = watcher.received.filter(({ type, payload }) => type === 'device_status' && !payload.is_online)
  assert.deepEqual(unexpected, [])
  for (const device of devices) device.end(true)
})
