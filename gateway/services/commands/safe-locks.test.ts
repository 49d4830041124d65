import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, beforeEach, test } from 'node:test'
import { FakeClock } from '#shared/testing/clocks.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { Barn, type BarnCart } from '#testing/course/barn.ts'
import { commandBecomes, readCommand } from '#testing/course/commanded-device.ts'
import { ADMIN_KEY, metric, startGateway, type TestGateway } from '#testing/start-gateway.ts'

const LOCATING_MS = 15_000
const clock = new FakeClock()
let g: TestGateway
let barn: Barn
let staff: { userId: string; key: string }
let user: { userId: string; key: string }
let cart: BarnCart
let carts = 0

before(async () => {
  g = await startGateway({ CARTBARN_UPSTREAM_INTENTS: 'all' }, { clock })
  barn = await Barn.draw(g)
  staff = await g.createUser({ role: 'staff', allowed_hardware_ids: ['*'] })
  user = await g.createUser({ allowed_hardware_ids: ['*'] })
})
after(() => g.stop())
beforeEach(async () => {
  cart = await barn.cart(`cart-${++carts}`)
})

const pass = () => clock.advance(1000)

function ask(fields: object = {}, key = ADMIN_KEY, command = 'lock') {
  const body = { command, ...fields }
  return g.request('POST', `/devices/${cart.hardwareId}/commands`, { body, key })
}

/** Requests a lock that is accepted; returns its id. */
async function lock(fields: object = {}, key = ADMIN_KEY): Promise<string> {
  const { status, body } = await ask(fields, key)
  assert.equal(status, 202, JSON.stringify(body))
  return body.command_id
}

/** The cart is on the course, and has not reported its position for a while. */
async function goesSilent(of = cart, ms = 61_000): Promise<void> {
  await of.settles('course', pass)
  clock.advance(ms)
}

/** The cart reconnects, reports that it drives, and only then asks for its commands. */
async function comesBackDriving(): Promise<void> {
  cart = await barn.connect(cart.hardwareId, { subscribes: false })
  await cart.at('course', 25)
  await cart.device.client.subscribeAsync(`dev/${cart.hardwareId}/cmd`, { qos: 1 })
}

async function ends(commandId: string, status: string, error: string | null): Promise<void> {
  const { error: reason } = await commandBecomes(g, commandId, status)
  assert.equal(reason, error)
}

async function commandsOf(hardwareId: string) {
  return (await g.request('GET', `/devices/${hardwareId}/commands`)).body.commands
}

// by its newest position: its age, speed and zone
const rule: [string, number, number | null, 'barn' | 'course', number, string | null][] = [
  ['drives', 0, 6.1, 'course', 409, 'cart_is_moving'],
  ['drives in the barn', 0, 20, 'barn', 409, 'cart_is_moving'],
  ['drove half a minute ago', 29_000, 20, 'course', 409, 'cart_is_moving'],
  ['drove longer ago', 31_000, 20, 'course', 202, 'lock'],
  ['walks', 0, 6, 'course', 202, 'lock'],
  ['stands on the course', 0, 0, 'course', 202, 'lock'],
  ['last reported its position on the course a minute ago', 60_000, 0, 'course', 202, 'lock'],
  ['last reported its position longer ago', 60_001, 0, 'course', 202, 'locate'],
  ['has been in the barn for a day', 86_400_000, 0, 'barn', 202, 'lock'],
]
for (const [what, ageMs, speed, place, status, outcome] of rule)
  test(`a lock of a cart that ${what}: ${outcome}`, async () => {
    await cart.settles(place, pass)
    await cart.at(place, speed, { ts: clock.nowMs() + 1 })
    clock.advance(ageMs + 1)
    const answer = await ask()
    assert.deepEqual([answer.status, answer.body.code], [status, status === 409 ? outcome : undefined])
    if (status === 409) {
      assert.deepEqual(await cart.received(), [])
      assert.deepEqual(await commandsOf(cart.hardwareId), [])
    } else await cart.receives(outcome ?? '')
  })

