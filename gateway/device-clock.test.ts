import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { eventually } from '#shared/testing/eventually.ts'
import { HOUR_MS, MINUTE_MS, toIso } from '#shared/time.ts'
import { AlertCourse } from '#testing/course/alert-course.ts'
import { type CourseDevice, PLACES, type Place } from '#testing/course/course.ts'

/** Device of cart 17 with a clock that the test sets. */
class Tracker {
  readonly course: AlertCourse
  readonly lock: CourseDevice
  offMs = 0

  constructor(course: AlertCourse, lock: CourseDevice) {
    this.course = course
    this.lock = lock
  }

  static async open(t: TestContext, isTimeSynchronized = () => true): Promise<Tracker> {
    const course = await AlertCourse.open(t, undefined, { isTimeSynchronized })
    return new Tracker(course, await course.lock())
  }

  get time(): number {
    return this.course.clock.nowMs() + this.offMs
  }

  /** Sends readings at an interval, timed by the device's own clock. */
  async drive(count: number, place: Place, speed = 0, afterMs = 1000): Promise<void> {
    for (let i = 0; i < count; i++) {
      this.course.clock.advance(afterMs)
      await this.lock.send('tlm', { ts: this.time, ...PLACES[place], speed, lock_status: 0 })
    }
  }

  async details() {
    return (await this.course.gateway.request('GET', '/devices/lock-17/details')).body
  }

  /**
   * Waits for the age of the cart's position in milliseconds, its motion and its state. Carts are evaluated a moment
   * later.
   */
  async cartBecomes(...expected: [ageMs: number, isMoving: boolean, state: string]): Promise<void> {
    let seen: unknown[] = []
    const is = async () => {
      const { position, is_moving, state } = await this.course.course.cart('17')
      seen = [this.course.clock.nowMs() - Date.parse(position?.at ?? ''), is_moving, state]
      return isDeepStrictEqual(seen, expected)
    }
    await eventually(is, `${expected}`).catch(() => assert.deepEqual(seen, expected))
  }

  async command(command: string): Promise<string> {
    const { body } = await this.course.gateway.request('POST', '/devices/lock-17/commands', { body: { command } })
    return body.command_id ?? body.code
  }

  async becomes(commandId: string, status: string): Promise<void> {
    const path = `/commands/${commandId}`
    await eventually(async () => (await this.course.gateway.request('GET', path)).body.status === status, status)
  }

  /** Executes its commands; returns their names. */
  async obey(): Promise<string[]> {
    const asked: string[] = []
    const { client } = this.lock
    client.on('message', (_topic, payload) => {
      const { id, cmd } = JSON.parse(payload.toString())
      asked.push(cmd)
      const answer = async () => {
        if (cmd === 'locate') await this.drive(1, 'fairway')
        await this.lock.send('ack', { id, st: 'completed' })
      }
      // the test may have ended
      answer().catch(() => undefined)
    })
    await client.subscribeAsync('dev/lock-17/cmd', { qos: 1 })
    return asked
  }
}

