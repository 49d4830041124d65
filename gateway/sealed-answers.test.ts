import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import type { MqttClient } from 'mqtt'
import { FakeClock } from '#shared/testing/clocks.ts'
import { Ride } from '#shared/testing/ride.ts'
import { DAY_MS, toIso } from '#shared/time.ts'
import { answersTo, sealTelemetry } from '#testing/course/telemetry-answers.ts'
import { metric, startGateway, type TestGateway } from '#testing/start-gateway.ts'

// Responses do not reveal where records are: in the log, in blocks or in transit between them.

const NOON_MS = Date.UTC(2026, 4, 1, 12)
const MESSAGE_SAMPLES = 500
const STREAMS = ['gps', 'battery'] as const
const clock = new FakeClock(NOON_MS)
let g: TestGateway

before(async () => {
  // sealed only by the tests
  g = await startGateway({ CARTBARN_SEAL_SAMPLES: '100000000' }, { clock })
})
after(() => g.stop())

interface Sample {
  ts: number
  lat?: number
  long?: number
  speed?: number
  battery_voltage?: number
}

type Stream = (typeof STREAMS)[number]

/** Device and its expected records; of equal times the first received counts. */
class Cart {
  readonly id: string
  readonly #password: string
  #client: MqttClient | undefined
  readonly #stored = { gps: new Map<number, object>(), battery: new Map<number, object>() }

  constructor(id: string, password: string) {
    this.id = id
    this.#password = password
  }

  async connect(): Promise<void> {
    this.#client = await g.connect(this.id, this.#password)
  }

  async send(samples: readonly Sample[]): Promise<void> {
    for (let at = 0; at < samples.length; at += MESSAGE_SAMPLES) {
      const message = JSON.stringify(samples.slice(at, at + MESSAGE_SAMPLES))
      await this.#client?.publishAsync(`dev/${this.id}/tlm`, message, { qos: 1 })
    }
    for (const { ts, lat, long, speed, battery_voltage } of samples) {
      const { gps, battery } = this.#stored
      const timestamp = toIso(ts)
      if (lat !== undefined && !gps.has(ts))
        gps.set(ts, { timestamp, lat, long, ...(speed === undefined ? {} : { speed }) })
      if (battery_voltage !== undefined && !battery.has(ts)) battery.set(ts, { timestamp, battery_voltage })
    }
  }

  /** Oldest first. */
  stored(stream: Stream, { fromMs, toMs } = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER }): object[] {
    return [...this.#stored[stream]]
      .filter(([atMs]) => atMs >= fromMs && atMs <= toMs)
      .sort(([a], [b]) => a - b)
      .map(([, record]) => record)
  }
}

const often = <T>(value: T, weight: number, rare: fc.Arbitrary<T>) =>
  fc.oneof({ weight, arbitrary: fc.constant(value) }, { weight: 1, arbitrary: rare })

const aTrack = fc.record({
  legs: fc.array(
    fc.record({
      kind: fc.constantFrom('drive', 'drive', 'wait', 'silence'),
      seconds: fc.integer({ min: 60, max: 900 }),
      everyS: fc.constantFrom(5, 10, 30),
      speedKmh: fc.integer({ min: 1, max: 40 }),
      reported: fc.boolean(),
      headingDeg: fc.integer({ min: 0, max: 359 }),
    }),
    { minLength: 1, maxLength: 6 },
  ),
  agoS: fc.constantFrom(0, 60, 3600),
  streams: fc.array(fc.constantFrom('gps', 'battery', 'both', 'both'), { minLength: 1, maxLength: 7 }),
  /** Number of positions by which each sample is delayed. */
  delays: fc.array(often(0, 6, fc.nat({ max: 400 })), { minLength: 1, maxLength: 30 }),
  /** Records close to others in time, or with equal times. */
  others: fc.array(
    fc.record({
      of: fc.oneof(fc.nat({ max: 3000 }), fc.integer({ min: 2044, max: 2052 })),
      shiftMs: fc.constantFrom(0, 0, 1, -1, 500),
      delay: fc.nat({ max: 3000 }),
    }),
    { maxLength: 40 },
  ),
})

const aPlan = fc.record({
  tracks: fc.array(aTrack, { minLength: 2, maxLength: 3 }),
  /** Ends of the uploads, in thousandths of each track's samples, and the action after each. */
  uploads: fc.array(
    fc.record({ end: fc.nat({ max: 999 }), next: fc.constantFrom('nothing', 'sealing', 'reading while sealing') }),
    { minLength: 1, maxLength: 4 },
  ),
  limit: fc.integer({ min: 1, max: 300 }),
  /** Range in seconds before noon. */
  range: fc.tuple(fc.nat({ max: 6000 }), fc.nat({ max: 6000 })),
})

type Track = typeof aTrack extends fc.Arbitrary<infer T> ? T : never

