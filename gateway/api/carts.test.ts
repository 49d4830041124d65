import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { FakeClock } from '#shared/testing/clocks.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { DAY_MS, MINUTE_MS, toIso } from '#shared/time.ts'
import { Course, courseZones, PLACES } from '#testing/course/course.ts'
import { ok, pluck, scene } from '#testing/scene.ts'
import { startFor } from '#testing/start-gateway.ts'

const { g, clock, course, fresh, onlyFor } = scene({ inScope: ['unrelated-1'] })
const iso = () => toIso(clock.nowMs())

before(() => course.group(7))

async function newDevice(fields?: Parameters<Course['device']>[1]) {
  const id = fresh('d')
  return { id, device: await course.device(id, fields) }
}

describe('access', () => {
  for (const path of ['/carts', '/carts/1']) onlyFor('any key', ['GET', path])
  onlyFor('staff', ['PATCH', '/carts/1', {}])

  test('an unknown cart is not found, and one outside the scope is forbidden', async () => {
    const id = fresh('d')
    await course.device(id, { cart: `C${id}` })
    const { key } = await g.createUser({ allowed_hardware_ids: ['other'], role: 'staff' })
    for (const method of ['GET', 'PATCH']) {
      const ask = (cart: string) =>
        g.request(method, `/carts/${cart}`, { key, ...(method === 'PATCH' && { body: {} }) })
      assert.deepEqual([(await ask('nothing')).status, (await ask('nothing')).body.code], [404, 'cart_not_found'])
      assert.deepEqual([(await ask(`C${id}`)).status, (await ask(`C${id}`)).body.code], [403, 'cart_forbidden'])
      assert.equal((await ask(id)).body.code, 'cart_forbidden')
    }
    const list = await g.get('/carts', { key })
    assert.deepEqual(list.body.carts, [])
    assert.equal(list.body.counts.total, 0)
  })
})

