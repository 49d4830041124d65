import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import Database from 'better-sqlite3'
import { FakeClock } from '#shared/testing/clocks.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { Ride } from '#shared/testing/ride.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '#shared/time.ts'
import { confirmClock } from '#testing/course/barn.ts'
import { ok, publishAll } from '#testing/scene.ts'
import { startFor } from '#testing/start-gateway.ts'

/** Noon in Berlin. */
const NOON = Date.UTC(2026, 4, 4, 10)

/** Gateway in Berlin with the cart c1. */
class Course {
  readonly g
  readonly clock
  readonly #database
  readonly #password
  isConfirmed = true

  private constructor(
    g: Awaited<ReturnType<typeof startFor>>,
    clock: FakeClock,
    database: Database.Database,
    password: string,
  ) {
    this.#password = password
    this.g = g
    this.clock = clock
    this.#database = database
  }

  static async open(t: TestContext, nowMs = NOON): Promise<Course> {
    const clock = new FakeClock(nowMs)
    const known: { course?: Course } = {}
    const g = await startFor(t, {}, { clock, isTimeSynchronized: () => known.course?.isConfirmed ?? true })
    await ok(g.patch('/site', { time_zone: 'Europe/Berlin' }))
    const database = new Database(`${g.config.dataDir}/cartbarn.db`, { readonly: true })
    t.after(() => database.close())
    const course = new Course(g, clock, database, await g.register('c1'))
    known.course = course
    return course
  }

