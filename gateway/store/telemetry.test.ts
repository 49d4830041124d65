import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import Database from 'better-sqlite3'
import fc from 'fast-check'
import { createLog } from '../../shared/log.ts'
import { eventually } from '../testing/observe.ts'
import type { AppendBatch } from './append.ts'
import type { Appendable } from './commit-queue.ts'
import { Store } from './store.ts'
import type { DeletedRecords, DeletionStep } from './telemetry.ts'

const NOON_MS = Date.UTC(2026, 4, 1, 12)
const dataDir = mkdtempSync(join(tmpdir(), 'cartbarn-telemetry-'))
const path = join(dataDir, 'cartbarn.db')
const log = createLog('silent')

/** Device, time, and which streams the reading has. */
type Reading = [deviceId: number, atMs: number, streams: 'gps' | 'battery' | 'both']

interface Message extends Appendable {
  readings: readonly Reading[]
}

let store: Store<Message>

before(async () => {
  store = new Store<Message>({ dataDir, readerThreads: 1, writeQueueRows: 10_000 }, log)
  store.queue.setAppender({
    encode: (messages): AppendBatch => {
      const readings = messages.flatMap((one) => one.readings)
      return {
        samples: Float64Array.from(
          readings.flatMap(([deviceId, atMs, streams]) => {
            const position = streams === 'battery' ? [Number.NaN, Number.NaN, Number.NaN] : [1, 2, 3]
            return [deviceId, atMs, ...position, streams === 'gps' ? Number.NaN : 4]
          }),
        ),
        states: [...new Set(readings.map(([deviceId]) => deviceId))].map((deviceId) => ({
          deviceId,
          latestJson: '{}',
          updatedAtMs: NOON_MS,
          lastRespondedAtMs: NOON_MS,
        })),
        lockEvents: [],
        quarantined: [],
        commandAcks: [],
        sessionChanges: [],
      }
    },
    committed: () => undefined,
    announce: () => undefined,
    discarded: () => undefined,
    refused: (_, reason) => assert.fail(reason),
  })
  await store.start()
})
after(async () => {
  await store.stop()
  rmSync(dataDir, { recursive: true, force: true })
})

function append(readings: readonly Reading[]): Promise<void> {
  return new Promise((resolve) =>
    store.queue.append({
      rows: 1,
      sessionChanges: [],
      readings,
      onStored: resolve,
      onRefused: (reason) => assert.fail(reason),
    }),
  )
}

let devices = 0

async function newDevice(): Promise<number> {
  const hardwareId = `cart-${++devices}`
  const { deviceId } = await store.write('createDevice', {
    hardwareId,
    deviceType: 'teebox',
    name: null,
    groupId: null,
    publication: { version: null, sessionChanges: [] },
    mqttPasswordHash: 'x',
    nowMs: NOON_MS,
  })
  return deviceId
}

interface Deletion extends DeletedRecords {
  steps: number
}

async function deleteAll(step: () => Promise<DeletionStep>): Promise<Deletion> {
  const total: Deletion = { gps: 0, battery: 0, steps: 0 }
  for (;;) {
    const { gps, battery, isDone } = await step()
    total.gps += gps
    total.battery += battery
    total.steps++
    if (isDone) return total
  }
}

const purge = (beforeMs: number) => deleteAll(() => store.write('purgeTelemetryStep', { beforeMs }))
const deleteOf = (deviceId: number, streams: readonly ('gps' | 'battery')[]) =>
  deleteAll(() => store.write('deleteDeviceTelemetryStep', { deviceId, streams }))

/** What is in the tables, by another connection and without our counts. */
function inTables(deviceIds: readonly number[]) {
  const db = new Database(path, { readonly: true })
  const of = (table: string, deviceId: number) =>
    db
      .prepare(
        `SELECT count(*) AS count, min(at_ms) AS firstMs, max(at_ms) AS lastMs FROM ${table} WHERE device_id = ?`,
      )
      .get(deviceId)
  const found = deviceIds.map((id) => ({ gps: of('gps', id), battery: of('battery', id) }))
  db.close()
  return found
}

function has(streams: Reading[2], stream: 'gps' | 'battery'): boolean {
  return streams === stream || streams === 'both'
}

test('whatever was stored in whatever order, a purge deletes what is older, all of it, and counts it', async () => {
  const ids = [await newDevice(), await newDevice(), await newDevice()]
  const reading = fc.tuple(
    fc.constantFrom(...ids),
    fc.integer({ min: 0, max: 60 }).map((s) => NOON_MS + s * 1000),
    fc.constantFrom('gps' as const, 'battery' as const, 'both' as const),
  )
  await fc.assert(
    fc.asyncProperty(
      fc.array(reading, { maxLength: 80 }),
      fc.integer({ min: -1, max: 62 }).map((s) => NOON_MS + s * 1000),
      async (readings, beforeMs) => {
        await purge(Number.MAX_SAFE_INTEGER)
        await append(readings)
        const keysOf = (stream: 'gps' | 'battery') => [
          ...new Set(readings.filter(([, , of]) => has(of, stream)).map(([id, at]) => `${id}/${at}`)),
        ]
        const isOld = (key: string) => Number(key.split('/')[1]) < beforeMs
        const { gps, battery } = await purge(beforeMs)
        assert.equal(gps, keysOf('gps').filter(isOld).length)
        assert.equal(battery, keysOf('battery').filter(isOld).length)
        const left = {
          gps: keysOf('gps').filter((key) => !isOld(key)).length,
          battery: keysOf('battery').filter((key) => !isOld(key)).length,
        }
        assert.deepEqual(store.read.fleetCounts(), left)
        assert.deepEqual(
          ids.map((id) => store.read.deviceCounts(id)),
          inTables(ids),
        )
        const counted = inTables(ids).map((one) => one.gps as { count: number })
        assert.equal(
          counted.reduce((sum, { count }) => sum + count, 0),
          left.gps,
        )
      },
    ),
    { numRuns: 60 },
  )
  await purge(Number.MAX_SAFE_INTEGER)
})