describe('a cart', () => {
  test('of a device that sent nothing is a cart of its own with an unknown state', async () => {
    const { id, device } = await newDevice()
    await device.leave()
    await eventually(async () => !(await course.cart(id)).devices[0]?.is_online, 'the device is offline')
    assert.deepEqual(await course.cart(id), {
      cart: id,
      kind: 'golf_cart',
      devices: [{ hardware_id: id, device_type: 'teebox', is_online: false }],
      state: 'unknown',
      is_moving: false,
      is_low: false,
      is_asleep: false,
      position: null,
      zones: [],
      lock: null,
      out_since: null,
      last_heard_at: null,
      battery: null,
      out_of_service: null,
      exempt: null,
      note: null,
      party: null,
      auto_lock_at: null,
      open_alerts: [],
    })
  })

  test('joins the devices with the same cart by hardware id and is found by either', async () => {
    const [cart, one, two] = [fresh('C'), fresh('a'), fresh('b')]
    await course.device(two, { cart, deviceType: 'cartcaddie' })
    await course.device(one, { cart, name: 'Lock' })
    for (const id of [cart, one, two]) {
      const { cart: key, devices } = await course.cart(id)
      assert.deepEqual([key, devices.map(({ hardware_id }) => hardware_id)], [cart, [one, two]])
    }
  })

  test('has as key its cart, else name, else hardware id, which is also used if the name is taken', async () => {
    const [cart, one, two, three] = [fresh('C'), fresh('d'), fresh('d'), fresh('d')]
    await course.device(one, { cart })
    await course.device(two, { name: cart })
    await course.device(three, { name: `Name ${cart}` })
    assert.equal((await course.cart(cart)).devices[0]?.hardware_id, one)
    assert.equal((await course.cart(two)).cart, two)
    assert.equal((await course.cart(three)).cart, `Name ${cart}`)
    assert.equal((await course.cart(`Name ${cart}`)).cart, `Name ${cart}`)
  })

  for (const name of ['__proto__', 'constructor', '0', '007', 'a/b', 'ä ö', '%2F', '17 #?&'])
    test(`may be called ${name}`, async () => {
      await course.device(fresh('d'), { cart: name })
      assert.equal((await course.cart(name)).cart, name)
      const path = `/carts/${encodeURIComponent(name)}`
      const body = await ok(g.patch(path, { note: 'Squeaks' }))
      assert.deepEqual([body.cart, body.note], [name, 'Squeaks'])
    })

  test('is listed in natural order, and the list counts states and flags', async (t) => {
    const other = await startFor(t, {}, { clock })
    const there = new Course(other, clock)
    await there.group(7)
    assert.equal((await other.get('/carts')).body.has_parking_zone, false)
    for (const cart of ['10', '2', 'x', '1']) await there.device(`d${cart}`, { cart, groupId: 7 })
    const devices = await Promise.all(['30', '31', '32'].map((cart) => there.device(`d${cart}`, { cart, groupId: 7 })))
    const [barn, road, green] = devices
    await barn?.goTo('barn')
    await road?.goTo('road', { speed: 20 })
    await green?.goTo('green')
    await other.patch('/carts/10', { out_of_service: { why: 'Tyre' } })
    const { body } = await other.get('/carts')
    assert.deepEqual(pluck(body.carts, 'cart'), ['1', '2', '10', '30', '31', '32', 'x'])
    assert.deepEqual(body.counts, {
      in: 1,
      out: 1,
      moving: 1,
      low: 0,
      silent: 0,
      outside: 1,
      out_of_service: 1,
      total: 7,
    })
    assert.equal(body.has_parking_zone, true)
  })

  test('of another kind is counted by its kind, and found by it', async (t) => {
    const other = await startFor(t, {}, { clock })
    const there = new Course(other, clock)
    for (const cart of ['1', '2', '3']) await there.device(`d${cart}`, { cart })
    assert.deepEqual((await other.get('/carts')).body.counts_by_kind, {})
    assert.equal(
      (await ok(other.patch('/carts/2', { kind: 'ranger', out_of_service: { why: 'Tyre' } }))).kind,
      'ranger',
    )
    const { body } = await other.get('/carts?kind=ranger')
    assert.deepEqual(pluck(body.carts, 'cart'), ['2'])
    assert.equal(body.counts.total, 2)
    assert.equal(body.counts.out_of_service, 0)
    assert.deepEqual(Object.keys(body.counts_by_kind.ranger), Object.keys(body.counts))
    const { total, out_of_service } = body.counts_by_kind.ranger
    assert.deepEqual([Object.keys(body.counts_by_kind), total, out_of_service], [['ranger'], 1, 1])
    assert.deepEqual(pluck((await other.get('/carts?kind=golf_cart')).body.carts, 'cart'), ['1', '3'])
    assert.equal((await other.get('/carts?kind=tank')).status, 400)
    await other.restart()
    assert.equal((await other.get('/carts/2')).body.kind, 'ranger')
    await other.request('DELETE', '/devices/d2')
    await there.device('d4', { cart: '2' })
    assert.equal((await other.get('/carts/2')).body.kind, 'golf_cart')
  })

  test('has a kind that only admins change', async () => {
    const { id } = await newDevice()
    const { key } = await g.createUser({ role: 'staff' })
    const rejected = await g.patch(`/carts/${id}`, { kind: 'ranger', note: 'Squeaks' }, { key })
    assert.deepEqual([rejected.status, rejected.body.code], [403, 'admin_required'])
    assert.equal((await g.patch('/carts/nothing', { kind: 'ranger' }, { key })).body.code, 'admin_required')
    assert.equal((await g.patch(`/carts/${id}`, { kind: 'tank' })).body.errors[0].name, 'kind')
    const { kind, note } = await course.cart(id)
    assert.deepEqual([kind, note], ['golf_cart', null])
    assert.equal((await ok(g.patch(`/carts/${id}`, { kind: 'greenkeeping' }))).kind, 'greenkeeping')
    assert.equal((await ok(g.patch(`/carts/${id}`, { kind: null }))).kind, 'golf_cart')
  })

  test('is seen when one of its devices is, and all its fields come from those devices', async () => {
    const [cart, lock, screen] = [fresh('C'), fresh('a'), fresh('b')]
    const teebox = await course.device(lock, { cart, groupId: 7 })
    const caddie = await course.device(screen, { cart, deviceType: 'cartcaddie', groupId: 7 })
    await teebox.goTo('barn', { battery_voltage: 50.5, lock_status: 1 })
    await caddie.goTo('fairway')
    const { key } = await g.createUser({ allowed_hardware_ids: [screen] })
    const part = await course.cart(cart, key)
    assert.deepEqual(pluck(part.devices, 'hardware_id'), [screen])
    assert.deepEqual([part.state, part.position?.hardware_id, part.lock, part.battery], ['out', screen, null, null])
    const whole = await course.cart(cart)
    assert.deepEqual([whole.state, whole.position?.hardware_id, whole.lock?.is_locked], ['in', lock, true])
    assert.deepEqual((await g.get('/carts', { key })).body.carts, [part])
  })

  test('with two devices far apart under one number follows the newest lock', async () => {
    const [cart, one, two] = [fresh('C'), fresh('a'), fresh('b')]
    const [a, b] = [await course.device(one, { cart, groupId: 7 }), await course.device(two, { cart, groupId: 7 })]
    await a.goTo('barn')
    clock.advance(1000)
    await b.goTo('road')
    const seen = async () => (({ state, position }) => [state, position?.hardware_id])(await course.cart(cart))
    assert.deepEqual(await seen(), ['outside', two])
    clock.advance(1000)
    await a.goTo('barn')
    assert.deepEqual(await seen(), ['in', one])
  })

  test('takes its position from the screen only when the screen is a minute ahead', async () => {
    const cart = fresh('C')
    const teebox = await course.device(fresh('a'), { cart, groupId: 7 })
    const caddie = await course.device(fresh('b'), { cart, groupId: 7, deviceType: 'cartcaddie' })
    await teebox.goTo('barn')
    clock.advance(59_000)
    await caddie.report('fairway')
    assert.equal((await course.cart(cart)).state, 'in')
    clock.advance(2000)
    await caddie.report('fairway')
    assert.equal((await course.cart(cart)).state, 'out')
  })
})

