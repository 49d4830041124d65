import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { MqttClient } from 'mqtt'
import { FakeClock } from '#shared/testing/clocks.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { metric, startGateway, type TestGateway } from '#testing/start-gateway.ts'

const NOW = Date.UTC(2026, 4, 1, 12)
const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const YEAR = 365 * DAY

/** Gateway on a clock that the test sets, with one cart without a clock and one with satellite time. */
class Course {
  readonly clock: FakeClock
  readonly gateway: TestGateway
  readonly #clients = new Map<string, MqttClient>()
  readonly #passwords = new Map<string, string>()

  private constructor(clock: FakeClock, gateway: TestGateway) {
    this.clock = clock
    this.gateway = gateway
  }

  static async open(t: TestContext, systemMs = NOW, settings = {}): Promise<Course> {
    const clock = new FakeClock(systemMs)
    const gateway = await startGateway(settings, { clock, isTimeSynchronized: () => false })
    t.after(() => gateway.stop())
    return new Course(clock, gateway)
  }

  /** Stops the gateway and starts it with another system time. */
  async restart(systemMs: number): Promise<void> {
    this.#clients.clear()
    await this.gateway.restart(() => this.clock.set(systemMs))
  }

  /** Resolves when the message is stored and shown. */
  async send(hardwareId: string, level: string, payload: unknown): Promise<void> {
    const client = await this.connect(hardwareId)
    await client.publishAsync(`dev/${hardwareId}/${level}`, JSON.stringify(payload), { qos: 1 })
  }

  async connect(hardwareId: string): Promise<MqttClient> {
    let client = this.#clients.get(hardwareId)
    if (client === undefined) {
      const password = this.#passwords.get(hardwareId) ?? (await this.gateway.register(hardwareId))
      this.#passwords.set(hardwareId, password)
      client = await this.gateway.connect(hardwareId, password)
      this.#clients.set(hardwareId, client)
    }
    return client
  }

  // biome-ignore lint/suspicious/noExplicitAny: answers of every shape
  async get(path: string): Promise<any> {
    const { status, body } = await this.gateway.request('GET', path)
    assert.equal(status, 200, path)
    return body
  }

  async attributes(hardwareId: string): Promise<Record<string, unknown>> {
    const { devices } = await this.get(`/devices?hardware_ids=${hardwareId}`)
    return devices[0].attributes
  }

  /** Voltages in the order of their times. */
  async voltages(hardwareId: string, query = 'limit=1000'): Promise<number[]> {
    const records: { battery_voltage: number }[] = await this.get(`/devices/${hardwareId}/battery?${query}&order=asc`)
    return records.map(({ battery_voltage }) => battery_voltage)
  }

  async isTrusted(): Promise<boolean> {
    const doubt = await this.doubt()
    const isTrusted = doubt === null || doubt === 'ahead'
    assert.equal(await metric(this.gateway, 'cartbarn_clock_trusted'), Number(isTrusted))
    return isTrusted
  }

  /** Clock fault reported by `/health`. */
  async doubt(): Promise<string | null> {
    const { clock_doubt = null, clock_detail = null } = await this.get('/health')
    assert.equal(clock_detail === null, clock_doubt === null)
    assert.equal(await metric(this.gateway, 'cartbarn_clock_doubted'), Number(clock_doubt !== null))
    return clock_doubt
  }

  confirm(atMs: number) {
    const body = { time: new Date(atMs).toISOString() }
    return this.gateway.request('POST', '/clock/confirm', { body })
  }

  purge(days: number) {
    return this.gateway.request('POST', '/telemetry/purge', { body: { older_than_days: days } })
  }

  /** Counts the readings of the device, whether or not retention and purges deleted them. */
  async count(hardwareId: string): Promise<number> {
    return (await this.get(`/devices/${hardwareId}/telemetry/stats`)).battery
  }