test('a purge finds old records behind any number of newer ones, in bounded steps', async () => {
  const [early, late] = [await newDevice(), await newDevice()]
  const rows = (deviceId: number, fromMs: number, count: number) =>
    Array.from({ length: count }, (_, i): Reading => [deviceId, fromMs + i, 'gps'])
  await append(rows(early, NOON_MS, 3000))
  await append(rows(late, NOON_MS - 10_000, 2600))
  await append(rows(early, NOON_MS - 10_000, 2600))
  const { gps, battery, steps } = await purge(NOON_MS)
  assert.deepEqual([gps, battery], [5200, 0])
  assert.ok(steps > 5, `${steps} steps`)
  assert.deepEqual(store.read.deviceCounts(early).gps, {
    count: 3000,
    firstMs: NOON_MS,
    lastMs: NOON_MS + 2999,
  })
  assert.deepEqual(store.read.deviceCounts(late).gps, { count: 0, firstMs: null, lastMs: null })
  assert.equal((await purge(NOON_MS)).steps, 1)
  await purge(Number.MAX_SAFE_INTEGER)
})

test('records of a deleted device are purged, but not counted: they were gone before', async () => {
  const [gone, kept] = [await newDevice(), await newDevice()]
  await append([
    [gone, NOON_MS, 'both'],
    [kept, NOON_MS, 'both'],
  ])
  await store.write('deleteDevice', { hardwareId: `cart-${devices - 1}` })
  const { gps, battery } = await purge(NOON_MS + 1)
  assert.deepEqual([gps, battery], [1, 1])
  while (await store.write('deleteTelemetryStep', undefined));
  assert.deepEqual(inTables([gone, kept]), [
    { gps: NOTHING, battery: NOTHING },
    { gps: NOTHING, battery: NOTHING },
  ])
})

const NOTHING = { count: 0, firstMs: null, lastMs: null }

test('the records of one device go, of the streams that are named, in bounded steps', async () => {
  const [mine, other] = [await newDevice(), await newDevice()]
  for (const deviceId of [mine, other]) {
    await append(Array.from({ length: 1500 }, (_, i): Reading => [deviceId, NOON_MS + i, 'both']))
  }
  const gps = await deleteOf(mine, ['gps'])
  assert.deepEqual([gps.gps, gps.battery], [1500, 0])
  assert.ok(gps.steps >= 3, `${gps.steps} steps`)
  assert.deepEqual(store.read.deviceCounts(mine).gps, NOTHING)
  assert.equal(store.read.deviceCounts(mine).battery.count, 1500)
  const rest = await deleteOf(mine, ['gps', 'battery'])
  assert.deepEqual([rest.gps, rest.battery], [0, 1500])
  assert.deepEqual(store.read.deviceCounts(mine), { gps: NOTHING, battery: NOTHING })
  assert.deepEqual([store.read.deviceCounts(other)], inTables([other]))
  assert.deepEqual(store.read.fleetCounts(), { gps: 1500, battery: 1500 })
  await deleteOf(other, ['gps', 'battery'])
})

test('what is deleted leaves the file, without anybody asking', async () => {
  const ids = await Promise.all(Array.from({ length: 50 }, newDevice))
  for (let second = 0; second < 4000; second += 100) {
    const readings = Array.from({ length: 5000 }, (_, i): Reading => {
      const atMs = NOON_MS + (second + Math.floor(i / 50)) * 1000
      return [ids[i % 50] ?? 0, atMs, 'gps']
    })
    await append(readings)
  }
  assert.equal(store.read.fleetCounts().gps, 200_000)
  await store.write('recordClockMark', { atMs: NOON_MS })
  const { gps } = await purge(NOON_MS + 3900 * 1000)
  assert.equal(gps, 195_000)
  const sizeMb = () => statSync(path).size / 2 ** 20
  const fullMb = sizeMb()
  assert.ok(fullMb > 8, `${fullMb} MB`)
  await eventually(() => sizeMb() < 1.5, `the file shrinks from ${fullMb} MB`, 30_000)
  const db = new Database(path, { readonly: true })
  assert.equal(db.pragma('integrity_check', { simple: true }), 'ok')
  db.close()
  assert.equal(store.read.fleetCounts().gps, 5000)
})