for (const [name, offMs] of [
  ['five hours behind', -5 * HOUR_MS],
  ['an hour behind', -HOUR_MS],
  ['three minutes behind', -3 * MINUTE_MS],
  ['three minutes ahead', 3 * MINUTE_MS],
  ['nine hours ahead', 9 * HOUR_MS],
  ['never set', -50 * 365 * 24 * HOUR_MS],
] as const)
  test(`a clock that is ${name} is reported, and the live state uses the receive time`, async (t) => {
    const tracker = await Tracker.open(t)
    const { course } = tracker
    const { gateway } = course
    tracker.offMs = offMs
    await tracker.drive(14, 'fairway', 8)
    await course.becomes(['+device_clock'])
    const [alert] = await course.list()
    assert.deepEqual(
      [alert?.hardware_id, alert?.details],
      ['lock-17', { hardware_id: 'lock-17', clock_off_s: offMs / 1000 }],
    )
    assert.equal((await tracker.details()).clock_off_s, offMs / 1000)
    const { body: last } = await gateway.request('GET', '/devices/lock-17/messages')
    assert.equal(last.messages[0].clock_off_s, offMs / 1000)
    assert.match((await gateway.request('GET', '/metrics')).body, /^cartbarn_devices_with_wrong_clock 1$/m)
    await tracker.cartBecomes(0, true, 'out')
    assert.equal(await tracker.command('lock'), 'cart_is_moving')

    // current zones, and the lock
    await tracker.drive(3, 'barn')
    await tracker.cartBecomes(0, false, 'in')
    course.clock.advance(1000)
    const event = { event: 'lock', source: 'key', ts: tracker.time }
    await tracker.lock.send('evt', event)
    await tracker.cartBecomes(1000, false, 'in')
    const { lock } = await course.course.cart('17')
    assert.deepEqual([lock?.is_locked, lock?.at], [true, toIso(course.clock.nowMs())])

    // histories keep the reported times, as far as they are plausible
    const isKept = offMs > -10_000 * HOUR_MS && offMs < 5 * MINUTE_MS
    const storedMs = isKept ? tracker.time : course.clock.nowMs()
    const query = `from=${toIso(storedMs - MINUTE_MS)}&to=${toIso(storedMs)}`
    const { body: fixes } = await gateway.request('GET', `/devices/lock-17/gps?${query}`)
    assert.equal(fixes.length, 17)
    assert.equal(fixes[0].timestamp, toIso(storedMs - 1000))
    const { body: crossed } = await gateway.request('GET', '/geofence-events?hardware_id=lock-17&event=enter')
    const [entered] = crossed.events ?? []
    assert.deepEqual([entered.zone_id, entered.timestamp], ['barn', toIso(storedMs - 3000)])
  })

test("an hour's change during a day keeps one alert, which closes when the clock is right", async (t) => {
  const tracker = await Tracker.open(t)
  const { course } = tracker
  await tracker.drive(20, 'fairway')
  tracker.offMs = -5 * HOUR_MS
  await tracker.drive(12, 'fairway', 0, 60_000)
  await course.becomes(['+device_clock'])
  for (let hour = 0; hour < 6; hour++) {
    if (hour === 3) tracker.offMs = -4 * HOUR_MS
    await tracker.drive(60, 'fairway', 0, MINUTE_MS)
    assert.equal((await tracker.details()).clock_off_s, tracker.offMs / 1000)
    await tracker.cartBecomes(0, false, 'out')
  }
  assert.deepEqual(await course.story('?kind=device_clock'), ['+device_clock'])
  tracker.offMs = 0
  await tracker.drive(5, 'fairway')
  await course.becomes(['-device_clock'], '?kind=device_clock')
  assert.equal((await tracker.details()).clock_off_s, null)
  await tracker.cartBecomes(0, false, 'out')
})

test('a restart remembers a clock that was wrong', async (t) => {
  const tracker = await Tracker.open(t)
  const { gateway } = tracker.course
  tracker.offMs = -5 * HOUR_MS
  await tracker.drive(12, 'fairway')
  await tracker.course.becomes(['+device_clock'])
  const { body } = await gateway.request('POST', '/devices/lock-17/rotate-mqtt-password')
  await gateway.restart()
  const again = new Tracker(tracker.course, await tracker.course.course.connect('lock-17', body.mqtt.password))
  again.offMs = tracker.offMs
  assert.equal((await again.details()).clock_off_s, -5 * 3600)
  await again.drive(1, 'fairway', 8)
  await again.cartBecomes(0, true, 'out')
  assert.deepEqual(await tracker.course.story(), ['+device_clock'])
})

