import assert from 'node:assert/strict'
import { before, beforeEach, describe, test } from 'node:test'
import { eventually } from '#shared/testing/eventually.ts'
import { HOUR_MS, MINUTE_MS, toIso } from '#shared/time.ts'
import type { PartyJson } from '#shared/wire/parties/parties.ts'
import { Barn, type BarnCart, cartBecomes } from '#testing/course/barn.ts'
import { RealtimeClient } from '#testing/realtime-client.ts'
import { fails, ok, pluck, scene } from '#testing/scene.ts'

const { g, clock, fresh, onlyFor } = scene({
  overrides: { isTimeSynchronized: () => true },
  nowMs: Date.UTC(2026, 4, 1, 10),
  inScope: ['unrelated-1'],
})
let barn: Barn
let staff: { userId: string; key: string }
const pass = () => clock.advance(1000)

before(async () => {
  await ok(g.patch('/site', { time_zone: 'Europe/Berlin' }))
  barn = await Barn.draw(g)
  staff = await g.createUser({ name: 'Jane', role: 'staff', allowed_hardware_ids: ['*'] })
})
beforeEach(() => clock.advance(MINUTE_MS))

async function parked(): Promise<BarnCart> {
  const cart = await barn.cart(fresh('c'))
  await cart.settles('barn', pass)
  return cart
}

const post = (path: string, body: object, key = staff.key, headers: Record<string, string> = {}) =>
  g.post(path, body, { key, headers })
const create = (body: object = {}) => ok(post('/parties', body), 201)
const party = (id: string) => ok(g.get(`/parties/${id}`))

const socket = (key: string) => RealtimeClient.open(`${g.http.replace('http', 'ws')}/realtime`, { 'x-api-key': key })

/** Creates a party that plays with this cart, whose driver is Miller. */
async function givenOut(cart: BarnCart, fields: object = {}) {
  const carts = [{ cart: cart.hardwareId, driver: 'Miller' }]
  return create({ players: ['Miller', 'Jones'], carts, unlock: false, ...fields })
}

async function becomes(id: string, isRight: (shown: PartyJson) => boolean) {
  await eventually(async () => isRight(await party(id)), 'the party is as expected')
  return party(id)
}

describe('access', () => {
  onlyFor(
    'staff',
    ['GET', '/parties'],
    ['POST', '/parties', {}],
    ['GET', '/parties/1'],
    ['PATCH', '/parties/1', {}],
    ['DELETE', '/parties/1'],
    ['POST', '/parties/1/carts', { carts: [{ cart: '1' }] }],
    ['POST', '/parties/1/return', {}],
    ['POST', '/parties/1/notes', { text: 'x' }],
  )

  test('staff with a limited scope see parties with a cart in scope or without any, and those carts only', async () => {
    const [mine, other] = [await parked(), await parked()]
    const carts = [mine, other].map(({ hardwareId: cart }) => ({ cart }))
    const both = (await create({ carts, unlock: false })).party
    const hidden = (await givenOut(await parked())).party
    const booked = (await create()).party
    const { key } = await g.createUser({ role: 'staff', allowed_hardware_ids: [mine.hardwareId] })
    const { parties } = await ok(g.get('/parties?limit=1000', { key }))
    const ids = pluck(parties, 'party_id')
    assert.deepEqual(
      [both, hidden, booked].map(({ party_id }) => ids.includes(party_id)),
      [true, false, true],
    )
    const shown = await ok(g.get(`/parties/${both.party_id}`, { key }))
    assert.deepEqual(pluck(shown.carts, 'cart'), [mine.hardwareId])
    await fails(g.get(`/parties/${hidden.party_id}`, { key }), 403, 'cart_forbidden')
    const given = post(`/parties/${booked.party_id}/carts`, { carts: [{ cart: other.hardwareId }] }, key)
    await fails(given, 403, 'cart_forbidden')
    const returned = await ok(post(`/parties/${both.party_id}/return`, {}, key))
    assert.deepEqual(pluck(returned.results, 'cart'), [mine.hardwareId])
    assert.deepEqual(pluck((await party(both.party_id)).carts, 'returned'), ['hand', null])
  })
})

