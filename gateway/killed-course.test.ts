import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { eventually } from '#shared/testing/eventually.ts'
import { MINUTE_MS, toIso } from '#shared/time.ts'
import { Barn, type BarnCart, confirmClock } from '#testing/course/barn.ts'
import { CommandedDevice } from '#testing/course/commanded-device.ts'
import { KillableGateway } from '#testing/killable-gateway.ts'

/** Timeout for waits that span several starts of a program on a busy machine. */
const PATIENCE_MS = 60_000
/** Longest delay of a kill after an action of the test: around the writes that follow from it. */
const KILLED_WITHIN_MS = 100

/** Waits for a random part of the time in which the request is written and sent. */
function someTime(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.random() * KILLED_WITHIN_MS))
}

async function startBarn(t: TestContext, settings: object) {
  const g = await KillableGateway.start(t)
  assert.equal((await g.request('PATCH', '/site', { body: settings })).status, 200)
  return { g, barn: await Barn.draw(g) }
}

test('a killed gateway knows the saved state of its carts and all later data', async (t) => {
  const pack = { empty_v: 47, low_v: 48, full_v: 51 }
  const { g, barn } = await startBarn(t, { pack, rest_after_s: 1 })
  for (const id of ['parked', 'driven']) await barn.cart(id)
  let atMs = 0
  const report = async (cart: BarnCart, place: 'barn' | 'course', speed: number) => {
    // recent enough to count for zones, and old enough for the cart to be at rest
    atMs = Math.max(atMs + 2000, Date.now() - 2 * MINUTE_MS)
    await cart.at(place, speed, { ts: atMs, battery_voltage: 50 - (atMs % 7) / 10 })
    await eventually(async () => (await shown(cart.hardwareId)).position?.at === toIso(atMs), 'it is seen', PATIENCE_MS)
  }
  const shown = async (id: string) => {
    const { body } = await g.request('GET', `/carts/${id}`)
    // the connection state, and values derived from it, differ after a start
    const { devices: _, auto_lock_at: __, open_alerts: ___, ...cart } = body
    return cart
  }
  for (const end of ['stop', 'kill'] as const) {
    const [parked, driven] = [await barn.connect('parked'), await barn.connect('driven')]
    for (let i = 0; i < 4; i++) await report(parked, 'barn', 0)
    for (const place of ['barn', 'barn', 'course', 'course', 'course'] as const) await report(driven, place, 12)
    const before = [await shown('parked'), await shown('driven')]
    assert.deepEqual([before[0].state, before[1].state], ['in', 'out'])
    assert.ok(before[0].battery.rest_voltage !== null && before[1].out_since !== null)
    await g[end]()
    await g.start()
    assert.deepEqual([await shown('parked'), await shown('driven')], before)
  }
})

test('a lock that waits for a position when the gateway is killed is evaluated again', async (t) => {
  const { g, barn } = await startBarn(t, {})
  const ids = ['stands', 'drives']
  const commands = new Map<string, string>()
  for (const id of ids) {
    const cart = await barn.cart(id)
    await cart.at('course', 0, { ts: Date.now() - 10 * MINUTE_MS })
    const request = { body: { command: 'lock' } }
    const { status, body } = await g.request('POST', `/devices/${id}/commands`, request)
    assert.equal(status, 202, JSON.stringify(body))
    commands.set(id, body.command_id)
    await cart.receives('locate', PATIENCE_MS)
  }
  await g.kill()
  await g.start()
  for (const id of ids) {
    const cart = await barn.connect(id)
    await cart.receives('locate', PATIENCE_MS)
    await cart.at('course', id === 'drives' ? 20 : 0)
    if (id === 'stands') assert.equal(await cart.receives('lock', PATIENCE_MS), commands.get(id))
    const command = async () => (await g.request('GET', `/commands/${commands.get(id)}`)).body
    const status = id === 'stands' ? 'published' : 'failed'
    await eventually(async () => (await command()).status === status, `${id}: ${status}`, PATIENCE_MS)
    assert.equal((await command()).error, id === 'stands' ? null : 'cart_is_moving')
    assert.deepEqual(await cart.received(), [])
  }
})

