import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { eventually } from '#shared/testing/eventually.ts'
import { DAY_MS, HOUR_MS, toIso } from '#shared/time.ts'
import type { DueServiceJson } from '#shared/wire/service/service.ts'
import { fails, ok, pluck, scene } from '#testing/scene.ts'

const NOW = Date.UTC(2026, 4, 4, 10)
const { g, clock, fresh, onlyFor } = scene({
  overrides: { isTimeSynchronized: () => true },
  nowMs: NOW,
  inScope: ['unrelated-1'],
})
let staff: { userId: string; key: string }

before(async () => {
  await ok(g.patch('/site', { time_zone: 'Europe/Berlin' }))
  staff = await g.createUser({ name: 'Jane', role: 'staff', allowed_hardware_ids: ['*'] })
})

async function newCart(): Promise<string> {
  const cart = fresh('c')
  await g.register(cart, 'teebox')
  return cart
}

const create = (body: object, key = staff.key) => ok(g.post('/service-entries', body, { key }), 201)
const plan = (body: object) => ok(g.post('/service-plans', body), 201)
const setMeter = (cart: string, meter: object | null) => ok(g.patch(`/carts/${cart}`, { meter }))

async function dueOf(cart: string, query = ''): Promise<DueServiceJson[]> {
  const { due } = await ok(g.get(`/service-due${query}`))
  return due.filter((one: DueServiceJson) => one.cart === cart)
}

describe('access', () => {
  onlyFor(
    'staff',
    ['GET', '/service-entries'],
    ['POST', '/service-entries', { cart: '1', what: 'x' }],
    ['PATCH', '/service-entries/1', {}],
    ['GET', '/service-plans'],
    ['GET', '/service-due'],
    ['GET', '/carts/1/meter'],
  )
  onlyFor(
    'admins',
    ['DELETE', '/service-entries/1'],
    ['POST', '/service-plans', { name: 'x', every: { days: 1 } }],
    ['PATCH', '/service-plans/1', {}],
    ['DELETE', '/service-plans/1'],
  )

  test('staff with a limited scope see and make entries of their carts only', async () => {
    const [mine, other] = [await newCart(), await newCart()]
    await create({ cart: mine, what: 'Washed' })
    const hidden = await create({ cart: other, what: 'Washed' })
    const { plan_id } = await plan({ name: 'Both', every: { days: 9 }, carts: [mine, other] })
    const { key } = await g.createUser({ role: 'staff', allowed_hardware_ids: [mine] })
    assert.deepEqual(pluck((await ok(g.get('/service-entries', { key }))).entries, 'cart'), [mine])
    const { due } = await ok(g.get('/service-due', { key }))
    assert.deepEqual(pluck(due, 'cart'), [mine])
    const [shown] = await ok(g.get('/service-plans?order=desc', { key }))
    assert.deepEqual([shown.plan_id, shown.carts], [plan_id, [mine]])
    await fails(g.post('/service-entries', { cart: other, what: 'x' }, { key }), 403, 'cart_forbidden')
    await fails(g.patch(`/service-entries/${hidden.entry_id}`, {}, { key }), 403, 'cart_forbidden')
    await fails(g.get(`/carts/${other}/meter`, { key }), 403, 'cart_forbidden')
    await fails(g.patch(`/carts/${mine}`, { meter: { hours: 1 } }, { key }), 403, 'admin_required')
    await ok(g.remove(`/service-plans/${plan_id}`))
  })
})