describe('a party', () => {
  test('is booked with its defaults, changed, and deleted', async () => {
    const { party: made, results } = await create()
    assert.deepEqual(results, [])
    assert.deepEqual(made, {
      party_id: made.party_id,
      state: 'booked',
      date: '2026-05-01',
      tee_time: null,
      start_hole: null,
      holes: 18,
      players: [],
      note: null,
      external_id: null,
      source: 'hand',
      until: null,
      is_overdue: false,
      carts: [],
      notes: [],
      created_at: toIso(clock.nowMs()),
      updated_at: toIso(clock.nowMs()),
      by: { user_id: staff.userId, name: 'Jane' },
    })
    const path = `/parties/${made.party_id}`
    const fields = { players: [' Miller '], tee_time: '2026-05-02T22:30:00Z', start_hole: 10, holes: 9, note: 'VIP' }
    const changed = await ok(g.patch(path, fields))
    assert.deepEqual(
      [changed.players, changed.date, changed.tee_time, changed.start_hole, changed.holes, changed.note],
      [['Miller'], '2026-05-03', '2026-05-02T22:30:00.000Z', 10, 9, 'VIP'],
    )
    const cleared = await ok(g.patch(path, { players: null, tee_time: null, holes: null, note: null }))
    assert.deepEqual([cleared.players, cleared.date, cleared.holes], [[], '2026-05-01', 18])
    assert.deepEqual(await ok(g.remove(path)), { success: true, deleted: made.party_id })
    await fails(g.get(path), 404, 'party_not_found')
  })

  const REFUSED: [object, string][] = [
    [{ players: Array(9).fill('A') }, 'players'],
    [{ players: ['x'.repeat(101)] }, 'players[0]'],
    [{ holes: 12 }, 'holes'],
    [{ start_hole: 100 }, 'start_hole'],
    [{ tee_time: 'noon' }, 'tee_time'],
    [{ note: 'x'.repeat(501) }, 'note'],
    [{ external_id: '' }, 'external_id'],
    [{ carts: [{ cart: '1', driver: '' }] }, 'carts[0].driver'],
  ]
  for (const [body, name] of REFUSED)
    test(`is rejected for its ${name}`, async () => {
      const { errors } = (await post('/parties', body)).body
      assert.equal(errors[0].name, name)
    })

  test('has an external_id of its own on its day', async () => {
    const external_id = fresh('B')
    await create({ external_id })
    await fails(post('/parties', { external_id }), 409, 'party_exists')
    const tomorrow = await create({ external_id, tee_time: '2026-05-02T10:00:00Z' })
    await fails(g.patch(`/parties/${tomorrow.party.party_id}`, { tee_time: null }), 409, 'party_exists')
  })

  test('has its newest twenty notes, and a repeated note once', async () => {
    const { party_id } = (await create()).party
    const note = (text: string) => ok(post(`/parties/${party_id}/notes`, { text }), 201)
    await note('Asked to keep up')
    assert.equal((await note('Asked to keep up')).notes.length, 1)
    clock.advance(10_000)
    assert.equal((await note('Asked to keep up')).notes.length, 2)
    for (let i = 0; i < 20; i++) await note(`Note ${i}`)
    const { notes } = await party(party_id)
    assert.deepEqual([notes.length, notes[0].text, notes[0].by.name], [20, 'Note 0', 'Jane'])
  })

  test('is listed by day, state, cart and text', async () => {
    const cart = await parked()
    const late = (await create({ tee_time: '2026-06-01T15:00:00Z', players: ['Öztürk'] })).party.party_id
    const early = (await create({ tee_time: '2026-06-01T08:00:00Z', external_id: 'Club-7' })).party.party_id
    const out = (await givenOut(cart, { tee_time: '2026-06-02T08:00:00Z' })).party.party_id
    const ids = async (query: string) => pluck((await ok(g.get(`/parties?${query}`))).parties, 'party_id')
    assert.deepEqual(await ids('date=2026-06-01'), [early, late])
    assert.deepEqual(await ids('from=2026-06-01&to=2026-06-02&order=desc'), [out, late, early])
    assert.deepEqual(await ids('from=2026-06-01&to=2026-06-02&limit=1&offset=1'), [late])
    assert.deepEqual(await ids('date=2026-06-02&state=out'), [out])
    assert.deepEqual(await ids('date=2026-06-01&state=out'), [])
    assert.deepEqual(await ids(`cart=${cart.hardwareId}`), [out])
    assert.deepEqual(await ids('search=öZTÜRK'), [late])
    assert.deepEqual(await ids('search=club-7'), [early])
    assert.deepEqual(await ids(`search=${cart.hardwareId}`), [out])
    const csv = await g.get('/parties?date=2026-06-01&format=csv')
    assert.equal(csv.status, 200)
    for (const query of ['date=today', 'from=2026-06-02&to=2026-06-01', 'state=late'])
      assert.equal((await g.get(`/parties?${query}`)).status, 400)
  })
})