describe('state and position', () => {
  test('a cart is in the barn, on the course, on the road and back in the barn', async () => {
    const { id, device } = await newDevice({ groupId: 7 })
    const firstMs = clock.nowMs()
    await device.report('barn')
    const inBarn = await course.cart(id)
    assert.equal(inBarn.state, 'in')
    assert.deepEqual(pluck(inBarn.zones, 'zone_id', 'name', 'type'), [
      ['barn', 'The barn', 'parking'],
      ['course', 'The course', 'boundary'],
    ])
    assert.deepEqual([inBarn.zones[0]?.since, inBarn.out_since], [toIso(firstMs), null])
    clock.advance(MINUTE_MS)
    const leftMs = clock.nowMs()
    await device.report('fairway', { speed: 15 })
    // a single fix outside may be an error
    assert.equal((await course.cart(id)).state, 'in')
    clock.advance(5000)
    await device.report('fairway', { speed: 15 })
    const out = await course.cart(id)
    assert.deepEqual([out.state, out.out_since, out.is_moving], ['out', toIso(leftMs), true])
    const { lat, long } = PLACES.fairway
    assert.deepEqual(out.position, { lat, long, speed: 15, heading: 0, at: iso(), hardware_id: id })
    clock.advance(MINUTE_MS)
    assert.equal((await course.cart(id)).is_moving, false)
    await device.goTo('road')
    assert.deepEqual([(await course.cart(id)).state, (await course.cart(id)).out_since], ['outside', toIso(leftMs)])
    await device.goTo('barn')
    assert.deepEqual([(await course.cart(id)).state, (await course.cart(id)).out_since], ['in', null])
  })

  test('a cart first seen on the course is out since then', async () => {
    const { id, device } = await newDevice({ groupId: 7 })
    const firstMs = clock.nowMs() + 1000
    await device.goTo('green')
    await device.goTo('fairway')
    assert.equal((await course.cart(id)).out_since, toIso(firstMs))
  })

  test('a changed set of zones is evaluated immediately at the newest fix', async () => {
    const id = fresh('d')
    await course.group(8, courseZones({ hasBarn: false, hasBoundary: false }))
    const device = await course.device(id, { groupId: 8 })
    await device.report('barn')
    assert.deepEqual([(await course.cart(id)).state, (await course.cart(id)).zones], ['out', []])
    await course.zones(8, courseZones())
    assert.deepEqual([(await course.cart(id)).state, (await course.cart(id)).out_since], ['in', null])
    await course.zones(8, courseZones({ hasBarn: false }))
    assert.deepEqual([(await course.cart(id)).state, (await course.cart(id)).out_since], ['out', iso()])
  })

  test('zones of the group of any of its devices count for a cart, whichever device reports', async () => {
    const [cart, lock, screen] = [fresh('C'), fresh('a'), fresh('b')]
    const teebox = await course.device(lock, { cart, groupId: 7 })
    const caddie = await course.device(screen, { cart, deviceType: 'cartcaddie' })
    await teebox.goTo('fairway')
    clock.advance(2 * MINUTE_MS)
    await caddie.goTo('barn')
    const there = await course.cart(cart)
    assert.deepEqual([there.position?.hardware_id, there.state, there.zones[0]?.zone_id], [screen, 'in', 'barn'])
    clock.advance(1000)
    await caddie.report('road')
    assert.equal((await course.cart(cart)).state, 'in')
    clock.advance(1000)
    await caddie.report('road')
    assert.equal((await course.cart(cart)).state, 'outside')
    // a caller who sees only the screen does not get these zones
    const { key } = await g.createUser({ allowed_hardware_ids: [screen] })
    await caddie.goTo('barn')
    const part = await course.cart(cart, key)
    assert.deepEqual([part.state, part.zones], ['out', []])
  })

  test('a cart is silent after a time without messages, later if it is connected and out', async () => {
    const [id, parked, gone] = [fresh('d'), fresh('d'), fresh('d')]
    const device = await course.device(id, { groupId: 7 })
    const inBarn = await course.device(parked, { groupId: 7 })
    const left = await course.device(gone, { groupId: 7 })
    await device.goTo('fairway')
    await inBarn.goTo('barn')
    await left.goTo('barn')
    await left.leave()
    await eventually(async () => !(await course.cart(gone)).devices[0]?.is_online, 'the device is offline')
    const states = async () => Promise.all([id, parked, gone].map(async (cart) => (await course.cart(cart)).state))
    clock.advance(2 * MINUTE_MS)
    assert.deepEqual(await states(), ['out', 'in', 'in'])
    clock.advance(MINUTE_MS)
    assert.deepEqual(await states(), ['out', 'in', 'silent'])
    clock.advance(12 * MINUTE_MS)
    assert.deepEqual(await states(), ['silent', 'in', 'silent'])
    await device.send('st', { online: true, type: 'teebox' })
    assert.deepEqual(await states(), ['out', 'in', 'silent'])
  })

  test('a cart that reported in the barn that it sleeps is never silent', async () => {
    const [barn, out] = [fresh('d'), fresh('d')]
    for (const [id, place] of [
      [barn, 'barn'],
      [out, 'fairway'],
    ] as const) {
      const device = await course.device(id, { groupId: 7 })
      await device.goTo(place)
      await device.send('st', { online: false, r: 'sleep' })
      await device.leave()
    }
    await eventually(async () => (await course.cart(barn)).is_asleep, 'it sleeps')
    await eventually(async () => !(await course.cart(out)).devices[0]?.is_online, 'it is offline')
    clock.advance(60 * MINUTE_MS)
    const [asleep, silent] = [await course.cart(barn), await course.cart(out)]
    assert.deepEqual([asleep.state, asleep.is_asleep], ['in', true])
    assert.deepEqual([silent.state, silent.is_asleep], ['silent', false])
  })

  test('the battery has its voltage at rest, its percentage and a low flag', async () => {
    await g.patch('/site', { pack: { empty_v: 47, low_v: 48, full_v: 51 } })
    const { id, device } = await newDevice({ groupId: 7 })
    await device.report('barn', { battery_voltage: 50 })
    assert.deepEqual((await course.cart(id)).battery, {
      voltage: 50,
      at: iso(),
      rest_voltage: null,
      rest_at: null,
      percent: null,
      hardware_id: id,
    })
    clock.advance(5 * MINUTE_MS)
    await device.report('barn', { battery_voltage: 49 })
    assert.deepEqual((await course.cart(id)).battery, {
      voltage: 49,
      at: iso(),
      rest_voltage: 49,
      rest_at: iso(),
      percent: 50,
      hardware_id: id,
    })
    clock.advance(MINUTE_MS)
    await device.report('barn', { battery_voltage: 47.9 })
    assert.equal((await course.cart(id)).is_low, true)
    await g.patch('/site', { pack: null })
    const unknown = await course.cart(id)
    assert.deepEqual([unknown.is_low, unknown.battery?.percent], [false, null])
  })

  test('the lock state comes from a code, from the requester of a command, or from telemetry alone', async () => {
    const { id, device } = await newDevice({ groupId: 7 })
    await device.report('barn', { lock_status: 1 })
    const at = iso()
    assert.deepEqual((await course.cart(id)).lock, {
      is_locked: true,
      at,
      source: null,
      by: null,
      hardware_id: id,
    })
    clock.advance(1000)
    await device.send('evt', { event: 'unlock', source: 'rfid', code: '04A1B2C3', ts: clock.nowMs() })
    const unlocked = { is_locked: false, at: iso(), source: 'rfid', by: '04A1B2C3', hardware_id: id }
    assert.deepEqual((await course.cart(id)).lock, unlocked)
    const masked = await g.createUser({ allowed_hardware_ids: [id], mask_codes: true })
    assert.equal((await course.cart(id, masked.key)).lock?.by, '******C3')
    assert.equal((await g.get('/carts', { key: masked.key })).body.carts[0].lock.by, '******C3')
    assert.equal(
      (await g.get('/carts')).body.carts.find((one: { cart: string }) => one.cart === id).lock.by,
      '04A1B2C3',
    )
    clock.advance(1000)
    const jane = await g.createUser({ name: 'Jane', role: 'staff', allowed_hardware_ids: ['*'] })
    const asked = await g.post(`/devices/${id}/commands`, { command: 'lock' }, { key: jane.key })
    await device.send('evt', { event: 'lock', source: 'remote', cmd: asked.body.command_id, ts: clock.nowMs() })
    const { lock } = await course.cart(id)
    assert.deepEqual([lock?.is_locked, lock?.source, lock?.by], [true, 'remote', 'Jane'])
  })

  test('deleting the history of a device also deletes what its cart derived from it', async () => {
    const { id, device } = await newDevice({ groupId: 7 })
    await device.goTo('barn', { battery_voltage: 50 })
    await g.remove(`/devices/${id}/telemetry/gps`)
    const cart = await course.cart(id)
    assert.deepEqual([cart.state, cart.position, cart.zones], ['unknown', null, []])
    assert.equal(cart.battery?.voltage, 50)
    await g.remove(`/devices/${id}/telemetry`)
    assert.equal((await course.cart(id)).battery, null)
    clock.advance(1000)
    await device.goTo('fairway')
    const first = toIso(clock.nowMs() - 1000)
    assert.deepEqual([(await course.cart(id)).state, (await course.cart(id)).out_since], ['out', first])
  })

  test('a cart that jitters at the edge of the barn stays in the barn', async () => {
    const { id, device } = await newDevice({ groupId: 7 })
    await device.report('barn')
    const edge = PLACES.barn.lat + 50 / 111_000
    for (let i = 0; i < 30; i++) {
      clock.advance(1000)
      await device.report({ lat: edge + (((i * 7) % 11) - 5) / 111_000, long: PLACES.barn.long })
      assert.equal((await course.cart(id)).state, 'in')
    }
  })

  test('an upload of old readings shows how long the cart has stood', async () => {
    const { id, device } = await newDevice({ groupId: 7 })
    const nowMs = clock.nowMs()
    const { lat, long } = PLACES.barn
    const samples = Array.from({ length: 100 }, (_, i) => ({
      ts: nowMs - (99 - i) * 10_000,
      lat,
      long,
      speed: 0,
      battery_voltage: 50,
    }))
    await device.send('tlm', samples.toReversed())
    const { battery } = await course.cart(id)
    assert.deepEqual([battery?.rest_voltage, battery?.rest_at], [50, toIso(nowMs)])
  })
})