  async timeSent(hardwareId: string): Promise<number | null> {
    const client = await this.connect(hardwareId)
    await client.subscribeAsync(`dev/${hardwareId}/ta`)
    const unanswered = await metric(this.gateway, 'cartbarn_dropped_total', 'clock_not_set')
    let sentMs: number | null = null
    client.once('message', (_, payload) => {
      sentMs = JSON.parse(payload.toString()).t
    })
    await client.publishAsync(`dev/${hardwareId}/tq`, '{"up":1}', { qos: 1 })
    await eventually(
      async () =>
        sentMs !== null || (await metric(this.gateway, 'cartbarn_dropped_total', 'clock_not_set')) > unanswered,
      'an answer or none',
    )
    return sentMs
  }
}

test('a first start in 1970 works, reports its clock, and has the right time once the clock is set', async (t) => {
  const course = await Course.open(t, 5 * SECOND)
  assert.equal(await course.isTrusted(), false)
  const { body: shown } = await course.gateway.request('GET', '/health', { key: null })
  assert.deepEqual([shown.clock, 'clock_doubt' in shown], ['untrusted', false])
  assert.equal(await course.timeSent('blind'), null)

  // satellites know the time, and are trusted
  await course.send('gps', 'tlm', { ts: NOW, battery_voltage: 40 })
  await course.send('gps', 'tlm', [
    { ts: NOW - MINUTE, battery_voltage: 39 },
    { ts: NOW + MINUTE, battery_voltage: 41 },
  ])
  await course.send('gps', 'tlm', { battery_voltage: 42 })
  assert.deepEqual(await course.voltages('gps'), [39, 40, 41, 42])
  assert.equal((await course.attributes('gps')).battery_voltage, 42)
  assert.deepEqual((await course.get('/devices/gps/details')).dropped, {})

  // without any time, a later arrival is a later reading
  for (const battery_voltage of [30, 31, 32]) {
    await course.send('blind', 'tlm', { battery_voltage })
    course.clock.advance(MINUTE)
  }
  await course.send('blind', 'tlm', {
    boot: 1,
    up: 60 * MINUTE,
    s: [
      { up: 59.5 * MINUTE, battery_voltage: 33 },
      { up: 60 * MINUTE, battery_voltage: 34 },
    ],
  })
  await course.send('blind', 'evt', { event: 'unlock', source: 'key' })
  assert.deepEqual(await course.voltages('blind'), [30, 31, 32, 33, 34])
  assert.equal((await course.attributes('blind')).battery_voltage, 34)
  assert.equal((await course.attributes('blind')).lock_status, false)

  course.clock.set(NOW + 5 * MINUTE)
  assert.equal(await course.isTrusted(), true)
  assert.equal(await course.timeSent('blind'), NOW + 5 * MINUTE)
  await course.send('blind', 'tlm', { battery_voltage: 35 })
  await course.send('gps', 'tlm', { ts: NOW + 5 * MINUTE, battery_voltage: 43 })
  assert.equal((await course.get('/devices/blind/battery/latest')).battery_voltage, 35)
  assert.equal((await course.attributes('gps')).battery_voltage, 43)
  assert.deepEqual(await course.voltages('blind', 'from=2026-05-01&to=2026-05-02'), [35])
  assert.deepEqual(await course.voltages('blind', 'from=2019-01-01&to=2021-01-01'), [30, 31, 32, 33, 34])
  assert.deepEqual((await course.get('/stats')).telemetry, { gps: 0, battery: 11 })
})

test('a start in 1970 stores new data after the existing data', async (t) => {
  const course = await Course.open(t)
  await course.send('blind', 'tlm', { battery_voltage: 40, lock_status: true })
  await course.restart(5 * SECOND)
  assert.equal(await course.isTrusted(), false)
  await course.send('blind', 'tlm', { battery_voltage: 39 })
  await course.send('blind', 'evt', { event: 'unlock', source: 'key' })
  assert.deepEqual(await course.voltages('blind'), [40, 39])
  assert.deepEqual(await course.attributes('blind'), { battery_voltage: 39, lock_status: false })
  assert.ok(Date.parse((await course.get('/devices/blind')).updated_at) >= NOW)
  // also after the next start without a clock
  await course.restart(6 * SECOND)
  await course.send('blind', 'tlm', { battery_voltage: 38 })
  assert.deepEqual(await course.voltages('blind'), [40, 39, 38])
  assert.equal(await course.isTrusted(), false)
})