/** Returns the samples of a track in the order of sending; the first ones are a second apart. */
function samplesOf({ legs, agoS, streams, delays, others }: Track, secondsFirst: number): Sample[] {
  const ride = new Ride().drive(secondsFirst, 12, 1)
  for (const { kind, seconds, everyS, speedKmh, reported, headingDeg } of legs) {
    if (kind === 'drive') ride.drive(seconds, speedKmh, everyS, { headingDeg, reported })
    else if (kind === 'wait') ride.wait(seconds, everyS)
    else ride.later(seconds * 3)
  }
  const shiftMs = NOON_MS - agoS * 1000 - (ride.records.at(-1)?.atMs ?? 0)
  const samples = ride.records.map(({ atMs, lat, long, speedKmh }, i): Sample => {
    const stream = streams[i % streams.length]
    const position = { lat: Number(lat.toFixed(7)), long: Number(long.toFixed(7)) }
    return {
      ts: atMs + shiftMs,
      ...(stream === 'battery' ? {} : { ...position, ...(speedKmh === null ? {} : { speed: speedKmh }) }),
      ...(stream === 'gps' ? {} : { battery_voltage: (4000 + (i % 800)) / 100 }),
    }
  })
  const sent = samples.map((sample, i) => ({ sample, place: i + (delays[i % delays.length] ?? 0) }))
  for (const { of, shiftMs: otherMs, delay } of others) {
    const sample = samples[of % samples.length]
    if (sample !== undefined)
      sent.push({ sample: { ...differing(sample), ts: sample.ts + otherMs }, place: of + delay })
  }
  return sent.sort((a, b) => a.place - b.place).map(({ sample }) => sample)
}

/** Returns the same reading with other values. */
function differing({ lat, battery_voltage, ...sample }: Sample): Sample {
  return {
    ...sample,
    ...(lat === undefined ? {} : { lat: Number((lat + 0.001).toFixed(7)) }),
    ...(battery_voltage === undefined ? {} : { battery_voltage: 12 }),
  }
}

const rangeQuery = (fromMs: number, toMs: number) => `from=${toIso(fromMs)}&to=${toIso(toMs)}`
const DAY = rangeQuery(NOON_MS - DAY_MS / 2, NOON_MS + DAY_MS / 2)

interface Queries {
  limit: number
  fromMs: number
  toMs: number
}

/** Returns all paths that return records, with all kinds of queries. */
function pathsOf(carts: readonly Cart[], { limit, fromMs, toMs }: Queries): string[] {
  const ranges = [`limit=${limit}`, DAY, rangeQuery(fromMs, toMs)]
  const trips = [DAY, rangeQuery(fromMs, toMs)]
  return [
    ...carts.flatMap(({ id }) => [
      ...STREAMS.flatMap((stream) =>
        ranges.flatMap((range) => [
          `/devices/${id}/${stream}?order=asc&${range}`,
          `/devices/${id}/${stream}?order=desc&${range}`,
        ]),
      ),
      ...trips.flatMap((range) => [`/trips/${id}?${range}`, `/trips/${id}/summary?${range}`]),
      `/devices/${id}/telemetry/stats`,
    ]),
    ...trips.map((range) => `/trips?${range}`),
    '/trips/active?maxAgeSeconds=3600',
    '/stats',
  ]
}

/** Returns also the paths of the device state, which a restart changes. */
async function statePaths(carts: readonly Cart[]): Promise<string[]> {
  const paths: string[] = []
  for (const { id } of carts) {
    paths.push(`/devices/${id}/details`)
    for (const stream of STREAMS) {
      const path = `/devices/${id}/${stream}/latest`
      if ((await g.request('GET', path)).status === 200) paths.push(path)
    }
  }
  return paths
}

/** Fails unless histories and counts match the records received. */
function assertReceived(answers: Record<string, unknown>, carts: readonly Cart[], { limit, fromMs, toMs }: Queries) {
  for (const cart of carts) {
    for (const stream of STREAMS) {
      const path = `/devices/${cart.id}/${stream}`
      const all = cart.stored(stream)
      const expected = {
        [`order=asc&limit=${limit}`]: all.slice(0, limit),
        [`order=desc&limit=${limit}`]: all.toReversed().slice(0, limit),
        [`order=asc&${DAY}`]: all,
        [`order=desc&${DAY}`]: all.toReversed(),
        [`order=asc&${rangeQuery(fromMs, toMs)}`]: cart.stored(stream, { fromMs, toMs }),
        [`order=desc&${rangeQuery(fromMs, toMs)}`]: cart.stored(stream, { fromMs, toMs }).toReversed(),
      }
      for (const [query, records] of Object.entries(expected)) {
        assert.deepEqual(withoutIds(answers[`${path}?${query}`]), records, `${path}?${query}`)
      }
      const latest = answers[`${path}/latest`]
      if (latest !== undefined) assert.deepEqual(withoutIds([latest]), all.slice(-1))
    }
    const counts = { gps: cart.stored('gps').length, battery: cart.stored('battery').length }
    assert.deepEqual(answers[`/devices/${cart.id}/telemetry/stats`], { hardware_id: cart.id, ...counts })
  }
}

function withoutIds(records: unknown): object[] {
  assert.ok(Array.isArray(records))
  return records.map(({ _id, device_id, hardware_id, ...record }) => record)
}