test('late uploads, singly or in arrays, do not affect the known clock offset and stay history', async (t) => {
  const tracker = await Tracker.open(t)
  const { course, lock } = tracker
  const { clock } = course
  const upload = async (spacingMs: number, afterMs: number) => {
    let ts = clock.nowMs() - 2 * HOUR_MS
    for (let i = 0; i < 100 && ts < clock.nowMs() - 10 * MINUTE_MS; i++) {
      clock.advance(afterMs)
      ts += spacingMs
      await lock.send('tlm', { ts, ...PLACES.road, speed: 30 })
    }
  }
  await upload(1000, 10)
  await tracker.drive(2, 'fairway')
  await upload(30_000, 1000)
  await upload(60_000, 5000)
  for (let i = 0; i < 15; i++) {
    clock.advance(2000)
    const array = [1, 2, 3].map((second) => ({ ts: clock.nowMs() - HOUR_MS + second, ...PLACES.road }))
    await lock.send('tlm', array)
  }
  assert.equal((await tracker.details()).clock_off_s, null)
  await tracker.drive(2, 'fairway')
  await tracker.cartBecomes(0, false, 'out')
  assert.deepEqual(await course.story('?kind=device_clock'), [])
})

test('a response to locate counts as current before the clock is known to be wrong', async (t) => {
  const tracker = await Tracker.open(t)
  tracker.offMs = -5 * HOUR_MS
  const asked = await tracker.obey()
  await tracker.drive(3, 'fairway', 0, 2000)
  tracker.course.clock.advance(10 * MINUTE_MS)
  const commandId = await tracker.command('lock')
  await tracker.becomes(commandId, 'completed')
  assert.ok(asked.includes('locate'))
  assert.equal((await tracker.details()).clock_off_s, null)
})

/** A gateway whose unconfirmed clock is five days ahead, and a device that is right and drives. */
async function fiveDaysAhead(t: TestContext) {
  const source = { isSynchronized: false }
  const tracker = await Tracker.open(t, () => source.isSynchronized)
  tracker.offMs = -5 * 24 * HOUR_MS
  await tracker.drive(30, 'fairway', 8)
  await tracker.cartBecomes(0, true, 'out')
  return { source, tracker, course: tracker.course }
}

test('while the gateway clock is not confirmed no device clock is wrong; live states use arrival times', async (t) => {
  const { source, tracker, course } = await fiveDaysAhead(t)
  assert.deepEqual(await course.story('?kind=device_clock'), [])
  source.isSynchronized = true
  await eventually(async () => {
    await tracker.drive(1, 'fairway', 8)
    return (await tracker.details()).clock_off_s === -5 * 24 * 3600
  }, 'the offset is that of the device')
  await course.becomes(['+device_clock'], '?kind=device_clock')
})

test('a gateway clock that was wrong leaves no wrong device clock behind, also over a restart', async (t) => {
  const { source, course } = await fiveDaysAhead(t)
  const { body } = await course.gateway.request('POST', '/devices/lock-17/rotate-mqtt-password')
  course.clock.set(course.clock.nowMs() - 5 * 24 * HOUR_MS)
  source.isSynchronized = true
  await course.gateway.restart()
  const again = new Tracker(course, await course.course.connect('lock-17', body.mqtt.password))
  await again.drive(10, 'fairway', 8)
  assert.equal((await again.details()).clock_off_s, null)
  await again.cartBecomes(0, true, 'out')
  assert.deepEqual(await course.story('?kind=device_clock'), [])
})

test('while the gateway clock is in doubt, no device clock counts as wrong', async (t) => {
  const tracker = await Tracker.open(t, () => false)
  const { clock } = tracker.course
  await tracker.drive(3, 'fairway')
  // an operator sets the gateway's clock forward
  clock.set(clock.nowMs() + HOUR_MS)
  tracker.offMs = -HOUR_MS
  await tracker.drive(20, 'fairway')
  assert.equal((await tracker.details()).clock_off_s, null)
  clock.set(clock.nowMs() - HOUR_MS)
  tracker.offMs = 0
  await tracker.drive(5, 'fairway')
  assert.deepEqual(await tracker.course.story('?kind=device_clock'), [])
})
