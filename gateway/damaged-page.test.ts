import assert from 'node:assert/strict'
import { closeSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import Database from 'better-sqlite3'
import { createRandom } from '#shared/random.ts'
import { FakeClock } from '#shared/testing/clocks.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { toIso } from '#shared/time.ts'
import { sealTelemetry } from '#testing/course/telemetry-answers.ts'
import { silently } from '#testing/silently.ts'
import { startGateway, type TestGateway } from '#testing/start-gateway.ts'

// Real flash faults: a page of the block table returns other content.

const NOON_MS = Date.UTC(2026, 4, 1, 12)
const RANGE = `from=${toIso(NOON_MS - 86_400_000)}&to=${toIso(NOON_MS)}`
const CARTS = ['cart-1', 'cart-2', 'cart-3']
const PAGE_BYTES = 4096
/** Portions sealed one after the other, which give each cart so many blocks. */
const PORTIONS = 12
const PORTION_SAMPLES = 150

interface Course {
  g: TestGateway
  passwords: ReadonlyMap<string, string>
}

async function startCourse(t: TestContext): Promise<Course> {
  const g = await startGateway({}, { clock: new FakeClock(NOON_MS) })
  t.after(() => g.stop())
  const passwords = new Map<string, string>()
  for (const id of CARTS) passwords.set(id, await g.register(id))
  const course = { g, passwords }
  for (let portion = 0; portion < PORTIONS; portion++) {
    for (const id of CARTS) await send(course, id, timesOfPortion(portion))
    await sealTelemetry(g)
  }
  return course
}

function timesOfPortion(portion: number): number[] {
  const fromMs = NOON_MS - 20 * 3_600_000 + portion * 3_600_000
  return Array.from({ length: PORTION_SAMPLES }, (_, i) => fromMs + i * 20_000)
}

async function send({ g, passwords }: Course, id: string, times: readonly number[]): Promise<void> {
  const random = createRandom(id, times[0] ?? 0)
  const client = await g.connect(id, passwords.get(id) ?? '')
  // pseudo-random, since a block would otherwise be too small for a page of its own
  const samples = times.map((ts) => ({
    ts,
    lat: 36 + random.next(),
    long: -121 - random.next(),
    speed: random.between(0, 30),
    battery_voltage: random.between(40, 60),
  }))
  await client.publishAsync(`dev/${id}/tlm`, JSON.stringify(samples), { qos: 1 })
  await client.endAsync()
}

async function storedTimes(g: TestGateway, id: string, stream = 'gps'): Promise<number[] | number> {
  const { status, body } = await g.request('GET', `/devices/${id}/${stream}?${RANGE}&order=asc`)
  return status === 200 ? body.map(({ timestamp }: { timestamp: string }) => Date.parse(timestamp)) : status
}

const databaseOf = ({ config }: TestGateway) => join(config.dataDir, 'cartbarn.db')

interface Page {
  pageno: number
  pagetype: string
}

/** Returns the pages of the block table of a stopped gateway. */
function pagesOf(g: TestGateway): Page[] {
  const db = new Database(databaseOf(g))
  try {
    return db
      .prepare<[], Page>(
        "SELECT pageno, pagetype FROM dbstat WHERE name = 'telemetry_block' AND path <> '/' ORDER BY pageno",
      )
      .all()
  } finally {
    db.close()
  }
}

function makeNoise(g: TestGateway, { pageno }: Page): void {
  const random = createRandom('noise', pageno)
  silently(databaseOf(g), () => {
    const fd = openSync(databaseOf(g), 'r+')
    writeSync(
      fd,
      Uint8Array.from({ length: PAGE_BYTES }, () => random.integer(0, 255)),
      0,
      PAGE_BYTES,
      (pageno - 1) * PAGE_BYTES,
    )
    closeSync(fd)
  })
}

for (const [pagetype, place] of [
  ['leaf', 0.1],
  ['leaf', 0.5],
  ['leaf', 0.99],
  ['overflow', 0.5],
] as const) {
  test(`a page of noise among the blocks (${pagetype}, ${place}) costs its blocks, and nothing else`, async (t) => {
    const course = await startCourse(t)
    const { g } = course
    const sent = Array.from({ length: PORTIONS }, (_, portion) => timesOfPortion(portion)).flat()
    for (const id of CARTS) assert.deepEqual(await storedTimes(g, id), sent)
    await g.restart(() => {
      const pages = pagesOf(g).filter((page) => page.pagetype === pagetype)
      const page = pages[Math.floor(pages.length * place)]
      assert.ok(page)
      makeNoise(g, page)
    })

    const left = new Map<string, number[]>()
    let lost = 0
    for (const id of CARTS) {
      for (const stream of ['battery', 'gps']) {
        const times = await storedTimes(g, id, stream)
        assert.ok(typeof times !== 'number', `${stream} of ${id} can be read: ${times}`)
        lost += sent.length - times.length
        left.set(id, times)
      }
    }
    assert.ok(lost > 0 && lost <= sent.length, String(lost))
    for (const id of CARTS) assert.ok(left.get(id)?.every((ms) => sent.includes(ms)))
    await eventually(
      async () => (await g.request('GET', '/health')).body.damaged_telemetry?.blocks > 0,
      'an admin sees the damage',
    )

    for (const id of CARTS) {
      const isWhole = left.get(id)?.length === sent.length
      const { body } = await g.request('GET', `/trips/${id}?${RANGE}`)
      assert.equal(body.summary.warnings === undefined, isWhole, id)
    }

    // late samples among the blocks, and new ones, are sealed as before
    const late =
      left
        .get('cart-2')
        ?.map((ms) => ms + 7_000)
        .slice(0, 300) ?? []
    const added = Array.from({ length: 300 }, (_, i) => NOON_MS - 3_600_000 + i * 1000)
    for (const id of CARTS) for (const times of [late, added]) await send(course, id, times)
    await sealTelemetry(g)
    for (const id of CARTS) {
      const expected = [...(left.get(id) ?? []), ...late, ...added].sort((a, b) => a - b)
      assert.deepEqual(await storedTimes(g, id), expected)
      const trips = await g.request('GET', `/trips/${id}?${RANGE}`)
      assert.deepEqual([trips.status, trips.body.summary.positionsAnalyzed], [200, expected.length])
    }

    await g.restart()
    assert.equal((await g.request('DELETE', '/devices/cart-2/telemetry')).status, 200)
    assert.deepEqual(await storedTimes(g, 'cart-2'), [])
    for (const id of CARTS) {
      assert.equal((await g.request('DELETE', `/devices/${id}/telemetry`)).body.success, true)
      assert.deepEqual(await storedTimes(g, id), [])
    }
  })
}
