import assert from 'node:assert/strict'
import { chmodSync, cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import Database from 'better-sqlite3'
import { repairDatabase } from '#gateway/offline/repair.ts'
import { createRandom } from '#shared/random.ts'
import { FakeClock } from '#shared/testing/clocks.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { toIso } from '#shared/time.ts'
import { sealTelemetry } from '#testing/course/telemetry-answers.ts'
import { pagesOf, SPOILT_PAGES, spoilPage } from '#testing/damage/damaged-pages.ts'
import { damagePage, pageOf } from '#testing/damage/page-damage.ts'
import { ADMIN_KEY, metric, startGateway, type TestGateway } from '#testing/start-gateway.ts'
import { checkDatabase } from './check-database.ts'
import { lineOf } from './finding.ts'
import { findRunning } from './running.ts'

const NOON_MS = Date.UTC(2026, 4, 1, 12)
const RANGE = `from=${toIso(NOON_MS - 86_400_000)}&to=${toIso(NOON_MS)}`
const NOTHING = () => undefined
const YES = {
  space: NOTHING,
  noChecksums: NOTHING,
  logDamage: NOTHING,
  wrongBits: NOTHING,
  schemaDamage: NOTHING,
  table: NOTHING,
  mayReplace: async () => true,
}

async function startCourse(t: TestContext): Promise<{ g: TestGateway; path: string }> {
  const g = await startGateway({}, { clock: new FakeClock(NOON_MS) })
  t.after(() => g.stop())
  const client = await g.connect('cart-1', await g.register('cart-1'))
  const random = createRandom('damage', 1)
  for (let hour = 20; hour > 8; hour--) {
    const samples = Array.from({ length: 150 }, (_, i) => ({
      ts: NOON_MS - hour * 3_600_000 + i * 20_000,
      lat: 36 + random.next(),
      long: -121 - random.next(),
      speed: random.between(0, 30),
    }))
    await client.publishAsync('dev/cart-1/tlm', JSON.stringify(samples), { qos: 1 })
    await sealTelemetry(g)
  }
  await client.endAsync()
  return { g, path: join(g.config.dataDir, 'cartbarn.db') }
}

/**
 * Runs the database checks of doctor against a gateway that runs, with or without the key of its admin, or is stopped.
 */
async function findingsOf(g: TestGateway, runs: 'with key' | 'without key' | 'stopped'): Promise<string[]> {
  if (runs === 'stopped') return checkDatabase(g.config.dataDir, undefined).map(lineOf)
  const address = { host: '127.0.0.1', httpPort: Number(new URL(g.http).port), tls: undefined }
  const running = await findRunning(address, runs === 'with key' ? ADMIN_KEY : undefined)
  assert.ok(running !== undefined)
  return checkDatabase(g.config.dataDir, running).map(lineOf)
}

const SOUND = /^ok +database +no damage is known$/m
const isDamagedIn = (lines: readonly string[], pattern: RegExp) =>
  assert.match(
    lines.join('\n'),
    new RegExp(`^wrong +database .*${pattern.source}.*: stop the gateway, then: cartbarn repair`, 'm'),
  )

test('damaged telemetry is found with and without a key, until a repair has fixed it', async (t) => {
  const { g, path } = await startCourse(t)
  for (const runs of ['with key', 'without key'] as const) assert.match((await findingsOf(g, runs)).join('\n'), SOUND)
  await g.restart(() => {
    const db = new Database(path)
    const leaves = pagesOf(db, 'telemetry_block').filter(({ kind }) => kind === 'leaf')
    const leaf = leaves[Math.floor(leaves.length / 2)]
    db.close()
    assert.ok(leaf)
    spoilPage(path, leaf.page, SPOILT_PAGES.noise())
  })
  const health = async () => (await g.request('GET', '/health')).body
  await g.request('GET', `/devices/cart-1/gps?${RANGE}`)
  await eventually(async () => (await health()).damaged_telemetry?.blocks > 0, 'the damaged blocks are detached')
  for (const runs of ['with key', 'without key'] as const) {
    const lines = await findingsOf(g, runs)
    isDamagedIn(lines, /damaged blocks of telemetry: \d+/)
    assert.doesNotMatch(lines.join('\n'), / 0 records/)
  }
  let stopped: string[] = []
  let repaired: string[] = []
  await g.restart(async () => {
    stopped = await findingsOf(g, 'stopped')
    await repairDatabase(g.config.dataDir, NOON_MS, YES)
    repaired = await findingsOf(g, 'stopped')
  })
  isDamagedIn(stopped, /of telemetry/)
  assert.match(repaired.join('\n'), SOUND)
  for (const runs of ['with key', 'without key'] as const) assert.match((await findingsOf(g, runs)).join('\n'), SOUND)
  assert.equal('damaged_telemetry' in (await health()), false)
  assert.equal(await metric(g, 'cartbarn_damaged_blocks'), 0)
  // a read still reports the range of records that are lost permanently
  const { body } = await g.request('GET', `/trips/cart-1?${RANGE}`)
  assert.ok(body.summary.warnings?.length > 0)
})

test('damage found at a start or by a read is reported without a key, also for a stopped gateway', async (t) => {
  const { g, path } = await startCourse(t)
  await g.restart(() => damagePage(path, pageOf(path, 'device_state'), 'noise'))
  const damage = (await g.request('GET', '/health')).body.damage
  assert.ok(damage.length > 0)
  for (const runs of ['with key', 'without key'] as const) isDamagedIn(await findingsOf(g, runs), /device_state: /)
  let stopped: string[] = []
  await g.restart(async () => {
    stopped = await findingsOf(g, 'stopped')
    await repairDatabase(g.config.dataDir, NOON_MS, YES)
  })
  isDamagedIn(stopped, /device_state: /)
  assert.match((await findingsOf(g, 'without key')).join('\n'), SOUND)
  assert.equal(existsSync(join(g.config.dataDir, 'damage.json')), false)
})

test('a folder copied from a running gateway is a failure, with the same text as at a start', async (t) => {
  const { g } = await startCourse(t)
  const copy = mkdtempSync(join(tmpdir(), 'cartbarn-copied-'))
  t.after(() => rmSync(copy, { recursive: true }))
  cpSync(g.config.dataDir, copy, { recursive: true })
  const before = readFileSync(join(copy, 'cartbarn.db'))
  const lines = checkDatabase(copy, undefined).map(lineOf)
  assert.match(lines.join('\n'), /^wrong +database .* was copied while a gateway had it open/)
  assert.ok(readFileSync(join(copy, 'cartbarn.db')).equals(before))
  // a killed gateway has no copy
  assert.doesNotMatch(checkDatabase(g.config.dataDir, undefined).map(lineOf).join('\n'), /^wrong/m)
})

test('a user without access to the data folder gets a warning instead of an all-clear', {
  skip: process.geteuid?.() === 0 && process.seteuid === undefined && 'no other user can be acted as',
}, async (t) => {
  const { g } = await startCourse(t)
  const { dataDir } = g.config
  const act = process.geteuid?.() === 0
  if (act) process.seteuid?.(65_534)
  else chmodSync(dataDir, 0)
  try {
    const lines = await findingsOf(g, 'without key')
    assert.match(lines.join('\n'), /^mind +database +this user may not access .*: sudo cartbarn doctor$/m)
    assert.doesNotMatch(lines.join('\n'), /no damage|there is none/)
  } finally {
    if (act) process.seteuid?.(0)
    else chmodSync(dataDir, 0o700)
  }
})