describe('a hand-out', () => {
  test('gives out and unlocks all carts in one action', async () => {
    const [one, two] = [await parked(), await parked()]
    const carts = [{ cart: one.hardwareId, driver: 'Miller' }, { cart: two.hardwareId }]
    const made = await create({ players: ['Miller'], carts })
    const { party_id, state, until } = made.party
    assert.deepEqual([state, until], ['out', toIso(clock.nowMs() + 18 * 15 * MINUTE_MS + 30 * MINUTE_MS)])
    await one.receives('unlock')
    await two.receives('unlock')
    const command = await ok(g.get(`/commands/${made.results[0].command_id}`))
    assert.deepEqual([command.command, command.metadata, command.requested_by], ['unlock', { party_id }, staff.userId])
    const shown = (await ok(g.get(`/carts/${one.hardwareId}`))).party
    assert.deepEqual(
      [shown.party_id, shown.players, shown.driver, shown.holes, shown.until, shown.is_overdue, shown.given_at],
      [party_id, ['Miller'], 'Miller', 18, until, false, toIso(clock.nowMs())],
    )
    const { key } = await g.createUser({ role: 'user', allowed_hardware_ids: ['*'] })
    const seen = (await ok(g.get(`/carts/${one.hardwareId}`, { key }))).party
    assert.deepEqual([seen.party_id, seen.players, seen.driver], [party_id, [], null])
    const found = async (who?: string) =>
      pluck((await ok(g.get('/carts?search=miller', who === undefined ? {} : { key: who }))).carts, 'cart')
    assert.ok((await found()).includes(two.hardwareId))
    assert.deepEqual(await found(key), [])
  })

  test('gives an offline cart, and one without a lock', async () => {
    const away = await parked()
    await away.lose(g)
    const id = fresh('caddie')
    const config_schema = { type: 'object', properties: {} }
    await ok(g.put('/device-types/tracker', { description: 'Tracker', defaults: {}, commands: {}, config_schema }))
    await g.register(id, 'tracker')
    const { results } = await create({ carts: [{ cart: away.hardwareId }, { cart: id }] })
    assert.equal((await ok(g.get(`/commands/${results[0].command_id}`))).status, 'pending')
    assert.deepEqual(results[1], { cart: id, command_id: null })
  })

  test('is all or nothing', async () => {
    const [good, given, broken, ranger] = [await parked(), await parked(), await parked(), await parked()]
    await givenOut(given)
    await ok(g.patch(`/carts/${broken.hardwareId}`, { out_of_service: { why: 'Tyre' } }))
    await ok(g.patch(`/carts/${ranger.hardwareId}`, { kind: 'ranger' }))
    const before = (await ok(g.get('/parties?limit=1000'))).parties.length
    const cases: [string, number, string][] = [
      ['nothing', 404, 'cart_not_found'],
      [given.hardwareId, 409, 'cart_given_out'],
      [broken.hardwareId, 409, 'cart_out_of_service'],
      [ranger.hardwareId, 409, 'not_a_golf_cart'],
      [good.hardwareId, 400, 'invalid_field'],
    ]
    for (const [cart, status, code] of cases) {
      const { errors } = await fails(post('/parties', { carts: [{ cart: good.hardwareId }, { cart }] }), status, code)
      assert.deepEqual([errors[0].name, errors[0].code], ['carts[1].cart', code])
    }
    assert.equal((await ok(g.get('/parties?limit=1000'))).parties.length, before)
    assert.deepEqual(await good.received(), [])
    assert.equal((await ok(g.get(`/carts/${good.hardwareId}`))).party, null)
  })

  test('moves a cart from another party', async () => {
    const cart = await parked()
    const first = (await givenOut(cart)).party.party_id
    const second = (await givenOut(cart, { move: true })).party.party_id
    const { state, carts } = await party(first)
    assert.deepEqual([state, carts[0].returned, carts[0].returned_at], ['over', 'moved', toIso(clock.nowMs())])
    assert.equal((await ok(g.get(`/carts/${cart.hardwareId}`))).party.party_id, second)
  })

  test('is repeated with its Idempotency-Key without a second party', async () => {
    const cart = await parked()
    const body = { players: ['Miller'], carts: [{ cart: cart.hardwareId }] }
    const headers = { 'idempotency-key': fresh('k') }
    const first = await ok(post('/parties', body, staff.key, headers), 201)
    const again = await post('/parties', body, staff.key, headers)
    assert.deepEqual([again.status, again.body], [201, first])
    assert.equal(again.headers.get('idempotency-replayed'), 'true')
    await fails(post('/parties', { ...body, holes: 9 }, staff.key, headers), 409, 'idempotency_key_reused')
  })

  test('adds a cart to a party that is out, and none to one that is over', async () => {
    const [one, two] = [await parked(), await parked()]
    const { party_id } = (await givenOut(one)).party
    const path = `/parties/${party_id}`
    const added = await ok(post(`${path}/carts`, { carts: [{ cart: two.hardwareId }], until: '2026-05-01T18:00:00Z' }))
    assert.deepEqual([added.party.carts.length, added.party.until], [2, '2026-05-01T18:00:00.000Z'])
    const { carts } = await ok(g.patch(path, { drivers: { [two.hardwareId]: 'Jones', [one.hardwareId]: null } }))
    assert.deepEqual(pluck(carts, 'driver'), [null, 'Jones'])
    await fails(g.patch(path, { drivers: { nothing: 'x' } }), 404, 'cart_not_found')
    await fails(g.remove(path), 409, 'party_is_out')
    await ok(post(`${path}/return`, {}))
    assert.equal((await party(party_id)).state, 'over')
    await fails(post(`${path}/carts`, { carts: [{ cart: two.hardwareId }] }), 409, 'party_is_over')
    await fails(g.remove(path), 409, 'party_is_over')
  })
})

