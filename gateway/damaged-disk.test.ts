import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { FakeClock } from '#shared/testing/clocks.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { Ride } from '#shared/testing/ride.ts'
import { toIso } from '#shared/time.ts'
import { BlockTable } from '#testing/block-table.ts'
import { answersTo, sealTelemetry } from '#testing/course/telemetry-answers.ts'
import { flipBit, flipLinkBit } from '#testing/damage/flip-bit.ts'
import { ADMIN_KEY, metric, startGateway, type TestGateway } from '#testing/start-gateway.ts'
import { blocksIn, type TestBlock } from '#testing/telemetry-tables.ts'

// A failing disk costs only the telemetry that it damages, until the device sends that again.

const NOON_MS = Date.UTC(2026, 4, 1, 12)
const RANGE = `from=${toIso(NOON_MS - 7_200_000)}&to=${toIso(NOON_MS)}`
const MESSAGE_SAMPLES = 500

interface Sample {
  ts: number
  lat: number
  long: number
  speed: number
  battery_voltage: number
}

/** Sizes of the portions, each sealed into one block; the first block is full. */
const PORTIONS = [2048, 600, 300]

/** A device drives, waits and drives. */
const SAMPLES = samplesOf(1)
const OTHER_SAMPLES = samplesOf(2)

function samplesOf(seed: number): Sample[] {
  const { records } = new Ride().drive(1200, 15, 1).wait(600, 1).drive(1148, 12, 1, { headingDeg: 90 })
  return records.map(({ lat, long, speedKmh }, i): Sample => {
    // varies every value, since a block would otherwise be smaller than three pages, and equal to another
    const wander = (what: number, bits: number) => mixed(i * 10 + what * 2 + seed) >>> (32 - bits)
    return {
      ts: NOON_MS - (records.length - i) * 1000 + wander(0, 8),
      lat: Number((lat + wander(1, 7) / 1e7).toFixed(7)),
      long: Number((long + wander(2, 7) / 1e7).toFixed(7)),
      speed: ((speedKmh ?? 0) * 1000 + wander(3, 11)) / 1000,
      battery_voltage: (50_000 + wander(4, 7)) / 1000,
    }
  })
}

/** Deterministic pseudo-random number. */
function mixed(value: number): number {
  const half = Math.imul(value ^ (value >>> 16), 0x85eb_ca6b)
  const more = Math.imul(half ^ (half >>> 13), 0xc2b2_ae35)
  return more ^ (more >>> 16)
}

interface Carts {
  g: TestGateway
  /** Key of a user with all devices in scope, but without admin rights. */
  userKey: string
  send: (id: string, samples: readonly Sample[]) => Promise<void>
}

/** Starts a gateway with cart-1, which will be damaged, and cart-2. */
async function startWithCarts(t: TestContext, settings: Record<string, string> = {}): Promise<Carts> {
  const g = await startGateway(settings, { clock: new FakeClock(NOON_MS) })
  t.after(() => g.stop())
  const passwords = new Map<string, string>()
  for (const id of ['cart-1', 'cart-2']) passwords.set(id, await g.register(id))
  const { key: userKey } = await g.createUser({ allowed_hardware_ids: ['cart-1', 'cart-2'] })
  const send = async (id: string, samples: readonly Sample[]) => {
    const client = await g.connect(id, passwords.get(id) ?? '')
    for (let at = 0; at < samples.length; at += MESSAGE_SAMPLES) {
      const message = JSON.stringify(samples.slice(at, at + MESSAGE_SAMPLES))
      await client.publishAsync(`dev/${id}/tlm`, message, { qos: 1 })
    }
    await client.endAsync()
  }
  return { g, userKey, send }
}

const pathsOf = (id: string) => [
  ...['gps', 'battery'].flatMap((stream) => [
    `/devices/${id}/${stream}?${RANGE}&order=asc`,
    `/devices/${id}/${stream}/latest`,
  ]),
  `/devices/${id}/telemetry/stats`,
  `/trips/${id}?${RANGE}`,
  `/trips/${id}/summary?${RANGE}`,
]

