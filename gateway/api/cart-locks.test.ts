import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { Barn, type BarnCart, cartBecomes } from '#testing/course/barn.ts'
import { fails, ok, scene } from '#testing/scene.ts'
import { ADMIN_KEY, metric } from '#testing/start-gateway.ts'

const { g, clock } = scene()
let barn: Barn
let staff: { userId: string; key: string }
let partial: { userId: string; key: string }
const carts = new Map<string, BarnCart>()
const pass = () => clock.advance(1000)
const cart = (name: string): BarnCart => {
  const known = carts.get(name)
  if (known === undefined) throw new Error(`no cart ${name}`)
  return known
}

before(async () => {
  barn = await Barn.draw(g)
  for (const name of ['b-2', 'b-10', 'locked', 'broken', 'driving', 'away', 'unseen', 'elsewhere', 'marshal'])
    carts.set(name, await barn.cart(name, { isGrouped: name !== 'elsewhere' }))
  for (const name of ['b-2', 'b-10', 'locked', 'broken', 'driving', 'elsewhere', 'marshal'])
    await cart(name).settles('barn', pass)
  await cart('away').settles('course', pass)
  await cart('driving').at('barn', 20, { ts: clock.nowMs() + 1 })
  await cart('locked').tag('lock', '1')
  await ok(g.patch('/carts/broken', { out_of_service: { why: 'Tyre' } }))
  await ok(g.patch('/carts/marshal', { kind: 'ranger' }))
  await cartBecomes(g, 'locked', ({ lock }) => lock?.is_locked === true, 'is locked')
  staff = await g.createUser({ role: 'staff', allowed_hardware_ids: ['*'] })
  partial = await g.createUser({ role: 'staff', allowed_hardware_ids: ['b-2', 'away', 'elsewhere'] })
})

const ask = (body: unknown, key = staff.key, headers: Record<string, string> = {}) =>
  g.post('/carts/lock', body, { key, headers })

/** Returns for each cart the error code, or a mark that it has a command. */
async function outcome(body: unknown, key = staff.key): Promise<[string, string][]> {
  const answer = await ok(ask(body, key), 202)
  return answer.results.map((result: { cart: string; code?: string; command_id?: string }) => {
    assert.equal('command_id' in result, !('code' in result))
    return [result.cart, result.code ?? 'sent']
  })
}

async function received(): Promise<string[]> {
  const names: string[] = []
  for (const [name, { device }] of carts) if ((await device.flush()).some(({ cmd }) => cmd === 'lock')) names.push(name)
  return names
}

test('"in" locks all unlocked carts in service in the barn, in natural order', async () => {
  assert.deepEqual(await outcome({ carts: 'in' }), [
    ['b-2', 'sent'],
    ['b-10', 'sent'],
    ['driving', 'cart_is_moving'],
  ])
  assert.deepEqual(await received(), ['b-2', 'b-10'])
})

test('named carts are processed in request order, each once, with the first reason that applies', async () => {
  const names = ['away', 'b-10', 'nobody', 'b-10', 'locked', 'broken', 'unseen', 'driving', 'elsewhere']
  assert.deepEqual(await outcome({ carts: names }), [
    ['away', 'on_course'],
    ['b-10', 'sent'],
    ['nobody', 'cart_not_found'],
    ['locked', 'sent'],
    ['broken', 'sent'],
    ['unseen', 'on_course'],
    ['driving', 'cart_is_moving'],
    // it stands in the barn, but the barn is not its parking zone
    ['elsewhere', 'on_course'],
  ])
  assert.deepEqual(await received(), ['b-10', 'locked', 'broken'])
})

test('a vehicle that is no golf cart is locked by name', async () => {
  assert.deepEqual(await outcome({ carts: ['marshal'] }), [['marshal', 'sent']])
  assert.deepEqual(await received(), ['marshal'])
})

test('carts outside the scope are forbidden by name and left out of "in"', async () => {
  assert.deepEqual(await outcome({ carts: ['b-10', 'b-2'] }, partial.key), [
    ['b-10', 'cart_forbidden'],
    ['b-2', 'sent'],
  ])
  assert.deepEqual(await outcome({ carts: 'in' }, partial.key), [['b-2', 'sent']])
})

test('command and audit entry name the staff member and hold the metadata of the request', async () => {
  const { body } = await ask({ carts: ['b-2'], metadata: { why: 'Closing time' } })
  const [{ command_id }] = body.results
  const { body: command } = await g.get(`/commands/${command_id}`)
  assert.deepEqual(
    [command.command, command.requested_by, command.metadata, command.forced],
    ['lock', staff.userId, { why: 'Closing time' }, false],
  )
  const { entries } = (await g.get('/audit-log?action=command.created&limit=1')).body
  assert.deepEqual([entries[0].target, entries[0].user_id], [command_id, staff.userId])
})

test('the same request with the same Idempotency-Key gets the same response and one lock', async () => {
  await received()
  const headers = { 'idempotency-key': 'evening' }
  const body = { carts: ['b-2', 'away'] }
  const first = await ask(body, staff.key, headers)
  const again = await ask(body, staff.key, headers)
  assert.deepEqual(again.body, first.body)
  assert.deepEqual(
    [first, again].map((answer) => answer.headers.get('idempotency-replayed')),
    [null, 'true'],
  )
  assert.equal((await cart('b-2').device.flush()).length, 1)
  const other = await ask({ carts: ['b-10'] }, staff.key, headers)
  assert.equal(other.body.code, 'idempotency_key_reused')
})

const bad: [string, unknown][] = [
  ['no carts', {}],
  ['an empty list', { carts: [] }],
  ['another word', { carts: 'out' }],
  ['numbers', { carts: [17] }],
  ['an empty name', { carts: [''] }],
  ['501 carts', { carts: Array.from({ length: 501 }, (_, i) => `c${i}`) }],
  ['force, which is for one cart', { carts: ['b-2'], force: true }],
  ['metadata that is too large', { carts: ['b-2'], metadata: { text: 'x'.repeat(5000) } }],
]
for (const [what, body] of bad)
  test(`a request is rejected: ${what}`, async () => {
    assert.equal((await ask(body)).status, 400)
    assert.deepEqual(await received(), [])
  })

test('500 carts are accepted, and a plain user is rejected', async () => {
  const names = Array.from({ length: 500 }, (_, i) => `c${i}`)
  assert.equal((await outcome({ carts: names })).length, 500)
  const user = await g.createUser({ allowed_hardware_ids: ['*'] })
  await fails(ask({ carts: 'in' }, user.key), 403, 'staff_required')
})

test('locks on the course are counted', async () => {
  const before = await metric(g, 'cartbarn_locks_refused_total', 'on_course')
  await outcome({ carts: ['away', 'unseen'] })
  assert.equal((await metric(g, 'cartbarn_locks_refused_total', 'on_course')) - before, 2)
})

test('while no cart of the scope has a parking zone nothing is locked', async () => {
  const lost = await g.createUser({ role: 'staff', allowed_hardware_ids: ['elsewhere'] })
  await fails(ask({ carts: ['elsewhere'] }, lost.key), 409, 'no_parking_zone')
  await barn.redraw('stop')
  assert.equal((await ask({ carts: 'in' }, ADMIN_KEY)).body.code, 'no_parking_zone')
  await barn.redraw('parking')
  await ok(ask({ carts: 'in' }, ADMIN_KEY), 202)
})