test('the state follows a clock ten years ahead and back, and nothing is lost', async (t) => {
  const course = await Course.open(t)
  const { clock } = course
  for (const cart of ['blind', 'gps', 'silent']) await course.send(cart, 'tlm', { battery_voltage: 50 })
  clock.advance(MINUTE)

  clock.set(NOW + 10 * YEAR)
  await course.send('blind', 'tlm', { lat: 1, long: 2, battery_voltage: 40, lock_status: true })
  await course.send('blind', 'evt', { event: 'lock', source: 'key' })
  await course.send('gps', 'tlm', { ts: NOW + MINUTE, lat: 1, long: 2, battery_voltage: 40 })
  await course.send('silent', 'tlm', { battery_voltage: 40 })
  assert.equal((await course.attributes('gps')).battery_voltage, 40)

  clock.set(NOW + 2 * MINUTE)
  await course.send('blind', 'tlm', { lat: 3, long: 4, battery_voltage: 30 })
  await course.send('blind', 'evt', { event: 'unlock', source: 'key' })
  await course.send('gps', 'tlm', { ts: NOW + 2 * MINUTE, lat: 3, long: 4, battery_voltage: 30 })
  for (const cart of ['blind', 'gps']) {
    assert.equal((await course.attributes(cart)).battery_voltage, 30)
    assert.equal((await course.get(`/devices/${cart}/gps/latest`)).lat, 3)
    assert.equal((await course.get(`/devices/${cart}/battery/latest`)).battery_voltage, 30)
    assert.equal((await course.get(`/devices/${cart}`)).is_online, true)
  }
  assert.equal((await course.attributes('blind')).lock_status, false)
  // an older reading is late again
  await course.send('blind', 'tlm', { ts: NOW + MINUTE, battery_voltage: 45 })
  assert.equal((await course.attributes('blind')).battery_voltage, 30)
  assert.deepEqual(await course.voltages('blind'), [50, 45, 30, 40])
  assert.deepEqual(await course.voltages('blind', 'from=2026-05-01&to=2026-05-02'), [50, 45, 30])
  assert.equal((await course.get('/lock-events?from=2026-05-01&to=2026-05-02')).events.length, 1)

  // a start neither brings the wrong year back nor doubts the right one
  await course.restart(NOW + 3 * MINUTE)
  assert.equal(await course.isTrusted(), true)
  assert.equal((await course.attributes('blind')).battery_voltage, 30)
  assert.equal((await course.get('/devices/blind/gps/latest')).lat, 3)
  assert.equal((await course.get('/devices/silent/battery/latest')).battery_voltage, 50)
  await course.send('silent', 'tlm', { battery_voltage: 29 })
  assert.equal((await course.attributes('silent')).battery_voltage, 29)
})

test("a clock ten years back, before 2020, does not stop the gateway's own time", async (t) => {
  const course = await Course.open(t)
  const { clock } = course
  await course.send('blind', 'tlm', { battery_voltage: 40 })
  clock.set(NOW - 10 * YEAR)
  clock.advance(MINUTE)
  await course.send('blind', 'tlm', { battery_voltage: 39 })
  assert.equal(await course.isTrusted(), false)
  assert.equal((await course.get('/devices/blind')).updated_at, new Date(NOW + MINUTE).toISOString())
  clock.set(NOW + 2 * MINUTE)
  await course.send('blind', 'tlm', { battery_voltage: 38 })
  assert.equal(await course.isTrusted(), true)
  assert.deepEqual(await course.voltages('blind'), [40, 39, 38])
  assert.equal((await course.attributes('blind')).battery_voltage, 38)
})