/** Returns the times of the records of a history. */
async function timesOf(g: TestGateway, id: string, stream: string, key = ADMIN_KEY): Promise<number[]> {
  const { status, body } = await g.request('GET', `/devices/${id}/${stream}?${RANGE}&order=asc`, { key })
  assert.equal(status, 200)
  return body.map(({ timestamp }: { timestamp: string }) => Date.parse(timestamp))
}

async function counts(g: TestGateway, id: string): Promise<{ gps: number; battery: number }> {
  const { gps, battery } = (await g.request('GET', `/devices/${id}/telemetry/stats`)).body
  return { gps, battery }
}

/** Runs on the database of a stopped gateway; all its pages are in one file afterwards. */
function inDatabase<Result>(g: TestGateway, work: (table: BlockTable) => Result): Result {
  const table = new BlockTable(databaseOf(g))
  try {
    // free pages may contain copies of other rows
    table.connection.db.exec('VACUUM')
    table.connection.db.pragma('wal_checkpoint(TRUNCATE)')
    return work(table)
  } finally {
    table.close()
  }
}

/**
 * Removes warnings about missing records, which remain after the records were sent again: a damaged block stays in
 * quarantine.
 */
function withoutWarnings(answers: Record<string, unknown>): unknown {
  return JSON.parse(JSON.stringify(answers, (name, value) => (name === 'warnings' ? undefined : value)))
}

const databaseOf = ({ config }: TestGateway) => join(config.dataDir, 'cartbarn.db')

async function assertShownToAdminsOnly(g: TestGateway, userKey: string, damaged: object): Promise<void> {
  const isReported = async () => (await metric(g, 'cartbarn_damaged_blocks')) === 1
  await eventually(isReported, 'the damaged blocks are detached')
  const { body } = await g.request('GET', '/health')
  const { newest, ...sums } = body.damaged_telemetry
  assert.equal(body.status, 'ok')
  const [{ reason, ...newestOne }] = newest
  assert.deepEqual({ ...sums, newest: [newestOne] }, damaged)
  for (const key of [userKey, null]) {
    const { status, body: health } = await g.request('GET', '/health', { key })
    assert.deepEqual([status, Object.keys(health).sort()], [200, ['clock', 'status', 'timestamp']])
  }
}

for (const [what, stream, blockIndex, flip] of [
  ['a bit of the first block', 'gps', 0, (path, bytes) => flipBit(path, bytes, 4200, 3)],
  ['a bit of a block in the middle', 'battery', 1, (path, bytes) => flipBit(path, bytes, 300, 6)],
  ['a bit of the newest block', 'gps', 2, (path, bytes) => flipBit(path, bytes, 300, 0)],
  ['a bit that links the pages of a block', 'gps', 0, (path, bytes) => flipLinkBit(path, bytes, 4200, 2)],
] as [string, 'gps' | 'battery', number, (path: string, bytes: Uint8Array) => void][]) {
  test(`a flip of ${what} (${stream}) loses only its records, until they are sent again`, async (t) => {
    const { g, userKey, send } = await startWithCarts(t)
    let sent = 0
    for (const count of PORTIONS) {
      await send('cart-1', SAMPLES.slice(sent, sent + count))
      await send('cart-2', OTHER_SAMPLES.slice(sent, sent + 200))
      await sealTelemetry(g)
      sent += count
    }
    assert.equal(sent, SAMPLES.length)
    const whole = await answersTo(g, [...pathsOf('cart-1'), ...pathsOf('cart-2')])
    const others = await answersTo(g, pathsOf('cart-2'))
    const total = SAMPLES.length
    assert.deepEqual(await counts(g, 'cart-1'), { gps: total, battery: total })

    let hit: TestBlock | undefined
    await g.restart(() => {
      hit = inDatabase(g, ({ connection }) => blocksIn(connection))
        .filter((block) => block.deviceId === 1 && block.stream === stream)
        .at(blockIndex)
      if (hit !== undefined) flip(databaseOf(g), hit.records)
    })
    assert.ok(hit)
    const { firstMs, lastMs, count } = hit
    const isLeft = (ms: number) => ms < firstMs || ms > lastMs
    const left = SAMPLES.map(({ ts }) => ts).filter(isLeft)
    assert.equal(left.length, total - count)

    for (const key of [userKey, ADMIN_KEY]) {
      assert.deepEqual(await timesOf(g, 'cart-1', stream, key), left)
      const trips = await g.request('GET', `/trips/cart-1?${RANGE}`, { key })
      assert.equal(trips.status, 200)
      const analyzed = stream === 'gps' ? left.length : total
      assert.equal(trips.body.summary.positionsAnalyzed, analyzed)
    }
    const lost = { from: toIso(firstMs), to: toIso(lastMs), records: count, found_at: toIso(NOON_MS) }
    const newest = [{ hardware_id: 'cart-1', stream, ...lost }]
    await assertShownToAdminsOnly(g, userKey, { blocks: 1, records: count, newest })
    assert.deepEqual(await counts(g, 'cart-1'), { gps: total, battery: total, [stream]: total - count })
    assert.deepEqual(await answersTo(g, pathsOf('cart-2')), others)

    await send('cart-1', SAMPLES)
    const paths = Object.keys(whole)
    assert.deepEqual(withoutWarnings(await answersTo(g, paths)), whole)
    await sealTelemetry(g)
    assert.equal(await metric(g, 'cartbarn_sealed_samples_total'), count)
    assert.deepEqual(withoutWarnings(await answersTo(g, paths)), whole)
    await g.restart()
    assert.deepEqual(withoutWarnings(await answersTo(g, paths)), whole)
    await assertShownToAdminsOnly(g, userKey, { blocks: 1, records: count, newest })
  })
}

