import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { FakeClock } from '#shared/testing/clocks.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { DAY_MS, MINUTE_MS, toIso } from '#shared/time.ts'
import { Barn, type BarnCart, cartBecomes } from '#testing/course/barn.ts'
import { CommandedDevice } from '#testing/course/commanded-device.ts'
import { box, collection } from '#testing/course/features.ts'
import { TickWatch } from '#testing/course/tick-watch.ts'
import { startGateway, type TestGateway } from '#testing/start-gateway.ts'

const AFTER_MS = 20 * MINUTE_MS
const LOCK_MS = 2 * MINUTE_MS

interface Course {
  g: TestGateway
  clock: FakeClock
  cart: BarnCart
  screen: CommandedDevice
  watch: TickWatch
}

/** Sets up an unlocked cart with a screen, which stops now in a zone where it may be locked, or may not. */
async function start(t: TestContext, { mayLock = true, isConfirmed = true, locks = true } = {}): Promise<Course> {
  const clock = new FakeClock()
  const g = await startGateway({}, { clock, isTimeSynchronized: () => isConfirmed })
  t.after(() => g.stop())
  const body = { round_timeout_min: AFTER_MS / MINUTE_MS, round_timeout_lock: locks }
  assert.equal((await g.request('PATCH', '/site', { body })).status, 200)
  const house = {
    type: 'Feature',
    id: 'clubhouse',
    geometry: { type: 'Polygon', coordinates: [box(-81.601, 28.409, -81.599, 28.411)] },
    properties: { name: 'Clubhouse', type: 'alert', ...(mayLock ? { lock_here: true } : {}) },
  }
  const drawn = await g.request('PUT', '/zones', { body: collection(house), headers: { 'if-match': '*' } })
  assert.equal(drawn.status, 200)
  const barn = await Barn.draw(g)
  const cart = await barn.cart('lock')
  const password = await g.register('screen', 'cartcaddie')
  for (const id of ['lock', 'screen']) await g.request('PATCH', `/devices/${id}`, { body: { cart: '17' } })
  const screen = await CommandedDevice.connect(g, 'screen', password, { subscribes: true })
  const pass = () => clock.advance(1000)
  await cart.settles('barn', pass)
  await cart.tag('unlock', '1')
  await cart.settles('course', pass)
  await cartBecomes(g, '17', ({ lock, zones }) => lock?.is_locked === false && zones.length === 1, 'is unlocked')
  return { g, clock, cart, screen, watch: await TickWatch.start(barn) }
}

const alertsOf = async (g: TestGateway) => (await g.request('GET', '/alerts?kind=standing')).body.alerts

/** Lets time pass while the cart stays where it is; returns its alerts. */
async function stands({ g, clock, cart, watch }: Course, ms: number) {
  for (let leftMs = ms; leftMs > 0; leftMs -= MINUTE_MS) {
    clock.advance(Math.min(leftMs, MINUTE_MS))
    await cart.at('course')
  }
  await watch.tick()
  return alertsOf(g)
}

/** Lets it stand until the alert is open; returns it. */
async function opens(course: Course) {
  let alerts = await stands(course, AFTER_MS)
  await eventually(async () => {
    alerts = await alertsOf(course.g)
    return alerts.length === 1
  }, 'the alert is open')
  return alerts[0]
}

async function locksOf(g: TestGateway) {
  return (await g.request('GET', '/devices/lock/commands?command=lock')).body.commands
}

test('a cart that stands where it may be locked gives notice and is locked two minutes later', async (t) => {
  const course = await start(t)
  const { g, clock, cart, screen } = course
  const alert = await opens(course)
  assert.equal(Date.parse(alert.details.locks_at), Date.parse(alert.opened_at) + LOCK_MS)
  const { cmd, params } = await screen.next()
  assert.deepEqual([cmd, params], ['message', { text: 'This cart locks in 2 minutes. Drive on, or call the shop.' }])
  await stands(course, LOCK_MS - 2000)
  assert.deepEqual(await locksOf(g), [])
  clock.advance(3000)
  await cart.at('course')
  await cart.receives('lock')
  const [made, ...others] = await locksOf(g)
  assert.deepEqual([made.requested_by, made.forced, others], ['round-timeout', false, []])
  await stands(course, 10 * MINUTE_MS)
  assert.equal((await locksOf(g)).length, 1)
})

for (const [name, stop] of [
  ['a person acknowledges the alert', ({ g }, id) => g.request('POST', `/alerts/${id}/acknowledge`)],
  ['a person closes the alert', ({ g }, id) => g.request('POST', `/alerts/${id}/close`)],
  ['the setting is turned off', ({ g }) => g.request('PATCH', '/site', { body: { round_timeout_lock: false } })],
  ['the zone is erased', ({ g }) => g.request('PUT', '/zones', { body: collection(), headers: { 'if-match': '*' } })],
] as [string, (course: Course, id: string) => Promise<{ status: number }>][])
  test(`no lock follows when ${name}`, async (t) => {
    const course = await start(t)
    const { alert_id } = await opens(course)
    assert.equal((await stop(course, alert_id)).status, 200)
    await stands(course, 10 * MINUTE_MS)
    assert.deepEqual(await locksOf(course.g), [])
  })

for (const [name, options] of [
  ['outside such zones', { mayLock: false }],
  ['unless the site asks for locks', { locks: false }],
] as const)
  test(`an alert names no time of a lock ${name}`, async (t) => {
    const course = await start(t, options)
    const { details, hardware_id } = await opens(course)
    assert.deepEqual([details.locks_at, hardware_id], [null, 'lock'])
    await stands(course, 10 * MINUTE_MS)
    assert.deepEqual(await locksOf(course.g), [])
    assert.deepEqual(await course.screen.flush(), [])
  })

test('a clock that is not confirmed locks nothing; once it is confirmed, the lock is sent once', async (t) => {
  const course = await start(t, { isConfirmed: false })
  const { g, clock, cart } = course
  await opens(course)
  await stands(course, 10 * MINUTE_MS)
  assert.deepEqual(await locksOf(g), [])
  await g.request('POST', '/clock/confirm', { body: { time: toIso(clock.nowMs()) } })
  await cart.receives('lock')
  assert.equal((await locksOf(g)).length, 1)
})

test('a lock that became due during a stop is sent after the start; without a time-out nothing ever is', async (t) => {
  const course = await start(t)
  const { g, clock } = course
  await opens(course)
  await g.restart(() => clock.advance(LOCK_MS))
  await eventually(async () => {
    clock.advance(1000)
    return (await locksOf(g)).length === 1
  }, 'the lock is sent')
  await g.request('PATCH', '/site', { body: { round_timeout_min: 0 } })
  clock.advance(DAY_MS)
  await eventually(
    async () => (await alertsOf(g)).every(({ closed_at }: { closed_at: unknown }) => closed_at !== null),
    'it closes',
  )
})