test("a clock three years back and ahead again does not change the gateway's own time", async (t) => {
  const course = await Course.open(t)
  const { clock } = course
  await course.send('blind', 'tlm', { battery_voltage: 40, lock_status: 1 })
  clock.set(NOW - 3 * YEAR)
  await course.send('blind', 'tlm', { battery_voltage: 39 })
  await course.send('blind', 'evt', { event: 'unlock', source: 'key' })
  assert.equal(await course.doubt(), 'set_back')
  assert.equal(await course.timeSent('blind'), null)
  assert.deepEqual(await course.attributes('blind'), { battery_voltage: 39, lock_status: 0 })
  assert.equal((await course.get('/devices/blind')).is_online, true)
  clock.set(NOW + MINUTE)
  await course.send('blind', 'tlm', { battery_voltage: 38, lock_status: 1 })
  assert.equal(await course.doubt(), null)
  assert.deepEqual(await course.attributes('blind'), { battery_voltage: 38, lock_status: 1 })
  assert.deepEqual(await course.voltages('blind'), [40, 39, 38])
})

test('with a clock set back an hour, batches, readings and events keep their times', async (t) => {
  const course = await Course.open(t)
  const { clock } = course
  await course.send('gps', 'tlm', { ts: NOW, battery_voltage: 50 })
  clock.set(NOW - HOUR)
  await course.send('gps', 'tlm', [
    { ts: NOW - 2 * MINUTE, battery_voltage: 48 },
    { ts: NOW - MINUTE, battery_voltage: 49 },
    { ts: NOW + 4 * MINUTE, battery_voltage: 51 },
  ])
  await course.send('gps', 'tlm', { ts: NOW + 4.5 * MINUTE, battery_voltage: 52 })
  await course.send('gps', 'evt', { event: 'lock', source: 'key', ts: NOW + 3 * MINUTE })
  await course.send('blind', 'tlm', { battery_voltage: 60 })
  // so far ahead, no time would be accepted if the clock were right
  const unverified = [10, 20].map((minutes) => NOW + minutes * MINUTE)
  await course.send(
    'gps',
    'tlm',
    unverified.map((ts, i) => ({ ts, battery_voltage: 53 + i })),
  )
  assert.deepEqual(await course.voltages('gps'), [48, 49, 50, 51, 52, 53, 54])
  const { events } = await course.get('/lock-events')
  assert.equal(events[0].timestamp, new Date(NOW + 3 * MINUTE).toISOString())
  assert.equal((await course.get('/devices/blind/battery/latest')).timestamp, new Date(NOW).toISOString())
  const { dropped, unverified_times } = await course.get('/devices/gps/details')
  assert.deepEqual(dropped, {})
  const [from, to] = unverified.map((atMs) => new Date(atMs).toISOString())
  assert.deepEqual(unverified_times, { count: 2, from, to })
  assert.equal((await course.get('/devices/blind/details')).unverified_times, null)
  assert.equal(await metric(course.gateway, 'cartbarn_unverified_times_total'), 2)
  assert.equal(await course.doubt(), 'set_back')
})

test('with a clock an hour behind since the start, every later reading of a batch is quarantined', async (t) => {
  const course = await Course.open(t, NOW - HOUR)
  const readings = Array.from({ length: 300 }, (_, i) => ({
    ts: NOW - i * SECOND,
    battery_voltage: 40,
    note: 'n'.repeat(40),
  }))
  await course.send('gps', 'tlm', [{ ts: NOW - HOUR, battery_voltage: 41 }, ...readings])
  await course.send('gps', 'tlm', { boot: 1, up: 5, s: [{ ts: NOW, battery_voltage: 39 }] })
  assert.deepEqual(await course.voltages('gps'), [41])
  assert.deepEqual((await course.get('/devices/gps/details')).dropped, { implausible_time: 301 })
  const kept = (await course.get('/mqtt/quarantine?order=asc')) as Record<string, string>[]
  const read = kept.map(({ reason, topic, payload }) => {
    assert.deepEqual([reason, topic], ['implausible_time', 'dev/gps/tlm'])
    return JSON.parse(Buffer.from(payload ?? '', 'base64').toString())
  })
  assert.deepEqual(read, [readings, [{ ts: NOW, battery_voltage: 39 }]])
})

const SIXTY_DAYS = { CARTBARN_RETENTION_DAYS: '60', CARTBARN_EVENT_RETENTION_DAYS: '60' }
const HISTORY_DAYS = 50