test('if a fix has no speed, the speed between two fixes of the last minute is used', async () => {
  await cart.settles('course', pass)
  clock.advance(10_000)
  await cart.at('barn', null)
  assert.equal((await ask()).body.code, 'cart_is_moving')
  clock.advance(70_000)
  await cart.at('course', null)
  await lock()
  await cart.receives('lock')
})

test('a cart that was never seen, and any cart without a parking zone, is locked immediately', async () => {
  await lock()
  await cart.receives('lock')
  cart = await barn.cart(`cart-${++carts}`, { isGrouped: false })
  await goesSilent()
  await lock()
  await cart.receives('lock')
})

test('unlock and other commands are not evaluated', async () => {
  await cart.at('course', 30)
  for (const command of ['unlock', 'locate', 'reboot']) {
    const { status, body } = await ask({ force: true }, ADMIN_KEY, command)
    assert.deepEqual([status, body.forced], [202, false])
  }
  assert.deepEqual(await cart.received(), ['unlock', 'locate', 'reboot'])
})

test('a lock waits until the cart has reported its position and is then sent', async () => {
  await goesSilent()
  const id = await lock()
  await cart.receives('locate')
  assert.equal((await readCommand(g, id)).status, 'pending')
  const [made] = (await commandsOf(cart.hardwareId)).filter(({ command }: { command: string }) => command === 'locate')
  assert.deepEqual([made.requested_by, made.forced], ['safe-lock', false])
  // an old position collected on the way proves nothing
  await cart.at('course', 0, { ts: clock.nowMs() - 60_500 })
  pass()
  assert.deepEqual(await cart.received(), [])
  await cart.at('course', 4)
  assert.equal(await cart.receives('lock'), id)
  await commandBecomes(g, id, 'published')
})

test('a cart that turns out to be driving is not locked', async () => {
  await goesSilent()
  const id = await lock()
  await cart.receives('locate')
  await cart.at('course', 18)
  await ends(id, 'failed', 'cart_is_moving')
  assert.deepEqual(await cart.received(), [])
})

test('a lock fails after 15 seconds if the cart reports no position', async () => {
  await goesSilent()
  const before = await metric(g, 'cartbarn_locks_refused_total', 'position_unknown')
  const id = await lock()
  await cart.receives('locate')
  clock.advance(LOCATING_MS - 1)
  assert.equal((await readCommand(g, id)).status, 'pending')
  clock.advance(1)
  await ends(id, 'failed', 'position_unknown')
  assert.equal((await metric(g, 'cartbarn_locks_refused_total', 'position_unknown')) - before, 1)
  await cart.at('course')
  assert.deepEqual(await cart.received(), [])
})

test('another device of the cart can report its position', async (t) => {
  const screen = await barn.cart(`screen-${carts}`, { type: 'cartcaddie' })
  for (const { hardwareId } of [cart, screen]) {
    const { status } = await g.request('PATCH', `/devices/${hardwareId}`, { body: { cart: `c${carts}` } })
    if (status !== 200) return t.skip('devices have no carts yet')
  }
  await goesSilent()
  const id = await lock()
  await screen.at('course', 18)
  await ends(id, 'failed', 'cart_is_moving')
})

test('a lock that waits for its device is evaluated when the device is back', async () => {
  await cart.settles('course', pass)
  await cart.lose(g)
  const id = await lock()
  assert.equal((await readCommand(g, id)).status, 'pending')
  await comesBackDriving()
  await ends(id, 'failed', 'cart_is_moving')
  assert.deepEqual(await cart.received(), [])
})

test('a lock that was sent and not answered is evaluated again before it is resent', async () => {
  await cart.settles('course', pass)
  const id = await lock()
  await cart.receives('lock')
  await cart.lose(g)
  await comesBackDriving()
  await ends(id, 'failed', 'cart_is_moving')
  assert.deepEqual(await cart.received(), [])
})

test('after a restart a pending lock is located and evaluated again before it is sent', async () => {
  await goesSilent()
  const id = await lock()
  await cart.receives('locate')
  await g.restart(() => clock.advance(1000))
  cart = await barn.connect(cart.hardwareId)
  await cart.receives('locate')
  assert.equal((await readCommand(g, id)).status, 'pending')
  assert.deepEqual(await cart.received(), [])
  await cart.at('course')
  assert.equal(await cart.receives('lock'), id)
})

