import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { FakeClock } from '#shared/testing/clocks.ts'
import { HOUR_MS, MINUTE_MS, toIso } from '#shared/time.ts'
import { Barn, type BarnCart, cartBecomes, confirmClock } from '#testing/course/barn.ts'
import { TickWatch } from '#testing/course/tick-watch.ts'
import { metric, startGateway, type TestGateway } from '#testing/start-gateway.ts'

const AFTER_MS = 10 * MINUTE_MS

interface Course {
  g: TestGateway
  clock: FakeClock
  barn: Barn
  cart: BarnCart
  watch: TickWatch
  pass(): void
}

/** Sets up a cart that has been unlocked and at rest in the barn since the same time. */
async function start(t: TestContext, isConfirmed = true): Promise<Course> {
  const clock = new FakeClock()
  const g = await startGateway({}, { clock, isTimeSynchronized: () => isConfirmed })
  t.after(() => g.stop())
  const body = { auto_lock_after_min: AFTER_MS / MINUTE_MS }
  assert.equal((await g.request('PATCH', '/site', { body })).status, 200)
  const barn = await Barn.draw(g)
  const cart = await barn.cart('17')
  const pass = () => clock.advance(1000)
  await cart.tag('unlock', '1')
  pass()
  await cart.settles('barn', pass)
  await cartBecomes(g, '17', ({ lock }) => lock?.is_locked === false, 'is unlocked')
  const watch = await TickWatch.start(barn)
  return { g, clock, barn, cart, watch, pass }
}

async function dueAtOf(g: TestGateway): Promise<string | null> {
  return (await g.request('GET', '/carts/17')).body.auto_lock_at
}

async function locksOf(g: TestGateway) {
  return (await g.request('GET', '/devices/17/commands')).body.commands
}

async function staysUnlocked({ g, watch }: Course): Promise<void> {
  await watch.tick()
  assert.deepEqual(await locksOf(g), [])
}

/** Lets time pass while the cart stays where it is. */
async function stands({ clock, cart }: Course, ms: number): Promise<void> {
  clock.advance(ms)
  await cart.at('barn')
}

test('a cart that stands still in the barn is locked at the announced time', async (t) => {
  const course = await start(t)
  const { g, clock, cart } = course
  const shown = Date.parse((await dueAtOf(g)) ?? '')
  assert.equal(shown, clock.nowMs() - 2000 + AFTER_MS)
  await stands(course, shown - clock.nowMs() - 1)
  await staysUnlocked(course)
  clock.advance(1)
  await cart.receives('lock')
  const [made] = await locksOf(g)
  assert.deepEqual([made.created_at, made.requested_by, made.forced], [toIso(shown), 'auto-lock', false])
  assert.equal(await dueAtOf(g), null)
  const { entries } = (await g.request('GET', '/audit-log?action=command.created')).body
  assert.deepEqual([entries[0].user_id, entries[0].address, entries[0].target], [null, null, made.command_id])
  assert.equal(await metric(g, 'cartbarn_own_locks_total', 'auto-lock'), 1)
})

test('a failed automatic lock is not repeated until the cart is unlocked by hand or comes back', async (t) => {
  const course = await start(t)
  const { g, clock, cart, watch, pass } = course
  await stands(course, AFTER_MS)
  await cart.device.ack(await cart.receives('lock'), 'failed', 'jammed')
  await stands(course, HOUR_MS)
  await watch.tick()
  assert.deepEqual([await dueAtOf(g), (await locksOf(g)).length], [null, 1])
  // locked and unlocked by hand: the time starts again
  await cart.tag('lock', '2')
  pass()
  await cartBecomes(g, '17', ({ lock }) => lock.is_locked, 'is locked')
  await cart.tag('unlock', '3')
  const unlockedMs = clock.nowMs()
  await cartBecomes(g, '17', ({ lock }) => !lock.is_locked, 'is unlocked')
  assert.equal(await dueAtOf(g), toIso(unlockedMs + AFTER_MS))
  await stands(course, AFTER_MS)
  await cart.receives('lock')
  // it leaves unlocked and comes back
  await cart.settles('course', pass)
  assert.equal(await dueAtOf(g), null)
  await cart.settles('barn', pass)
  await cartBecomes(g, '17', ({ auto_lock_at }) => auto_lock_at !== null, 'will be locked')
  await stands(course, AFTER_MS)
  await cart.receives('lock')
  assert.equal((await locksOf(g)).length, 3)
})

test('another vehicle is locked only by the rule of its kind', async (t) => {
  const course = await start(t)
  const { g, cart } = course
  await g.request('PATCH', '/carts/17', { body: { kind: 'ranger' } })
  assert.equal(await dueAtOf(g), null)
  await stands(course, AFTER_MS)
  await staysUnlocked(course)
  await g.request('PATCH', '/site', { body: { vehicle_kinds: { ranger: { auto_lock: true } } } })
  await cart.receives('lock')
})

test('moving a cart within the barn restarts its time; wandering at the edge does not', async (t) => {
  const course = await start(t)
  const { g, clock, cart, pass } = course
  const first = await dueAtOf(g)
  for (const metres of [46, 54, 48, 53, 47, 55, 49]) {
    pass()
    await cart.at('barn', 0, { lat: 28.4 + metres / 111_195 })
  }
  const moved = await dueAtOf(g)
  assert.ok(moved !== null && moved > (first ?? ''), 'it went from the middle to the edge')
  for (const metres of [52, 47, 54, 46, 53, 48]) {
    pass()
    await cart.at('barn', 0, { lat: 28.4 + metres / 111_195 })
  }
  assert.equal(await dueAtOf(g), moved)
  // reported before the time is up: a tick may come at any moment
  clock.advance(Date.parse(moved) - clock.nowMs() - 1)
  await cart.at('barn', 12, { lat: 28.4 + 48 / 111_195, ts: clock.nowMs() })
  clock.advance(1)
  await staysUnlocked(course)
})