/** Sends a reading of a device for each of the last fifty days. */
async function sendHistory(course: Course, hardwareId: string): Promise<void> {
  const days = Array.from({ length: HISTORY_DAYS }, (_, i) => i + 1)
  const readings = days.map((day) => ({ ts: NOW - day * DAY, battery_voltage: day }))
  await course.send(hardwareId, 'tlm', readings)
  await course.send(
    hardwareId,
    'evt',
    days.map((day) => ({ eid: `e${day}`, event: 'lock', source: 'key', ts: NOW - day * DAY })),
  )
}

const WITHOUT_TS = {
  reading: { lat: 1, long: 2, battery_voltage: 1 },
  envelope: { boot: 1, up: 9000, s: [{ up: 8000, battery_voltage: 1 }] },
}

for (const [what, payload] of Object.entries(WITHOUT_TS)) {
  for (const whenAhead of ['while running', 'at the start'] as const) {
    test(`a clock three years ahead ${whenAhead}, and a device's ${what} without ts, delete nothing`, async (t) => {
      const course = await Course.open(t, NOW, SIXTY_DAYS)
      await sendHistory(course, 'gps')
      if (whenAhead === 'while running') course.clock.set(NOW + 3 * YEAR)
      else await course.restart(NOW + 3 * YEAR)
      await course.send('gps', 'tlm', { ts: NOW + MINUTE, battery_voltage: 0 })
      await course.send('blind', 'tlm', payload)
      // requested the time from the gateway
      await course.send('asking', 'tlm', { ts: NOW + 3 * YEAR, battery_voltage: 1 })
      await course.gateway.runRetention()
      assert.equal(await course.count('gps'), HISTORY_DAYS + 1)
      assert.equal((await course.get('/lock-events?limit=1000')).events.length, HISTORY_DAYS)

      assert.equal(await course.doubt(), 'ahead')
      const { status, body } = await course.purge(20)
      assert.deepEqual([status, body.code], [409, 'clock_unconfirmed'])
      assert.match(body.detail, /shows 2029-.* 109[45] days later .*\/clock\/confirm/)
      assert.equal(await course.count('gps'), HISTORY_DAYS + 1)
    })
  }
}

test('an admin confirms a clock that was right, and deletion by age continues; also after a start', async (t) => {
  const course = await Course.open(t, NOW, SIXTY_DAYS)
  await sendHistory(course, 'gps')
  const laterMs = NOW + 40 * DAY
  await course.restart(laterMs)
  assert.equal(await course.doubt(), 'ahead')
  const refused = await course.confirm(NOW)
  assert.deepEqual([refused.status, refused.body.code], [409, 'clock_differs'])
  assert.equal(await course.doubt(), 'ahead')
  assert.deepEqual((await course.confirm(laterMs + 2 * MINUTE)).status, 200)
  assert.equal(await course.doubt(), null)
  await course.restart(laterMs + MINUTE)
  assert.equal(await course.doubt(), null)
  await course.send('gps', 'tlm', { ts: laterMs + MINUTE, battery_voltage: 0 })
  await course.gateway.runRetention()
  // the minute of the restart is not known to have passed
  assert.equal(await course.count('gps'), 21)
  assert.equal((await course.purge(50)).body.purged.battery, 11)
  const { entries } = await course.get('/audit-log')
  const confirmed = entries.filter(({ action }: { action: string }) => action === 'clock.confirmed')
  assert.equal(confirmed.length, 1)
})

test('a clock years ahead since the first start allows no purge until an admin confirms it', async (t) => {
  const course = await Course.open(t, NOW + 3 * YEAR, SIXTY_DAYS)
  await sendHistory(course, 'gps')
  // its time comes from the gateway, also after a restart
  assert.equal(await course.timeSent('asking'), NOW + 3 * YEAR)
  await course.send('asking', 'tlm', { ts: NOW + 3 * YEAR, battery_voltage: 1 })
  await course.restart(NOW + 3 * YEAR + MINUTE)
  await course.send('asking', 'tlm', { ts: NOW + 3 * YEAR + MINUTE, battery_voltage: 1 })
  await course.gateway.runRetention()
  const { status, body } = await course.purge(60)
  assert.deepEqual([status, body.code], [409, 'clock_unconfirmed'])
  assert.match(body.detail, /shows 2029-.* newest time that a device sent is 2026-04-30T12:00:00.000Z.*confirm/)
  assert.equal(await course.count('gps'), HISTORY_DAYS)
  // the clock was right: the device's readings are three years old
  assert.equal((await course.confirm(NOW + 3 * YEAR + MINUTE)).status, 200)
  assert.equal((await course.purge(60)).body.purged.battery, HISTORY_DAYS)
})