describe('an entry', () => {
  test('has its defaults and the meter, is changed, listed and deleted', async () => {
    const cart = await newCart()
    await setMeter(cart, { hours: 412.5, km: 2810.25, rounds: 143 })
    const made = await create({ cart, what: ' Brakes adjusted ' })
    assert.deepEqual(made, {
      entry_id: made.entry_id,
      cart,
      done_at: toIso(clock.nowMs()),
      what: 'Brakes adjusted',
      plan_id: null,
      done_by: null,
      hours: 412.5,
      km: 2810.25,
      rounds: 143,
      cost: null,
      note: null,
      out_of_service: null,
      by: { user_id: staff.userId, name: 'Jane' },
      created_at: toIso(clock.nowMs()),
    })
    const path = `/service-entries/${made.entry_id}`
    const patch = { cost: 49.55, done_by: 'Workshop', note: 'both', done_at: '2026-05-03T08:00:00Z' }
    const changed = await ok(g.patch(path, patch, { key: staff.key }))
    assert.deepEqual(changed, { ...made, ...patch, done_at: '2026-05-03T08:00:00.000Z' })
    assert.deepEqual((await ok(g.patch(path, { cost: null }))).cost, null)
    const newer = await create({ cart, what: 'Tyre' })
    const { entries } = await ok(g.get(`/service-entries?cart=${cart}`))
    assert.deepEqual(pluck(entries, 'entry_id'), [newer.entry_id, made.entry_id])
    const before = await ok(g.get(`/service-entries?cart=${cart}&to=2026-05-03T09:00:00Z&order=asc`))
    assert.deepEqual(pluck(before.entries, 'entry_id'), [made.entry_id])
    const csv = await g.get(`/service-entries?cart=${cart}&format=csv`)
    assert.match(String(csv.body), /^entry_id,cart,done_at,what/)
    assert.deepEqual(await ok(g.remove(path)), { success: true, deleted: made.entry_id })
    await fails(g.remove(path), 404, 'entry_not_found')
    const log = await ok(g.get('/audit-log?limit=1000'))
    const mine = log.entries.filter(({ target }: { target: string }) => target === made.entry_id)
    assert.deepEqual(pluck(mine, 'action'), [
      'service_entry.deleted',
      'service_entry.updated',
      'service_entry.updated',
      'service_entry.created',
    ])
    assert.equal(mine[2].after.note, '(changed)')
  })

  const bad: [body: object, name: string, code?: string][] = [
    [{ what: '' }, 'what'],
    [{ what: 'x'.repeat(201) }, 'what'],
    [{ what: 'x', cost: 1.005 }, 'cost'],
    [{ what: 'x', cost: -1 }, 'cost'],
    [{ what: 'x', done_by: 'x'.repeat(101) }, 'done_by'],
    [{ what: 'x', done_at: toIso(NOW + DAY_MS) }, 'done_at'],
    [{ what: 'x', hours: 3 }, 'hours', 'unknown_field'],
  ]
  for (const [body, name, code = 'invalid_field'] of bad)
    test(`with a wrong ${name} is 400 ${code}: ${JSON.stringify(body).slice(0, 40)}`, async () => {
      const cart = await newCart()
      const { errors } = await fails(g.post('/service-entries', { cart, ...body }), 400, code)
      assert.equal(errors[0].name, name)
    })

  test('of an unknown cart or plan is 404', async () => {
    const cart = await newCart()
    await fails(g.post('/service-entries', { cart: '99', what: 'x' }), 404, 'cart_not_found')
    await fails(g.post('/service-entries', { cart, what: 'x', plan_id: 'none' }), 404, 'plan_not_found')
  })

  test('is made by putting a cart in service again, in the language of the site', async () => {
    const cart = await newCart()
    await fails(g.patch(`/carts/${cart}`, { out_of_service: {} }), 400, 'missing_field')
    const out = await ok(g.patch(`/carts/${cart}`, { out_of_service: { reason: 'tyre' } }))
    assert.deepEqual([out.out_of_service.why, out.out_of_service.reason], ['Tyre', 'tyre'])
    const since = toIso(clock.nowMs())
    clock.advance(HOUR_MS)
    await ok(g.patch(`/carts/${cart}`, { out_of_service: null }, { key: staff.key }))
    await ok(g.patch(`/carts/${cart}`, { out_of_service: null }))
    const { entries } = await ok(g.get(`/service-entries?cart=${cart}`))
    assert.deepEqual(pluck(entries, 'what', 'plan_id'), [['Tyre', null]])
    assert.deepEqual(entries[0].out_of_service, { since, until: toIso(clock.nowMs()), reason: 'tyre' })
    assert.equal(entries[0].by.name, 'Jane')
    await ok(g.patch('/site', { language: 'de' }))
    const german = await ok(g.patch(`/carts/${cart}`, { out_of_service: { reason: 'tyre' } }))
    await ok(g.patch('/site', { language: 'en' }))
    assert.equal(german.out_of_service.why, 'Reifen')
    const words = await ok(g.patch(`/carts/${cart}`, { out_of_service: { why: 'Flat' } }))
    assert.deepEqual([words.out_of_service.why, words.out_of_service.reason], ['Flat', 'tyre'])
  })
})