test('after a restart the lock of a cart that has driven off fails', async () => {
  await cart.settles('course', pass)
  await cart.lose(g)
  const id = await lock()
  await g.restart(() => clock.advance(1000))
  await comesBackDriving()
  await ends(id, 'failed', 'cart_is_moving')
})

test('an unlock replaces a pending lock, even one that was sent before', async () => {
  await goesSilent()
  const waiting = await lock()
  await cart.receives('locate')
  await ask({}, ADMIN_KEY, 'unlock')
  await cart.receives('unlock')
  await ends(waiting, 'failed', 'superseded')
  await cart.at('course')
  assert.deepEqual(await cart.received(), [])

  const sent = await lock({ ttl_seconds: 3600 })
  await cart.receives('lock')
  await cart.lose(g)
  await ask({}, ADMIN_KEY, 'unlock')
  clock.advance(61_000)
  cart = await barn.connect(cart.hardwareId)
  await ends(sent, 'failed', 'superseded')
  await cart.at('course')
  assert.ok(!(await cart.received()).includes('lock'))
})

// who forces a lock and when; the status, and whether the record is marked as forced
const force: [string, 'user' | 'staff' | 'admin', 'moving' | 'silent' | 'standing', number, string | boolean][] = [
  ['a user forces nothing', 'user', 'standing', 403, 'admin_required'],
  ['nor a cart that is silent', 'user', 'silent', 403, 'admin_required'],
  ['staff force a cart that is silent', 'staff', 'silent', 202, true],
  ['but not one that is moving', 'staff', 'moving', 403, 'admin_required'],
  ['and where there is nothing to force the lock is like any other', 'staff', 'standing', 202, false],
  ['an admin forces a cart that is moving', 'admin', 'moving', 202, true],
  ['and one that is silent', 'admin', 'silent', 202, true],
]
for (const [what, who, how, status, outcome] of force)
  test(`force: ${what}`, async () => {
    if (how === 'silent') await goesSilent()
    else {
      await cart.settles('course', pass)
      await cart.at('course', how === 'moving' ? 20 : 0, { ts: clock.nowMs() + 1 })
      clock.advance(1)
    }
    const { key } = { user, staff, admin: { key: ADMIN_KEY } }[who]
    const answer = await ask({ force: true }, key)
    assert.equal(answer.status, status)
    assert.equal(answer.body.code ?? answer.body.forced, outcome)
    if (status !== 202) {
      assert.deepEqual(await cart.received(), [])
      return
    }
    assert.equal(await cart.receives('lock'), answer.body.command_id)
    assert.equal((await readCommand(g, answer.body.command_id)).forced, outcome)
    const log = (await g.request('GET', '/audit-log?action=command.created&limit=1')).body
    const [entry] = log.entries
    assert.deepEqual([entry.target, entry.after.forced ?? false], [answer.body.command_id, outcome])
  })

test('a forced lock by staff is not sent to a cart that turns out to be moving', async () => {
  await cart.device.client.unsubscribeAsync(`dev/${cart.hardwareId}/cmd`)
  await cart.lose(g)
  cart = await barn.connect(cart.hardwareId, { subscribes: false })
  await goesSilent()
  const id = await lock({ force: true }, staff.key)
  assert.equal((await readCommand(g, id)).forced, true)
  await cart.at('course', 20)
  await cart.device.client.subscribeAsync(`dev/${cart.hardwareId}/cmd`, { qos: 1 })
  await ends(id, 'failed', 'admin_required')
})

test('a forced lock by a plain user is rejected before any lookup, and force must be a boolean', async () => {
  const body = { command: 'lock', force: true }
  assert.equal((await g.request('POST', '/devices/nowhere/commands', { body, key: user.key })).status, 403)
  for (const force of ['yes', 1, null]) assert.equal((await ask({ force })).status, 400)
})