test('a gateway that is killed during auto-lock locks each cart once', async (t) => {
  const { g, barn } = await startBarn(t, { auto_lock_after_min: 1 })
  /** Reports that the cart has been standing there for long. */
  const parks = async (cart: BarnCart) => {
    const fromMs = Date.now() - 2 * MINUTE_MS
    await cart.tag('unlock', '1', fromMs)
    for (let i = 0; i < 3; i++) await cart.at('barn', 0, { ts: fromMs + i * 1000 })
    await cart.at('barn')
  }
  const locksOf = async (id: string) => {
    const { commands } = (await g.request('GET', `/devices/${id}/commands`)).body
    return commands.filter(({ command }: { command: string }) => command === 'lock')
  }
  const ids = ['1', '2']
  for (const [life, id] of ids.entries()) {
    await confirmClock(g, Date.now())
    await parks(await barn.cart(id))
    await someTime()
    t.diagnostic(`${(await locksOf(id)).length} locks before kill ${life + 1}`)
    await g.kill()
    await g.start()
  }
  const carts = await Promise.all(ids.map((id) => barn.connect(id)))
  await confirmClock(g, Date.now())
  for (const cart of carts) await cart.at('barn')
  const received = await Promise.all(carts.map((cart) => cart.receives('lock', PATIENCE_MS)))
  // all carts are evaluated once more before this one is locked
  const observer = await barn.cart('witness')
  await parks(observer)
  await observer.receives('lock', PATIENCE_MS)
  for (const [i, id] of ids.entries()) {
    const locks = await locksOf(id)
    const shown = locks.map(({ command_id, requested_by }: Record<string, string>) => [command_id, requested_by])
    assert.deepEqual(shown, [[received[i], 'auto-lock']])
  }
})

test('a recall and its end survive a killed gateway', async (t) => {
  const g = await KillableGateway.start(t)
  const ids = ['1', '2', '3']
  const passwords = new Map<string, string>()
  for (const id of ids) passwords.set(id, await g.register(id, 'cartcaddie'))
  const connect = () => Promise.all(ids.map((id) => CommandedDevice.connect(g, id, passwords.get(id) ?? '')))
  const confirmed = async () => {
    const { active, carts } = (await g.request('GET', '/recall')).body
    const done = carts.filter(({ screen }: { screen: string }) => screen === 'confirmed')
    return { text: active?.text, done: done.map(({ cart }: { cart: string }) => cart) }
  }
  assert.equal((await g.request('POST', '/recall', { body: { text: 'In!' } })).status, 201)
  await someTime()
  await g.kill()
  await g.start()
  for (const screen of await connect()) {
    const { id, params } = await screen.next(PATIENCE_MS)
    assert.deepEqual(params, { text: 'In!', recall: true })
    if (screen.hardwareId !== '3') await screen.ack(id, 'completed')
  }
  await eventually(async () => (await confirmed()).done.length === 2, 'two have confirmed', PATIENCE_MS)
  assert.deepEqual(await confirmed(), { text: 'In!', done: ['1', '2'] })
  assert.equal((await g.request('DELETE', '/recall')).status, 200)
  await someTime()
  await g.kill()
  await g.start()
  assert.deepEqual(await confirmed(), { text: undefined, done: [] })
  for (const screen of await connect()) {
    // a screen that has not responded receives the recall again before its end
    if (screen.hardwareId === '3') assert.equal((await screen.next(PATIENCE_MS)).params.recall, true)
    assert.deepEqual((await screen.next(PATIENCE_MS)).params, { text: 'Recall ended.', recall: false })
    assert.deepEqual(await screen.flush(), [])
  }
})

test('a call whose receipt was acknowledged opens its alert after a kill, once', async (t) => {
  const g = await KillableGateway.start(t)
  const password = await g.register('17', 'cartcaddie')
  const calls = ['help', 'ranger', 'breakdown'].map((call, i) => JSON.stringify({ call, cid: `c${i}`, text: 'Miller' }))
  for (const [i, call] of calls.entries()) {
    const screen = await CommandedDevice.connect(g, '17', password)
    // the one before again, as a device does that lost its connection
    for (const one of calls.slice(Math.max(0, i - 1), i))
      await screen.client.publishAsync('dev/17/call', one, { qos: 1 })
    await screen.client.publishAsync('dev/17/call', call, { qos: 1 })
    if (i > 0) await someTime()
    await g.kill()
    await g.start()
  }
  const alerts = async () => (await g.request('GET', '/alerts?kind=call')).body.alerts
  await eventually(async () => (await alerts()).length === calls.length, 'three alerts', PATIENCE_MS)
  const shown = (await alerts()).map(({ details }: { details: Record<string, unknown> }) => details)
  assert.deepEqual(shown.map(({ call, count, text }: Record<string, unknown>) => `${call} ${count} ${text}`).sort(), [
    'breakdown 1 Miller',
    'help 1 Miller',
    'ranger 1 Miller',
  ])
})