describe('a return', () => {
  test('by hand locks carts by the rule of the barn, and names the reason for others', async () => {
    const [inside, outside] = [await parked(), await parked()]
    const carts = [inside, outside].map(({ hardwareId: cart }) => ({ cart }))
    const { party_id } = (await create({ carts, unlock: false })).party
    await outside.settles('course', pass)
    const path = `/parties/${party_id}/return`
    await fails(post(path, { carts: ['nothing'] }), 404, 'cart_not_found')
    const { results, party: now } = await ok(post(path, { lock: true }))
    await inside.receives('lock')
    assert.equal(typeof results[0].command_id, 'string')
    assert.deepEqual(results[1], { cart: outside.hardwareId, code: 'on_course' })
    assert.deepEqual([now.state, ...pluck(now.carts, 'returned')], ['over', 'hand', 'hand'])
  })

  test('happens by itself once a used cart is locked in the barn for two minutes', async () => {
    const [used, unused] = [await parked(), await parked()]
    for (const cart of [used, unused]) await cart.tag('lock', fresh('e'))
    await cartBecomes(g, unused.hardwareId, ({ lock }) => lock?.is_locked === true, 'is locked')
    pass()
    const carts = [used, unused].map(({ hardwareId: cart }) => ({ cart }))
    const { party_id } = (await create({ carts, unlock: false })).party
    pass()
    await used.tag('unlock', fresh('e'))
    await used.settles('course', pass)
    await used.settles('barn', pass)
    await used.tag('lock', fresh('e'))
    await cartBecomes(g, used.hardwareId, ({ lock }) => lock?.is_locked === true, 'is locked')
    clock.advance(MINUTE_MS)
    assert.equal((await party(party_id)).carts[0].returned, null)
    clock.advance(MINUTE_MS)
    pass()
    const { state, carts: now } = await becomes(party_id, ({ carts: some }) => pluck(some, 'returned')[0] !== null)
    assert.deepEqual([state, ...pluck(now, 'returned')], ['out', 'parked', null])
  })

  test('after closing takes carts in the barn, others when they come in or at the next opening', async () => {
    const day = ['07:00', '20:00']
    const opening_hours = Object.fromEntries(['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'].map((one) => [one, day]))
    await ok(g.patch('/site', { opening_hours }))
    const [inside, late, lost] = [await parked(), await parked(), await parked()]
    const carts = [inside, late, lost].map(({ hardwareId: cart }) => ({ cart }))
    const { party_id } = (await create({ carts, unlock: false })).party
    for (const cart of [late, lost]) await cart.settles('course', pass)
    clock.advance(Date.UTC(2026, 4, 1, 18) - clock.nowMs())
    const returned = async () => pluck((await party(party_id)).carts, 'returned')
    await becomes(party_id, ({ carts: some }) => pluck(some, 'returned')[0] === 'closing')
    assert.deepEqual(await returned(), ['closing', null, null])
    assert.equal((await party(party_id)).is_overdue, true)
    await late.settles('barn', pass)
    await becomes(party_id, ({ carts: some }) => pluck(some, 'returned')[1] === 'closing')
    clock.advance(Date.UTC(2026, 4, 2, 5) - clock.nowMs())
    await becomes(party_id, ({ state }) => state === 'over')
    assert.deepEqual(await returned(), ['closing', 'closing', 'closing'])
    const { entries } = await ok(g.get(`/audit-log?action=party.updated&limit=1`))
    assert.deepEqual([entries[0].target, entries[0].user_id], [party_id, null])
    await ok(g.patch('/site', { opening_hours: null }))
  })
})

