import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { FakeClock } from '#shared/testing/clocks.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, toIso } from '#shared/time.ts'
import { Barn, type BarnCart, cartBecomes, confirmClock } from '#testing/course/barn.ts'
import { TickWatch } from '#testing/course/tick-watch.ts'
import { startGateway, type TestGateway } from '#testing/start-gateway.ts'

/** Closing time on Friday, 1 May 2026, in Berlin. */
const CLOSING_MS = Date.UTC(2026, 4, 1, 18)
const DAY = ['07:00', '20:00']
const HOURS = { mon: DAY, tue: DAY, wed: DAY, thu: DAY, fri: DAY, sat: DAY, sun: DAY }
const SITE = { time_zone: 'Europe/Berlin', opening_hours: HOURS, lock_at_closing: true }

interface Evening {
  g: TestGateway
  clock: FakeClock
  barn: Barn
  cart: BarnCart
  watch: TickWatch
  pass(): void
}

interface Options {
  site?: object
  isConfirmed?: boolean
  /** Next closing time. */
  closingMs?: number
}

/** Starts half an hour before closing time with an unlocked cart in the barn. */
async function start(
  t: TestContext,
  { site = SITE, isConfirmed = true, closingMs = CLOSING_MS }: Options = {},
): Promise<Evening> {
  const clock = new FakeClock(closingMs - 30 * MINUTE_MS)
  const g = await startGateway({}, { clock, isTimeSynchronized: () => isConfirmed })
  t.after(() => g.stop())
  const { status, body } = await g.request('PATCH', '/site', { body: site })
  assert.equal(status, 200, JSON.stringify(body))
  const barn = await Barn.draw(g)
  const cart = await barn.cart('17')
  const pass = () => clock.advance(1000)
  await cart.tag('unlock', '1')
  await cart.settles('barn', pass)
  await cartBecomes(g, '17', ({ lock }) => lock?.is_locked === false, 'is unlocked')
  return { g, clock, barn, cart, watch: await TickWatch.start(barn), pass }
}

async function locksOf(g: TestGateway, name = '17') {
  const { commands } = (await g.request('GET', `/devices/${name}/commands?limit=1000`)).body
  return commands.filter(({ command }: { command: string }) => command === 'lock')
}

async function staysUnlocked({ g, watch }: Evening, count = 0): Promise<void> {
  await watch.tick()
  assert.equal((await locksOf(g)).length, count)
}

test('at closing time the carts in the barn are locked, and no others', async (t) => {
  const evening = await start(t)
  const { g, clock, barn, cart, pass } = evening
  const other = new Map<string, BarnCart>()
  for (const name of ['locked', 'broken', 'out', 'unsaid']) other.set(name, await barn.cart(name))
  const known = (name: string) => other.get(name) ?? cart
  for (const name of ['locked', 'broken', 'unsaid']) await known(name).settles('barn', pass)
  await known('out').settles('course', pass)
  await known('locked').tag('lock', '2')
  await g.request('PATCH', '/carts/broken', { body: { out_of_service: { why: 'Tyre' } } })
  await cartBecomes(g, 'locked', ({ lock }) => lock?.is_locked === true, 'is locked')
  clock.advance(CLOSING_MS - 1 - clock.nowMs())
  await staysUnlocked(evening)
  clock.advance(1)
  await cart.receives('lock')
  // its lock state is unknown
  await known('unsaid').receives('lock')
  for (const name of ['locked', 'broken', 'out']) assert.deepEqual(await known(name).received(), [])
  const [made] = await locksOf(g)
  assert.deepEqual([made.requested_by, made.created_at], ['closing', toIso(CLOSING_MS)])
})