let devices = 0

async function newCart(): Promise<Cart> {
  const id = `cart-${++devices}`
  const cart = new Cart(id, await g.register(id))
  await cart.connect()
  return cart
}

/** Ends a track in a drive that is still in progress. */
function driving({ legs, streams, ...track }: Track): Track {
  const drive = { seconds: 600, everyS: 10 as const, speedKmh: 20, reported: true, headingDeg: 90 }
  return { ...track, agoS: 0, legs: [...legs, { kind: 'drive', ...drive }], streams: [...streams, 'both'] }
}

for (const [what, numRuns, aLength] of [
  ['short tracks', 5, fc.constant(0)],
  ['tracks of a full block, nearly or a little more', 2, fc.integer({ min: 2046, max: 2050 })],
] as const) {
  test(`${what}: responses are the same before and after sealing, and no record is stored twice`, async () => {
    const found = { trips: 0, active: 0 }
    const property = fc.asyncProperty(aPlan, aLength, async (plan, length) => {
      const [first, ...others] = plan.tracks
      const sent = [...(first === undefined ? [] : [samplesOf(driving(first), length)])]
      for (const track of others) sent.push(samplesOf(track, 0))
      const [trips, active] = await sealsUnnoticed(plan, sent)
      found.trips += trips
      found.active += active
    })
    // a run takes a second, so shrinking would take too long
    await fc.assert(property, { numRuns, endOnFailure: true })
    // otherwise the property would prove little
    assert.ok(found.trips > 0 && found.active > 0)
  })
}

type Plan = typeof aPlan extends fc.Arbitrary<infer T> ? T : never

let last: { carts: Cart[]; sent: Sample[][]; queries: Queries } | undefined

/** Uploads, seals and requests as planned. Returns the number of trips, and of those still in progress. */
async function sealsUnnoticed(
  { uploads, limit, range: [a, b] }: Plan,
  sent: Sample[][],
): Promise<[trips: number, active: number]> {
  const [fromMs, toMs] = [NOON_MS - Math.max(a, b) * 1000, NOON_MS - Math.min(a, b) * 1000]
  const queries = { limit, fromMs, toMs }
  const carts: Cart[] = []
  for (const _ of sent) carts.push(await newCart())
  const answers = async () => answersTo(g, [...pathsOf(carts, queries), ...(await statePaths(carts))])

  const ends = uploads.map(({ end }) => end).sort((x, y) => x - y)
  for (const [i, { next }] of [...uploads, { next: 'sealing' }].entries()) {
    const [from, to] = [(ends[i - 1] ?? 0) / 1000, (ends[i] ?? 1000) / 1000]
    for (const [c, cart] of carts.entries()) {
      const samples = sent[c] ?? []
      await cart.send(samples.slice(Math.floor(from * samples.length), Math.floor(to * samples.length)))
    }
    const unsealed = await answers()
    assertReceived(unsealed, carts, queries)
    if (next === 'nothing') continue
    const sealing = sealTelemetry(g)
    if (next === 'reading while sealing') assert.deepEqual(await answers(), unsealed)
    await sealing
    assert.deepEqual(await answers(), unsealed)
  }

  const sealed = await answers()
  await repeat(carts, sent)
  assert.deepEqual(await answers(), sealed)
  last = { carts, sent, queries }
  const trips = await g.request('GET', `/trips/${carts[0]?.id}?${DAY}`)
  const active = await g.request('GET', `/trips/${carts[0]?.id}/active?maxAgeSeconds=3600`)
  return [trips.body.trips.length, Number(active.body.active)]
}

/** Sends all samples once more, which adds nothing to the log. */
async function repeat(carts: readonly Cart[], sent: Sample[][]): Promise<void> {
  const sealed = await metric(g, 'cartbarn_sealed_samples_total')
  for (const [c, cart] of carts.entries()) await cart.send((sent[c] ?? []).map(differing).reverse())
  await sealTelemetry(g)
  assert.equal(await metric(g, 'cartbarn_sealed_samples_total'), sealed)
}

test('after a restart neither sealed nor logged records are stored again', async () => {
  assert.ok(last)
  const { queries } = last
  const logged = await newCart()
  const samples = [3, 1, 2].map((s) => ({ ts: NOON_MS - s * 1000, lat: 36, long: -121, battery_voltage: 50 }))
  await logged.send(samples)
  const [carts, sent] = [
    [...last.carts, logged],
    [...last.sent, samples],
  ]
  const paths = pathsOf(carts, queries)
  const stopped = await answersTo(g, paths)
  assertReceived(stopped, carts, queries)

  await g.restart()
  assert.deepEqual(await answersTo(g, paths), stopped)
  for (const cart of carts) await cart.connect()
  for (const [c, cart] of carts.entries()) await cart.send((sent[c] ?? []).map(differing))
  assert.deepEqual(await answersTo(g, paths), stopped)
  await sealTelemetry(g)
  assert.deepEqual(await answersTo(g, paths), stopped)
  assert.equal(await metric(g, 'cartbarn_sealed_samples_total'), samples.length)
})