// conditions that hold when the time is up
const never: [string, (course: Course) => Promise<unknown>][] = [
  ['it is locked by a tag', ({ cart }) => cart.tag('lock', '2')],
  ['it is out of service', ({ g }) => g.request('PATCH', '/carts/17', { body: { out_of_service: { why: 'Tyre' } } })],
  ['it is out of reach', ({ g, cart }) => cart.lose(g)],
  ['it is on the course', ({ cart, pass }) => cart.settles('course', pass)],
  ['the barn is no longer a parking zone', ({ barn }) => barn.redraw('stop')],
  ['nothing is to be locked', ({ g }) => g.request('PATCH', '/site', { body: { auto_lock_after_min: 0 } })],
]
for (const [what, happen] of never)
  test(`no cart is locked while ${what}`, async (t) => {
    const course = await start(t)
    assert.ok((await dueAtOf(course.g)) !== null)
    await happen(course)
    course.clock.advance(2 * AFTER_MS)
    await staysUnlocked(course)
    assert.equal(await dueAtOf(course.g), null)
  })

test('a cart with an unknown lock state is left unlocked', async (t) => {
  const course = await start(t)
  const other = await course.barn.cart('18')
  await other.settles('barn', course.pass)
  await stands(course, 2 * AFTER_MS)
  await course.cart.receives('lock')
  assert.deepEqual(await other.received(), [])
})

test('nothing is locked before the clock is confirmed, and a cart due by then is locked immediately', async (t) => {
  const course = await start(t, false)
  const { g, clock, cart } = course
  await stands(course, 2 * AFTER_MS)
  await staysUnlocked(course)
  assert.equal(await dueAtOf(g), null)
  await confirmClock(g, clock.nowMs())
  await cart.receives('lock')
})

test('a start with an unconfirmed clock locks nothing, even if its time is right', async (t) => {
  const course = await start(t, false)
  const { g, clock, barn } = course
  await g.restart(() => clock.advance(AFTER_MS))
  const cart = await barn.connect('17')
  await cart.at('barn')
  await course.watch.restarted()
  await staysUnlocked(course)
})

test('setting the clock by more than a minute restarts the time that a cart has stood still', async (t) => {
  const course = await start(t)
  const { g, clock, cart } = course
  clock.set(clock.nowMs() + HOUR_MS)
  await cart.at('barn')
  await course.watch.tick()
  await confirmClock(g, clock.nowMs())
  const setMs = clock.nowMs()
  await cartBecomes(g, '17', ({ auto_lock_at }) => auto_lock_at !== null, 'will be locked')
  assert.ok(Date.parse((await dueAtOf(g)) ?? '') >= setMs + AFTER_MS - 1000)
  assert.deepEqual(await locksOf(g), [])
  await stands(course, AFTER_MS)
  await cart.receives('lock')
})

test('after a restart a due cart is locked once it has reported that it is still in the barn', async (t) => {
  const course = await start(t)
  const { g, clock, barn } = course
  const shown = await dueAtOf(g)
  await g.restart(() => clock.advance(2 * AFTER_MS))
  await course.watch.restarted()
  await staysUnlocked(course)
  const cart = await barn.connect('17')
  // its position is unknown: the time starts again from now
  await cartBecomes(g, '17', ({ auto_lock_at }) => auto_lock_at === toIso(clock.nowMs() + AFTER_MS), 'waits')
  await staysUnlocked(course)
  await cart.at('barn')
  await cart.receives('lock')
  assert.ok(shown !== null && shown < toIso(clock.nowMs()))
})

test('a cart that drove off while the gateway was down is not locked on the course', async (t) => {
  const course = await start(t)
  const { g, clock, barn, pass } = course
  await g.restart(() => clock.advance(2 * AFTER_MS))
  const cart = await barn.connect('17')
  await course.watch.restarted()
  await staysUnlocked(course)
  await cart.at('course')
  await staysUnlocked(course)
  await cart.settles('course', pass)
  clock.advance(2 * AFTER_MS)
  await staysUnlocked(course)
  assert.deepEqual(await cart.received(), [])
})

test('a reconnected cart that reports no position is locked after the full auto-lock time', async (t) => {
  const course = await start(t)
  const { g, clock, barn } = course
  await g.restart()
  const cart = await barn.connect('17')
  clock.advance(AFTER_MS)
  await cart.receives('lock')
})

test('a cart that was locked before a restart is not locked again after it', async (t) => {
  const course = await start(t)
  const { g, clock, barn } = course
  await stands(course, AFTER_MS)
  await course.cart.device.ack(await course.cart.receives('lock'), 'failed', 'jammed')
  await g.restart(() => clock.advance(AFTER_MS))
  const cart = await barn.connect('17')
  await cart.at('barn')
  await course.watch.restarted()
  await course.watch.tick()
  assert.deepEqual([(await locksOf(g)).length, await dueAtOf(g)], [1, null])
})

test('carts due at the same time are locked together', async (t) => {
  const { g, clock, barn, cart, pass } = await start(t)
  const others = await Promise.all(['21', '22', '23', '24'].map((name) => barn.cart(name)))
  for (const other of others) {
    await other.tag('unlock', '1')
    await other.settles('barn', pass)
  }
  clock.advance(2 * AFTER_MS)
  await Promise.all([cart, ...others].map((one) => one.receives('lock')))
  const { entries } = (await g.request('GET', '/audit-log?action=command.created')).body
  assert.equal(new Set(entries.slice(0, 5).map(({ at }: { at: string }) => at)).size, 1)
})