test('of 34 carts locked together, the one that drives off gets its own result', async () => {
  const { body: group } = await g.request('POST', '/groups', { body: { name: 'Tournament' } })
  const field: BarnCart[] = []
  for (let i = 1; i <= 34; i++) {
    const one = await barn.cart(`t${carts}-${String(i).padStart(2, '0')}`)
    await g.request('PUT', `/groups/${group.group_id}/devices/${one.hardwareId}`)
    field.push(one)
  }
  await Promise.all(field.map((one) => one.at('course', 0)))
  pass()
  const [driver] = field
  await driver?.at('course', 15)
  const asked = (key?: string) =>
    g.request('POST', `/groups/${group.group_id}/commands`, {
      body: { command: 'lock' },
      headers: key === undefined ? {} : { 'idempotency-key': key },
    })
  const { status, body } = await asked('once')
  assert.equal(status, 202)
  assert.equal(body.commands.length, 33)
  assert.deepEqual(body.refused, [{ hardware_id: driver?.hardwareId, code: 'cart_is_moving' }])
  await Promise.all(field.slice(1).map((one) => one.receives('lock')))
  assert.deepEqual(await driver?.received(), [])
  // a repeated request gets the same response, and does nothing more
  const again = await asked('once')
  assert.equal(again.headers.get('idempotency-replayed'), 'true')
  assert.deepEqual(again.body.refused, body.refused)
  assert.equal(again.body.commands.length, 33)
  assert.deepEqual(await field[1]?.received(), [])
  const forced = await g.request('POST', `/groups/${group.group_id}/commands`, {
    body: { command: 'lock', force: true },
    key: staff.key,
  })
  assert.deepEqual(forced.body.refused, [{ hardware_id: driver?.hardwareId, code: 'admin_required' }])
})

test('realtime returns an error with the code, and accepts force as over HTTP', async () => {
  await cart.at('course', 20)
  const { hardwareId } = cart
  const codeFor = async (key: string, force: boolean) => {
    const socket = await g.realtime(key)
    socket.send({ type: 'command', hardwareId, command: 'lock', id: 7, ...(force ? { force } : {}) })
    const { code, id } = await socket.next('error')
    assert.equal(id, 7)
    socket.terminate()
    return code
  }
  assert.equal(await codeFor(ADMIN_KEY, false), 'cart_is_moving')
  assert.equal(await codeFor(staff.key, true), 'admin_required')
  assert.equal(await codeFor(user.key, true), 'admin_required')
  const socket = await g.realtime()
  socket.send({ type: 'command', hardwareId, command: 'lock', force: true })
  const { commandId } = await socket.next('command_sent')
  assert.equal(await cart.receives('lock'), commandId)
  socket.terminate()
})

test('an intent of the head office is rejected with the code, or forced', async () => {
  await cart.at('course', 20)
  const receive = (body: Record<string, unknown>) =>
    g.intents.receive({
      intent_id: randomUUID(),
      seq: Date.now(),
      kind: 'command.send',
      body,
      base_rev: null,
      issued_at_ms: clock.nowMs(),
      expires_at_ms: clock.nowMs() + 60_000,
    })
  const body = { hardware_id: cart.hardwareId, command: 'lock' }
  const refused = await receive(body)
  assert.equal(refused.status, 'rejected')
  assert.match(refused.reason ?? '', /^cart_is_moving: /)
  assert.deepEqual(await cart.received(), [])
  assert.equal((await receive({ ...body, force: true })).status, 'applied')
  await cart.receives('lock')
})

test('a rejected lock is evaluated like any other when it is retried', async () => {
  await goesSilent()
  const id = await lock()
  await cart.receives('locate')
  await cart.at('course', 18)
  await ends(id, 'failed', 'cart_is_moving')
  const retry = () => g.request('POST', `/commands/${id}/retry`)
  assert.equal((await retry()).body.code, 'cart_is_moving')
  pass()
  await cart.at('course', 0)
  const { status, body } = await retry()
  assert.deepEqual([status, body.retry_of, body.forced], [202, id, false])
  assert.equal(await cart.receives('lock'), body.command_id)
})

test('a retry of a forced lock is not forced', async () => {
  await cart.at('course', 20)
  const id = await lock({ force: true })
  await cart.receives('lock')
  await cart.device.ack(id, 'failed', 'jammed')
  await eventually(async () => (await readCommand(g, id)).status === 'failed', 'failed')
  assert.equal((await g.request('POST', `/commands/${id}/retry`)).body.code, 'cart_is_moving')
})