test('locks act once a day: a cart unlocked afterwards stays unlocked until the next evening', async (t) => {
  const evening = await start(t)
  const { g, clock, cart } = evening
  clock.advance(CLOSING_MS - clock.nowMs())
  await cart.receives('lock')
  await cart.tag('lock', '2')
  await cart.tag('unlock', '3', clock.nowMs() + 1)
  await staysUnlocked(evening, 1)
  clock.advance(40 * MINUTE_MS)
  await staysUnlocked(evening, 1)
  // nor is it locked again if closing time is postponed or the clock is set back
  const later = { ...HOURS, fri: ['07:00', '20:39'] }
  await g.request('PATCH', '/site', { body: { opening_hours: later } })
  await staysUnlocked(evening, 1)
  clock.advance(CLOSING_MS + DAY_MS - clock.nowMs())
  await confirmClock(g, clock.nowMs())
  await cart.at('barn')
  await cart.receives('lock')
})

test('a clock that is set back passes the evening twice, and closing acts once', async (t) => {
  const evening = await start(t)
  const { g, clock, cart } = evening
  clock.advance(CLOSING_MS - clock.nowMs())
  await cart.receives('lock')
  clock.set(CLOSING_MS - HOUR_MS)
  await confirmClock(g, clock.nowMs())
  clock.advance(HOUR_MS + 1000)
  await staysUnlocked(evening, 1)
})

// minutes after closing time at which the clock is confirmed
for (const [minutes, isLocked] of [
  [1, true],
  [60, true],
  [61, false],
] as const)
  test(`a clock confirmed ${minutes} min after closing time locks ${isLocked ? 'the carts' : 'nothing'}`, async (t) => {
    const evening = await start(t, { isConfirmed: false })
    const { g, clock, cart } = evening
    clock.advance(CLOSING_MS - clock.nowMs())
    await staysUnlocked(evening)
    clock.advance(CLOSING_MS + minutes * MINUTE_MS - clock.nowMs())
    await staysUnlocked(evening)
    await confirmClock(g, clock.nowMs())
    if (isLocked) await cart.receives('lock')
    else await staysUnlocked(evening)
  })

for (const [minutes, isLocked] of [
  [50, true],
  [61, false],
] as const)
  test(`a start ${minutes} min after closing time locks ${isLocked ? 'returning carts' : 'nothing'}`, async (t) => {
    const evening = await start(t)
    const { g, clock, barn, pass } = evening
    const leaver = await barn.cart('18')
    await leaver.settles('barn', pass)
    await g.restart(() => clock.advance(CLOSING_MS + minutes * MINUTE_MS - clock.nowMs()))
    await evening.watch.restarted()
    await staysUnlocked(evening)
    const cart = await barn.connect('17')
    // it may be on its way to the course: it must report its position first
    await staysUnlocked(evening)
    await cart.at('barn')
    if (isLocked) await cart.receives('lock')
    else await staysUnlocked(evening)
    const gone = await barn.connect('18')
    await gone.arrives('course', clock)
    await evening.watch.tick()
    assert.deepEqual(await gone.received(), [])
    // the day is closed, and stays closed after a restart
    await cart.tag('lock', '2')
    await cart.tag('unlock', '3', clock.nowMs() + 1)
    await g.restart()
    const again = await barn.connect('17')
    await again.at('barn')
    await evening.watch.restarted()
    await staysUnlocked(evening, isLocked ? 1 : 0)
  })

test('a cart out of reach at closing time is locked when it is back, also after a restart', async (t) => {
  const evening = await start(t)
  const { g, clock, barn, pass } = evening
  const taken = await barn.cart('18')
  await taken.settles('barn', pass)
  for (const cart of [evening.cart, taken]) await cart.lose(g)
  clock.advance(CLOSING_MS - clock.nowMs())
  await staysUnlocked(evening)
  await g.restart(() => clock.advance(10 * MINUTE_MS))
  await evening.watch.restarted()
  const cart = await barn.connect('17')
  await cart.at('barn')
  await cart.receives('lock')
  // a user has unlocked this one since
  const back = await barn.connect('18')
  await back.tag('unlock', '5')
  await back.at('barn')
  await evening.watch.tick()
  assert.deepEqual(await back.received(), [])
})