test('a flipped bit in a log row loses only its samples until they are resent; the rest is sealed', async (t) => {
  const { g, userKey, send } = await startWithCarts(t)
  const samples = SAMPLES.slice(0, 4 * MESSAGE_SAMPLES)
  const others = OTHER_SAMPLES.slice(0, 600)
  await send('cart-2', others)
  await send('cart-1', samples)
  // the devices of the lost samples are unknown, so the samples stay counted
  const paths = [...pathsOf('cart-1'), ...pathsOf('cart-2')].filter((path) => !path.includes('cart-1/telemetry/stats'))
  const whole = await answersTo(g, paths)
  const unharmed = await answersTo(g, pathsOf('cart-2'))

  // the third message of cart-1
  const lost = samples.slice(2 * MESSAGE_SAMPLES, 3 * MESSAGE_SAMPLES).map(({ ts }) => ts)
  await g.restart(() => {
    const rows = inDatabase(g, ({ connection }) =>
      connection.all<{ samples: Uint8Array }>('SELECT samples FROM telemetry_log ORDER BY first_seq'),
    )
    const row = rows.at(Math.ceil(others.length / MESSAGE_SAMPLES) + 2)
    assert.ok(row)
    flipBit(databaseOf(g), row.samples, 7000, 4)
  })
  const left = samples.map(({ ts }) => ts).filter((ts) => !lost.includes(ts))
  assert.equal(left.length, samples.length - MESSAGE_SAMPLES)
  for (const stream of ['gps', 'battery']) {
    for (const key of [userKey, ADMIN_KEY]) assert.deepEqual(await timesOf(g, 'cart-1', stream, key), left)
  }
  const trips = await g.request('GET', `/trips/cart-1?${RANGE}`)
  assert.deepEqual([trips.status, trips.body.summary.positionsAnalyzed], [200, left.length])

  await sealTelemetry(g)
  const [from, to, foundAt] = [toIso(NOON_MS), toIso(NOON_MS), toIso(NOON_MS)]
  const row = { hardware_id: null, stream: 'log', from, to, records: 0, found_at: foundAt }
  const expected = { blocks: 1, records: 0, newest: [row] }
  await assertShownToAdminsOnly(g, userKey, expected)
  // everything except the row is in blocks
  assert.equal(await metric(g, 'cartbarn_sealed_samples_total'), samples.length + others.length - MESSAGE_SAMPLES)
  for (const stream of ['gps', 'battery']) assert.deepEqual(await timesOf(g, 'cart-1', stream), left)
  assert.deepEqual(await answersTo(g, pathsOf('cart-2')), unharmed)

  await send('cart-1', samples)
  assert.deepEqual(await answersTo(g, paths), whole)
  await sealTelemetry(g)
  await g.restart()
  assert.deepEqual(await answersTo(g, paths), whole)
  await assertShownToAdminsOnly(g, userKey, expected)
})