test('an admin confirms a clock that was set back', async (t) => {
  const course = await Course.open(t, NOW + HOUR)
  await course.send('blind', 'tlm', { battery_voltage: 40 })
  course.clock.set(NOW)
  assert.equal(await course.isTrusted(), false)
  assert.equal((await course.purge(20)).body.code, 'clock_not_set')
  assert.equal((await course.confirm(NOW)).status, 200)
  assert.equal(await course.doubt(), null)
  assert.equal(await course.timeSent('blind'), NOW)
  assert.equal((await course.purge(20)).status, 200)
})

test('a clock that goes back a little keeps the order of readings and merges none', async (t) => {
  const course = await Course.open(t)
  for (const battery_voltage of [40, 39, 38]) {
    await course.send('blind', 'tlm', { battery_voltage })
    course.clock.advance(SECOND)
  }
  course.clock.set(NOW)
  for (const battery_voltage of [37, 36]) {
    await course.send('blind', 'tlm', { battery_voltage })
    course.clock.advance(SECOND)
  }
  assert.deepEqual(await course.voltages('blind'), [40, 39, 38, 37, 36])
  assert.equal((await course.attributes('blind')).battery_voltage, 36)
})

test('after a stop in a wrong year the right one is doubted until two carts confirm it', async (t) => {
  const course = await Course.open(t)
  const { clock } = course
  clock.set(NOW + 10 * YEAR)
  await course.send('blind', 'tlm', { battery_voltage: 40 })
  await course.restart(NOW + MINUTE)
  assert.equal(await course.isTrusted(), false)
  await course.send('blind', 'tlm', { battery_voltage: 39 })
  assert.equal((await course.attributes('blind')).battery_voltage, 39)

  for (const _ of [1, 2]) {
    assert.equal(await course.isTrusted(), false)
    for (const cart of ['gps', 'gps-2']) await course.send(cart, 'tlm', { ts: clock.nowMs(), speed: 1 })
    clock.advance(2 * MINUTE)
  }
  assert.equal(await course.isTrusted(), true)
  await course.send('blind', 'tlm', { battery_voltage: 38 })
  assert.equal((await course.attributes('blind')).battery_voltage, 38)
  assert.equal((await course.get('/devices/blind/battery/latest')).timestamp, new Date(clock.nowMs()).toISOString())
  await course.restart(clock.nowMs() + MINUTE)
  assert.equal(await course.isTrusted(), true)
})

test('setting the clock neither ends nor starts a rate limit', async (t) => {
  const course = await Course.open(t)
  const { clock, gateway } = course
  const { userId, key } = await gateway.createUser({})
  const guess = async () => (await gateway.request('GET', '/devices', { key: 'guess' })).status
  const usage = async () => (await course.get(`/users/${userId}`)).usage
  for (let i = 0; i < 300; i++) assert.equal(await guess(), 401)
  for (const atMs of [NOW + 10 * YEAR, NOW - 10 * YEAR, NOW]) {
    clock.set(atMs)
    assert.equal(await guess(), 429)
  }
  clock.advance(MINUTE)
  assert.equal(await guess(), 401)

  // requests stay counted, whichever day it really was
  await gateway.request('GET', '/devices', { key })
  clock.set(NOW + 10 * YEAR)
  await gateway.request('GET', '/devices', { key })
  clock.set(NOW + HOUR)
  await gateway.request('GET', '/devices', { key })
  assert.equal((await usage()).total_requests, 3)
  assert.equal((await usage()).requests_today, 2)
  clock.advance(24 * HOUR)
  assert.equal((await usage()).requests_today, 0)
})