  /** Drives at 12 km/h, which is an hour out and 12 km by hour. */
  async drive(atMs: number, hours = 1): Promise<void> {
    const { records } = new Ride({ atMs, lat: 28.4, long: -81.6 }).drive(hours * 3600, 12, 10).record()
    const client = await this.g.connect('c1', this.#password)
    await publishAll(
      client,
      'dev/c1/tlm',
      records.map(({ atMs: ts, lat, long, speedKmh: speed }) => ({ ts, lat, long, speed })),
    )
    await client.endAsync()
  }

  meter(cart = 'c1') {
    return ok(this.g.get(`/carts/${cart}/meter`))
  }

  async shows(hours: number, cart = 'c1'): Promise<void> {
    const { hours: shown, km } = await this.meter(cart)
    assert.ok(Math.abs(shown - hours) < 0.02 && Math.abs(km - hours * 12) < 0.1, `shows ${shown} h, ${km} km`)
  }

  writtenDays(): [cart: string, date: string][] {
    return this.#database
      .prepare<[], { cart: string; date: string }>('SELECT cart, date FROM cart_usage ORDER BY date, cart')
      .all()
      .map(({ cart, date }) => [cart, date])
  }

  /** Passes until the night of the local day is done. */
  async night(ms: number): Promise<void> {
    this.clock.advance(ms)
    const date = new Date(this.clock.nowMs()).toISOString().slice(0, 10)
    const done = () => this.#database.prepare('SELECT metered_on FROM service_days').pluck().get()
    await eventually(() => done() === date, `the night of ${date} is done`)
  }
}

test('the day so far counts, then the day that a night wrote; late data of seven days changes it', async (t) => {
  const course = await Course.open(t)
  const { g, clock } = course
  assert.deepEqual(await course.meter(), { cart: 'c1', hours: 0, km: 0, rounds: 0, since: null })
  await course.drive(NOON - 2 * HOUR_MS)
  clock.advance(15 * MINUTE_MS)
  await course.shows(1)
  assert.equal((await course.meter()).since, '2026-05-03T22:00:00.000Z')
  // until noon, then over 03:00
  await course.night(DAY_MS)
  assert.deepEqual(course.writtenDays(), [['c1', '2026-05-04']])
  await course.shows(1)
  await course.drive(NOON - 5 * DAY_MS)
  await course.drive(NOON - 20 * DAY_MS)
  await course.night(DAY_MS)
  assert.deepEqual(course.writtenDays(), [
    ['c1', '2026-04-29'],
    ['c1', '2026-05-04'],
  ])
  await course.shows(2)
  // what was counted stays without its telemetry
  await ok(g.remove('/devices/c1/telemetry/gps?from=2026-04-01&to=2026-05-10'))
  await course.night(DAY_MS)
  await course.shows(2)
})

test('a meter is set, stays over a restart and with its cart, and counts on', async (t) => {
  const course = await Course.open(t)
  const { g, clock } = course
  await course.drive(NOON - 2 * HOUR_MS)
  await ok(g.patch('/carts/c1', { meter: { hours: 100.5, km: 1206 } }))
  await course.shows(100.5)
  assert.equal((await course.meter()).rounds, 0)
  await course.drive(NOON - HOUR_MS)
  clock.advance(15 * MINUTE_MS)
  await course.shows(101.5)
  await g.restart()
  await course.shows(101.5)
  await course.night(DAY_MS)
  await course.shows(101.5)
  await ok(g.remove('/devices/c1'))
  await ok(g.post('/devices', { hardware_id: 'c2', device_type: 'teebox', cart: 'c1' }), 201)
  await course.shows(101.5)
  await ok(g.patch('/carts/c1', { meter: null }))
  assert.equal(Math.round((await course.meter()).hours), 2)
})

test('a device that moves to another cart leaves the days that it drove there', async (t) => {
  const course = await Course.open(t)
  const { g } = course
  await ok(g.patch('/devices/c1', { cart: '17' }))
  await course.drive(NOON - 2 * HOUR_MS)
  await course.night(DAY_MS)
  await ok(g.patch('/devices/c1', { cart: '18' }))
  await course.night(DAY_MS)
  await course.drive(NOON + 2 * DAY_MS - HOUR_MS)
  await course.night(DAY_MS)
  assert.deepEqual(course.writtenDays(), [
    ['17', '2026-05-04'],
    ['18', '2026-05-06'],
  ])
  await course.shows(1, '18')
  await ok(g.post('/devices', { hardware_id: 'c2', device_type: 'teebox', cart: '17' }), 201)
  await course.shows(1, '17')
})

test('an entry of an earlier time has the meter of then', async (t) => {
  const course = await Course.open(t)
  await course.drive(NOON - 2 * HOUR_MS)
  await course.night(DAY_MS)
  await course.drive(NOON + DAY_MS - 2 * HOUR_MS)
  await ok(course.g.patch('/carts/c1', { meter: { hours: 102 } }))
  const cases: [hoursAgo: number, hours: number][] = [
    [0, 102],
    [1.5, 101.5],
    [24, 101],
    [25.5, 100.5],
    [72, 100],
  ]
  for (const [hoursAgo, hours] of cases) {
    const done_at = new Date(course.clock.nowMs() - hoursAgo * HOUR_MS).toISOString()
    const entry = await ok(course.g.post('/service-entries', { cart: 'c1', what: 'Washed', done_at }), 201)
    assert.ok(Math.abs(entry.hours - hours) < 0.02, `${hoursAgo} h ago: ${entry.hours}`)
  }
})

test('days without the gateway count nothing, and the day of its stop counts', async (t) => {
  const course = await Course.open(t)
  await course.night(0)
  await course.drive(NOON - 2 * HOUR_MS)
  await course.g.restart(() => course.clock.advance(40 * DAY_MS))
  await course.night(0)
  assert.deepEqual(course.writtenDays(), [['c1', '2026-05-04']])
  await course.shows(1)
})

test('without a confirmed clock nothing is written; then it is, once', async (t) => {
  const course = await Course.open(t)
  await course.night(0)
  await course.drive(NOON - 2 * HOUR_MS)
  course.isConfirmed = false
  await course.g.restart(() => course.clock.advance(DAY_MS))
  for (let i = 0; i < 5; i++) course.clock.advance(1000)
  await course.g.get('/carts')
  assert.deepEqual(course.writtenDays(), [])
  await course.shows(1)
  await confirmClock(course.g, course.clock.nowMs())
  await course.night(0)
  assert.deepEqual(course.writtenDays(), [['c1', '2026-05-04']])
  await course.shows(1)
})

test('a clock that goes back counts no day twice', async (t) => {
  const course = await Course.open(t)
  await course.drive(NOON - 2 * HOUR_MS)
  await course.night(2 * DAY_MS)
  await course.shows(1)
  await course.night(-2 * DAY_MS)
  await course.shows(1)
  await course.night(2 * DAY_MS)
  await course.shows(1)
})

test('the day that has 25 hours is counted in full', async (t) => {
  // from 00:30 by summer time, for 24 hours
  const course = await Course.open(t, Date.UTC(2026, 9, 25, 23))
  await course.drive(Date.UTC(2026, 9, 24, 22, 30), 24)
  await course.shows(24)
  await course.night(12 * HOUR_MS)
  await course.shows(24)
  assert.deepEqual(course.writtenDays(), [['c1', '2026-10-25']])
})

test('services are judged at the opening, once a day', async (t) => {
  const course = await Course.open(t)
  const { g, clock } = course
  const day = ['08:00', '18:00']
  const opening_hours = { mon: day, tue: day, wed: day, thu: day, fri: day, sat: day, sun: day }
  await ok(g.patch('/site', { opening_hours }))
  await ok(g.post('/service-plans', { name: 'Brakes', every: { days: 2 } }), 201)
  await course.night(0)
  const alerts = async () => (await ok(g.get('/alerts?kind=service_due'))).alerts
  // until 00:30, when it is due, and 07:30
  for (const hours of [36.5, 7]) {
    clock.advance(hours * HOUR_MS)
    await g.get('/carts')
    await eventually(async () => (await ok(g.get('/service-due'))).due[0].state === 'due', 'it is due')
    assert.deepEqual(await alerts(), [])
  }
  await g.restart(() => clock.advance(HOUR_MS))
  await eventually(async () => (await alerts()).length === 1, 'the alert opens')
  await g.restart()
  await g.get('/carts')
  const [alert] = await alerts()
  assert.deepEqual([alert.closed_at, alert.details.name], [null, 'Brakes'])
})