describe('staff fields', () => {
  const patch = (cart: string, body: unknown) => g.patch(`/carts/${cart}`, body)

  test('out of service has the user who set it and can be cleared', async () => {
    const { id } = await newDevice()
    const jane = await g.createUser({ name: 'Jane', role: 'staff', allowed_hardware_ids: [id] })
    const sinceMs = clock.nowMs()
    const { status, body } = await g.patch(
      `/carts/${id}`,
      { out_of_service: { why: ' Flat tyre ' } },
      { key: jane.key },
    )
    const by = { user_id: jane.userId, name: 'Jane' }
    assert.deepEqual(
      [status, body.out_of_service],
      [200, { since: toIso(sinceMs), why: 'Flat tyre', reason: null, by }],
    )
    clock.advance(1000)
    const again = await patch(id, { out_of_service: { why: 'Axle' } })
    assert.deepEqual([again.body.out_of_service.since, again.body.out_of_service.why], [toIso(sinceMs), 'Axle'])
    assert.equal((await patch(id, { note: 'Left of the door' })).body.out_of_service.why, 'Axle')
    const back = await patch(id, { out_of_service: null })
    assert.deepEqual([back.body.out_of_service, back.body.note], [null, 'Left of the door'])
    assert.equal((await patch(id, { note: '' })).body.note, null)
  })

  for (const [name, body, field] of [
    ['an unknown field', { colour: 'red' }, 'colour'],
    ['an unknown field of a part', { out_of_service: { why: 'x', since: '2026-05-01' } }, 'out_of_service.since'],
    ['no reason', { out_of_service: {} }, 'out_of_service.why'],
    ['a blank reason', { out_of_service: { why: '  ' } }, 'out_of_service.why'],
    ['a reason of 201 characters', { out_of_service: { why: 'x'.repeat(201) } }, 'out_of_service.why'],
    ['a note of 501 characters', { note: 'x'.repeat(501) }, 'note'],
    ['a number for a note', { note: 5 }, 'note'],
    ['no zone types', { exempt: { zone_types: [], why: 'x' } }, 'exempt.zone_types'],
    ['a zone type there is not', { exempt: { zone_types: ['lake'], why: 'x' } }, 'exempt.zone_types[0]'],
    ['until null', { exempt: { zone_types: ['stop'], until: null, why: 'x' } }, 'exempt.until'],
    [
      'until in the past',
      { exempt: { zone_types: ['stop'], until: '2020-01-01T00:00:00Z', why: 'x' } },
      'exempt.until',
    ],
    ['an until that is not a date', { exempt: { zone_types: ['stop'], until: 'noon', why: 'x' } }, 'exempt.until'],
    ['both', { out_of_service: { why: 'x' }, exempt: { zone_types: ['stop'], why: 'x' } }, 'exempt'],
    ['true', { out_of_service: true }, 'out_of_service'],
  ] as const)
    test(`a change is rejected: ${name}`, async () => {
      const { id } = await newDevice()
      const { status, body: problem } = await patch(id, body)
      assert.equal(status, 400, JSON.stringify(problem))
      assert.equal(problem.errors[0].name, field)
      const { out_of_service, exempt, note } = await course.cart(id)
      assert.deepEqual([out_of_service, exempt, note], [null, null, null])
    })

  test('setting one field while the other is null is accepted', async () => {
    const { id } = await newDevice()
    await ok(patch(id, { out_of_service: null, exempt: { zone_types: ['stop'], why: 'x' } }))
    assert.equal((await patch(id, { out_of_service: { why: 'x' }, exempt: null })).body.exempt, null)
  })

  test('an exemption lasts until the next closing time, else until the end of the day', async () => {
    const { id } = await newDevice()
    const exempt = { zone_types: ['stop', 'slow'], why: 'Flag' }
    assert.equal((await patch(id, { exempt })).body.exempt.until, toIso(Math.ceil(clock.nowMs() / DAY_MS) * DAY_MS))
    const hours = ['00:00', '24:00']
    await g.patch('/site', { opening_hours: { fri: ['07:00', '20:00'], sat: hours, sun: hours } })
    const { body } = await patch(id, { exempt })
    assert.match(body.exempt.until, /T(20|00):00:00.000Z$/)
    assert.deepEqual([body.exempt.zone_types, body.exempt.why], [['stop', 'slow'], 'Flag'])
    await g.patch('/site', { opening_hours: null })
  })

  test('the devices of an exempt cart receive the exemption and its end in their configuration', async () => {
    const [cart, one, two, three] = [fresh('C'), fresh('a'), fresh('b'), fresh('c')]
    for (const id of [one, two]) await course.device(id, { cart })
    await course.device(three, { cart: fresh('C') })
    const exemptOf = async (id: string) => (await g.get(`/devices/${id}/config`)).body.resolved.zone_exempt
    const all = async (ids: readonly string[], expected: unknown) =>
      eventually(
        async () => {
          for (const id of ids) if (JSON.stringify(await exemptOf(id)) !== JSON.stringify(expected)) return false
          return true
        },
        `${ids} have ${JSON.stringify(expected)}`,
      )
    const until = toIso(clock.nowMs() + 10 * MINUTE_MS)
    await patch(cart, { exempt: { zone_types: ['stop'], until, why: 'Flag' } })
    await all([one, two], ['stop'])
    assert.equal(await exemptOf(three), undefined)
    // a device that joins the cart, and one that leaves
    await g.patch(`/devices/${three}`, { cart })
    await g.patch(`/devices/${two}`, { cart: null })
    await all([one, three], ['stop'])
    await all([two], [])
    clock.advance(10 * MINUTE_MS)
    assert.equal((await course.cart(cart)).exempt, null)
    await all([one, two, three], [])
    const cfg = await g.program()
    const retained = new Promise<string>((resolve) => cfg.once('message', (_, payload) => resolve(payload.toString())))
    await cfg.subscribeAsync(`dev/${one}/cfg`)
    assert.deepEqual(JSON.parse(await retained).config.zone_exempt, [])
  })

  test('the fields are deleted with the last device of the cart and stay with another', async () => {
    const [cart, one, two] = [fresh('C'), fresh('a'), fresh('b')]
    for (const id of [one, two]) await course.device(id, { cart })
    await patch(cart, { note: 'Squeaks', out_of_service: { why: 'Tyre' } })
    await g.remove(`/devices/${one}`)
    assert.equal((await course.cart(cart)).note, 'Squeaks')
    await g.remove(`/devices/${two}`)
    assert.equal((await g.get(`/carts/${cart}`)).status, 404)
    await course.device(fresh('d'), { cart })
    const { note, out_of_service } = await course.cart(cart)
    assert.deepEqual([note, out_of_service], [null, null])
  })

  test('the audit log has the changes and their user', async () => {
    const { id } = await newDevice()
    await patch(id, { note: 'Squeaks' })
    await patch(id, { note: 'Squeaks loudly' })
    const { entries } = (await g.get('/audit-log?action=cart.updated&limit=2')).body
    assert.deepEqual(
      [entries[0].target, entries[0].before, entries[0].after],
      [id, { note: 'Squeaks' }, { note: 'Squeaks loudly' }],
    )
    assert.equal(entries[0].user_id, await g.adminId())
    assert.equal(entries[1].target, id)
  })

  test('an erased person or code is removed from the fields of a cart', async () => {
    const { id, device } = await newDevice()
    await device.send('evt', { event: 'lock', source: 'keypad', code: '4711', ts: clock.nowMs() })
    await patch(id, { out_of_service: { why: 'jim doe' }, note: 'Jim Doe' })
    assert.equal((await course.cart(id)).lock?.by, '4711')
    await g.post('/erasures', { code: '4711' })
    await g.post('/erasures', { person: 'Jim Doe' })
    const { lock, note, out_of_service } = await course.cart(id)
    assert.deepEqual([lock?.is_locked, lock?.source, lock?.by], [true, 'keypad', null])
    assert.deepEqual([note, out_of_service?.why], [null, ''])
  })

  test('concurrent patches are all kept', async () => {
    const { id } = await newDevice()
    await Promise.all([patch(id, { note: 'N' }), patch(id, { out_of_service: { why: 'W' } })])
    const { note, out_of_service } = await course.cart(id)
    assert.deepEqual([note, out_of_service?.why], ['N', 'W'])
  })
})