describe('a plan', () => {
  test('has its defaults, is changed and deleted', async () => {
    const made = await plan({ name: 'Brakes', every: { hours: 250 } })
    const { userId, name } = { userId: made.by.user_id, name: made.by.name }
    assert.deepEqual(made, {
      plan_id: made.plan_id,
      name: 'Brakes',
      every: { hours: 250 },
      carts: null,
      vehicle_kind: 'golf_cart',
      soon_percent: 10,
      by: { user_id: userId, name },
      created_at: toIso(clock.nowMs()),
    })
    const path = `/service-plans/${made.plan_id}`
    const changed = await ok(g.patch(path, { every: { hours: null, days: 90 }, soon_percent: 20 }))
    assert.deepEqual(changed, { ...made, every: { days: 90 }, soon_percent: 20 })
    await fails(g.patch(path, { every: { days: null } }), 400, 'invalid_field')
    await fails(g.patch(path, { carts: ['99'] }), 404, 'cart_not_found')
    assert.deepEqual(await ok(g.remove(path)), { success: true, deleted: made.plan_id })
    await fails(g.patch(path, {}), 404, 'plan_not_found')
  })

  for (const [body, name] of [
    [{ name: '', every: { days: 1 } }, 'name'],
    [{ name: 'x', every: {} }, 'every'],
    [{ name: 'x', every: { days: 0 } }, 'every.days'],
    [{ name: 'x', every: { km: -1 } }, 'every.km'],
    [{ name: 'x', every: { days: 1 }, soon_percent: 51 }, 'soon_percent'],
    [{ name: 'x', every: { days: 1 }, carts: [] }, 'carts'],
  ] as const)
    test(`with a wrong ${name} is 400`, async () => {
      const { errors } = await fails(g.post('/service-plans', body), 400, 'invalid_field')
      assert.equal(errors[0].name, name)
    })

  test('counts from its making, then from the newest entry; what is due first comes first', async () => {
    const cart = await newCart()
    await setMeter(cart, { hours: 40, km: 0, rounds: 0 })
    const { plan_id } = await plan({ name: 'Wash', every: { hours: 10, days: 30 }, carts: [cart] })
    assert.deepEqual(await dueOf(cart), [
      { cart, plan_id, name: 'Wash', state: 'ok', left: { hours: 10, days: 30 }, last_done_at: null },
    ])
    await setMeter(cart, { hours: 49 })
    assert.deepEqual(pluck(await dueOf(cart, '?state=soon'), 'state'), ['soon'])
    await setMeter(cart, { hours: 51.5 })
    assert.deepEqual(pluck(await dueOf(cart), 'state', 'left'), [['due', { hours: -1.5, days: 30 }]])
    const { done_at } = await create({ cart, what: 'Washed', plan_id })
    assert.deepEqual(pluck(await dueOf(cart), 'state', 'last_done_at'), [['ok', done_at]])
    const csv = await g.get('/service-due?format=csv')
    assert.match(String(csv.body), /^cart,plan_id,name,state,/)
    await ok(g.remove(`/service-plans/${plan_id}`))
  })

  test('there are fifty at most', async () => {
    const made: string[] = []
    const listed = await ok(g.get('/service-plans'))
    for (let n = listed.length; n < 50; n++) made.push((await plan({ name: `${n}`, every: { days: 9 } })).plan_id)
    await fails(g.post('/service-plans', { name: 'x', every: { days: 1 } }), 409, 'too_many_plans')
    for (const id of made) await ok(g.remove(`/service-plans/${id}`))
  })
})

describe('the alert', () => {
  const openOf = async (cart: string) => {
    const { alerts } = await ok(g.get(`/alerts?kind=service_due&state=open`))
    return alerts.filter((one: { cart: string }) => one.cart === cart)
  }
  const has = (cart: string, count: number) =>
    eventually(async () => (await openOf(cart)).length === count, `the cart has ${count} alerts`)

  test('opens with a meter, closes with an entry, a plan, or another kind', async () => {
    const cart = await newCart()
    const { plan_id } = await plan({ name: 'Brakes', every: { hours: 10 }, carts: [cart] })
    await setMeter(cart, { hours: 10 })
    await has(cart, 1)
    const [alert] = await openOf(cart)
    assert.deepEqual(alert.details, { plan_id, name: 'Brakes' })
    const entry = await create({ cart, what: 'Done', plan_id })
    await has(cart, 0)
    await ok(g.remove(`/service-entries/${entry.entry_id}`))
    await has(cart, 1)
    await ok(g.patch(`/service-plans/${plan_id}`, { every: { hours: 11 } }))
    await has(cart, 0)
    await ok(g.patch(`/service-plans/${plan_id}`, { every: { hours: 9 } }))
    await has(cart, 1)
    await ok(g.remove(`/service-plans/${plan_id}`))
    await has(cart, 0)
  })

  test('does not open for a cart out of service, but once it is back', async () => {
    const cart = await newCart()
    await ok(g.patch(`/carts/${cart}`, { out_of_service: { reason: 'brakes' }, meter: { hours: 100 } }))
    const { plan_id } = await plan({ name: 'Days', every: { hours: 1 }, carts: [cart] })
    await setMeter(cart, { hours: 200 })
    await eventually(async () => (await dueOf(cart))[0]?.state === 'due', 'it is due')
    await ok(g.patch(`/carts/${cart}`, { out_of_service: null }))
    await has(cart, 1)
    await ok(g.remove(`/service-plans/${plan_id}`))
  })
})