test('realtime sends changes of parties and carts to staff', async () => {
  const cart = await parked()
  const { key } = await g.createUser({ role: 'user', allowed_hardware_ids: ['*'] })
  const [realtime, user] = [await socket(staff.key), await socket(key)]
  for (const client of [realtime, user]) await client.subscribe(cart.hardwareId)
  const { party_id } = (await givenOut(cart)).party
  const sent = await realtime.next('party')
  assert.deepEqual([sent.event, sent.party.party_id, sent.party.players], ['changed', party_id, ['Miller', 'Jones']])
  let seen = await user.next('cart')
  while (seen.cart.party === null) seen = await user.next('cart')
  assert.deepEqual([seen.cart.party.party_id, seen.cart.party.players, seen.cart.party.driver], [party_id, [], null])
  const booked = (await create()).party.party_id
  assert.equal((await realtime.next('party')).party.party_id, booked)
  await g.remove(`/parties/${booked}`)
  const removed = await realtime.next('party')
  assert.deepEqual([removed.event, removed.party.party_id], ['removed', booked])
  assert.deepEqual(
    (await user.flush()).filter(({ type }) => type === 'party'),
    [],
  )
})

test('parties and the carts that are out survive a restart', async () => {
  const cart = await parked()
  const { party_id } = (await givenOut(cart)).party
  await g.restart(() => clock.advance(HOUR_MS))
  assert.equal((await party(party_id)).state, 'out')
  assert.equal((await ok(g.get(`/carts/${cart.hardwareId}`))).party.driver, 'Miller')
})