test('a cart that comes back on the course is not locked by its first fix', async (t) => {
  const evening = await start(t)
  const { g, clock, barn } = evening
  await evening.cart.lose(g)
  clock.advance(CLOSING_MS - clock.nowMs())
  await staysUnlocked(evening)
  await g.restart(() => clock.advance(10 * MINUTE_MS))
  await evening.watch.restarted()
  const cart = await barn.connect('17')
  for (let i = 0; i < 3; i++) {
    await cart.at('course')
    await staysUnlocked(evening)
    clock.advance(1000)
  }
})

test('a cart that reports no position is locked a minute after it reconnects', async (t) => {
  const evening = await start(t)
  const { g, clock, barn } = evening
  await evening.cart.lose(g)
  clock.advance(CLOSING_MS - clock.nowMs())
  await staysUnlocked(evening)
  const cart = await barn.connect('17')
  await staysUnlocked(evening)
  clock.advance(MINUTE_MS)
  await cart.receives('lock')
})

// the clocks go forward on 29 March and back on 25 October
for (const [day, closingMs] of [
  ['the last of winter time', Date.UTC(2026, 2, 28, 19)],
  ['of 23 hours', Date.UTC(2026, 2, 29, 18)],
  ['of 25 hours', Date.UTC(2026, 9, 25, 19)],
] as const)
  test(`a day ${day} closes once, at the local closing time`, async (t) => {
    const evening = await start(t, { closingMs })
    const { clock, cart } = evening
    clock.advance(closingMs - 1 - clock.nowMs())
    await staysUnlocked(evening)
    clock.advance(1)
    await cart.receives('lock')
    clock.advance(HOUR_MS)
    await staysUnlocked(evening, 1)
  })

const never: [string, object][] = [
  ['no opening hours are known', { ...SITE, opening_hours: null }],
  ['the course is closed all day', { ...SITE, opening_hours: { ...HOURS, fri: null } }],
  ['nothing is to be locked at closing', { ...SITE, lock_at_closing: false }],
]
for (const [what, site] of never)
  test(`nothing is locked where ${what}`, async (t) => {
    const evening = await start(t, { site })
    evening.clock.advance(CLOSING_MS - evening.clock.nowMs())
    await staysUnlocked(evening)
  })

test('other vehicles are locked at closing by the rule of their kind alone', async (t) => {
  const vehicle_kinds = { ranger: { lock_at_closing: true } }
  const evening = await start(t, { site: { ...SITE, lock_at_closing: false, vehicle_kinds } })
  const { g, clock, barn, pass } = evening
  const ranger = await barn.cart('18')
  const mower = await barn.cart('19')
  for (const one of [ranger, mower]) await one.settles('barn', pass)
  await g.request('PATCH', '/carts/18', { body: { kind: 'ranger' } })
  await g.request('PATCH', '/carts/19', { body: { kind: 'greenkeeping' } })
  clock.advance(CLOSING_MS - clock.nowMs())
  await ranger.receives('lock')
  await staysUnlocked(evening)
  assert.deepEqual(await mower.received(), [])
})

test('without a parking zone nothing is locked until one is drawn within the hour', async (t) => {
  const evening = await start(t)
  const { clock, barn, cart } = evening
  await barn.redraw('stop')
  clock.advance(CLOSING_MS - clock.nowMs())
  await staysUnlocked(evening)
  clock.advance(MINUTE_MS)
  await barn.redraw('parking')
  await cart.at('barn')
  await cart.receives('lock')
})

test('a cart that is driven in the barn at closing time is not locked', async (t) => {
  const evening = await start(t)
  evening.clock.advance(CLOSING_MS - 1000 - evening.clock.nowMs())
  await evening.cart.at('barn', 12)
  evening.clock.advance(1000)
  await staysUnlocked(evening)
})