describe('over a restart', () => {
  test('a cart keeps its fields and includes the readings since its last save', async (t) => {
    const other = await startFor(t, {}, { clock })
    const there = new Course(other, clock)
    await there.group(7)
    await other.patch('/site', { pack: { empty_v: 47, low_v: 48, full_v: 51 } })
    const id = 'd1'
    const device = await there.device(id, { cart: '1', groupId: 7 })
    await device.report('barn', { battery_voltage: 50 })
    clock.advance(6 * MINUTE_MS)
    await device.report('barn', { battery_voltage: 50 })
    clock.advance(MINUTE_MS)
    await device.goTo('fairway', { speed: 12, battery_voltage: 49 })
    await device.send('evt', { event: 'unlock', source: 'rfid', code: '04A1B2C3', ts: clock.nowMs() })
    await other.patch('/carts/1', { note: 'Squeaks', exempt: { zone_types: ['stop'], why: 'Flag' } })
    const before = await there.cart('1')
    await other.restart()
    const { devices, ...after } = await there.cart('1')
    assert.deepEqual(after, (({ devices: _, ...rest }) => rest)(before))
    assert.equal(devices[0]?.is_online, false)
    assert.ok(after.battery?.rest_voltage === 50 && after.out_since !== null && after.lock?.by === '04A1B2C3')
  })

  test('setting the clock restarts stillness and dwell times', async (t) => {
    const own = new FakeClock()
    const other = await startFor(t, {}, { clock: own, isTimeSynchronized: () => true })
    const there = new Course(other, own)
    await there.group(7)
    const device = await there.device('d1', { groupId: 7 })
    await device.report('barn', { battery_voltage: 50 })
    await eventually(async () => (await there.cart('d1')).zones.length > 0, 'the stay is known')
    own.set(own.nowMs() + 2 * 60 * MINUTE_MS)
    const setMs = own.nowMs()
    await eventually(async () => (await there.cart('d1')).zones[0]?.since === toIso(setMs), 'the stay begins anew')
    own.advance(4 * MINUTE_MS)
    await device.report('barn', { battery_voltage: 50 })
    assert.equal((await there.cart('d1')).battery?.rest_voltage, null)
    own.advance(MINUTE_MS)
    await device.report('barn', { battery_voltage: 50 })
    assert.equal((await there.cart('d1')).battery?.rest_voltage, 50)
  })
})
