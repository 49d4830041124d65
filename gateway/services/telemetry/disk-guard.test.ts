import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { eventually } from '#shared/testing/eventually.ts'
import { DAY_MS, startOfDayMs } from '#shared/time.ts'
import type { Gap } from '#shared/wire/replication/sync.ts'
import type { BlockTable } from '#testing/block-table.ts'
import { openTelemetryParts } from '#testing/telemetry-parts.ts'
import { type DiskBudget, DiskGuard } from './disk-guard.ts'

const DAY_ONE_MS = Date.UTC(2026, 0, 1)
/** Records of a block that fills a page of its own. */
const RECORDS = 256
const VOLUME = { volumeBytes: 1e12, volumeFreeBytes: 9e11 }

interface Options {
  budget?: (usedBytes: number) => DiskBudget
  hasUpstream?: boolean
  mayLack?: () => boolean
  volume?: (usedBytes: number) => { volumeBytes: number; volumeFreeBytes: number }
}

/** Creates a guard over a real database; `budget` receives the bytes in use at the beginning. */
async function open(t: TestContext, options: Options, prepare: (table: BlockTable) => void) {
  const parts = await openTelemetryParts(t, (table) => {
    // replicated before, so that each gap has its own note
    table.connection.run("UPDATE sync_identity SET site = 'north'")
    prepare(table)
  })
  const { store, maintenance, clock, log, table } = parts
  const dataDir = table.connection.db.name.replace(/\/cartbarn\.db$/, '')
  const usedBytes = store.read.space().usedBytes
  const guard = new DiskGuard({
    store,
    maintenance,
    clock,
    log,
    dataDir,
    budget: options.budget?.(usedBytes) ?? { kind: 'bytes', bytes: usedBytes },
    hasUpstream: options.hasUpstream ?? true,
    ...(options.mayLack === undefined ? {} : { mayLack: options.mayLack }),
    measure: async () => ({ otherBytes: 0, ...(options.volume?.(usedBytes) ?? VOLUME) }),
  })
  const gaps = () =>
    table.connection
      .all<{ body: string }>(`SELECT body FROM note WHERE kind = 'gap' ORDER BY seq`)
      // written by this program
      .map(({ body }): Gap => JSON.parse(body))
  return { ...parts, guard, gaps, usedBytes }
}

const bytes =
  (share: number) =>
  (usedBytes: number): DiskBudget => ({ kind: 'bytes', bytes: Math.floor(usedBytes / share) })

/** Adds a block that begins `hour` hours after the start of the first day. */
function addBlock(table: BlockTable, deviceId: number, hour: number, isUnsent: boolean): number {
  const firstMs = DAY_ONE_MS + hour * 3_600_000
  const times = Array.from({ length: RECORDS }, (_, i) => firstMs + 1000 * i)
  const blockId = table.addBlock(deviceId, 'gps', times)
  if (isUnsent) table.connection.run('INSERT INTO block_log (block_id) VALUES (?)', blockId)
  return blockId
}

/** Adds devices with a block every two hours for `days` days, unsent from day `unsentFrom`. */
function addDays(table: BlockTable, devices: number, days: number, unsentFrom: number): number[] {
  return Array.from({ length: devices }, () => {
    const deviceId = table.newDevice()
    for (let hour = 0; hour < days * 24; hour += 2) addBlock(table, deviceId, hour, hour >= unsentFrom * 24)
    return deviceId
  })
}

const firstDays = (table: BlockTable, deviceIds: readonly number[]) =>
  deviceIds.map((deviceId) => (startOfDayMs(table.times(deviceId, 'gps')[0] ?? 0) - DAY_ONE_MS) / DAY_MS)

test('a warning is reported from 80 % of the budget on, until use falls below 78 %', async (t) => {
  let level = 0.79
  const { guard, lines } = await open(
    t,
    {
      budget: () => ({ kind: 'share', percent: 50 }),
      volume: (usedBytes) => ({ volumeBytes: (2 * usedBytes) / level, volumeFreeBytes: 100 * usedBytes }),
    },
    (prepared) => addDays(prepared, 1, 2, 2),
  )
  const states: string[] = []
  for (level of [0.79, 0.81, 0.79, 0.77, 0.79]) states.push((await guard.runOnce()).state)
  assert.deepEqual(states, ['ok', 'low', 'low', 'ok', 'ok'])
  assert.equal(guard.detail, null)
  const shown = lines.map(({ level, msg }) => [level, msg])
  assert.deepEqual(shown, [
    ['warn', 'disk use is close to the budget'],
    ['info', 'disk use is within the budget again'],
  ])
})

test('data the head office has goes first, oldest first, over all devices, down to 85 %', async (t) => {
  const { guard, table, gaps, usedBytes } = await open(t, { budget: bytes(1.2) }, (prepared) =>
    addDays(prepared, 12, 10, 9),
  )
  const deviceIds = Array.from({ length: 12 }, (_, i) => i + 1)
  const { usedBytes: left, budgetBytes, state } = await guard.runOnce()
  assert.ok(left < 0.85 * budgetBytes, `${left} of ${budgetBytes}`)
  assert.ok(left > 0.8 * budgetBytes, 'and no more than a step more than that')
  assert.equal(state, 'low')
  assert.ok(left < usedBytes)
  const days = firstDays(table, deviceIds)
  assert.ok(Math.max(...days) - Math.min(...days) <= 1, `${days}`)
  assert.ok(Math.min(...days) >= 1)
  assert.deepEqual(gaps(), [])
  for (const deviceId of deviceIds) table.assertCounted(deviceId)
  assert.ok(guard.counts.deletedSent > 0)
  assert.equal(guard.counts.droppedUnsent, 0)
})

test('data the head office does not have stays at 97 %, even if nothing else is left', async (t) => {
  const { guard, table, gaps } = await open(t, { budget: bytes(0.97) }, (prepared) => addDays(prepared, 2, 5, 0))
  const before = [1, 2].map((deviceId) => table.times(deviceId, 'gps').length)
  const { state } = await guard.runOnce()
  assert.equal(state, 'low')
  const shown = [1, 2].map((deviceId) => table.times(deviceId, 'gps').length)
  assert.deepEqual(shown, before)
  assert.deepEqual(gaps(), [])
})

test('at 98 % the oldest days the head office does not have go, and each is noted as a gap', async (t) => {
  const { guard, table, gaps, lines } = await open(t, { budget: bytes(0.99) }, (prepared) => {
    addDays(prepared, 12, 10, 0)
  })
  const deviceIds = Array.from({ length: 12 }, (_, i) => i + 1)
  const before = deviceIds.map((deviceId) => table.times(deviceId, 'gps').length)
  const { usedBytes, budgetBytes } = await guard.runOnce()
  assert.ok(usedBytes < 0.95 * budgetBytes)
  const after = deviceIds.map((deviceId) => table.times(deviceId, 'gps').length)
  const dropped = before.reduce((sum, n, i) => sum + n - (after[i] ?? 0), 0)
  const noted = gaps()
  const recorded = noted.reduce((sum, { count }) => sum + count, 0)
  assert.equal(recorded, dropped)
  assert.equal(guard.counts.droppedUnsent, dropped)
  assert.deepEqual(
    noted.map(({ stream, from_ms, reason, hardware_ids }) => [
      stream,
      (startOfDayMs(from_ms) - DAY_ONE_MS) / DAY_MS,
      reason,
      hardware_ids.length,
    ]),
    noted.map((_, day) => ['gps', day, 'disk', 12]),
    'one for each day, from the first on',
  )
  assert.ok(
    lines.some(({ level, msg }) => level === 'error' && msg.startsWith('deleted telemetry that the hub does not have')),
  )
  for (const deviceId of deviceIds) table.assertCounted(deviceId)
})

test('without a head office nothing is deleted, and the reason is reported', async (t) => {
  const { guard, table, lines } = await open(t, { budget: bytes(2), hasUpstream: false }, (prepared) =>
    addDays(prepared, 1, 3, 0),
  )
  const before = table.times(1, 'gps').length
  assert.equal((await guard.runOnce()).state, 'critical')
  assert.equal(table.times(1, 'gps').length, before)
  assert.match(
    guard.detail ?? '',
    /200 % of the disk budget is used; the gateway deletes nothing, because no hub has the data/,
  )
  const levels = lines.filter(({ msg }) => msg === 'disk use is close to the budget').map(({ level }) => level)
  assert.deepEqual(levels, ['error'])
})

test('the newest hours of each device stay, however full the disk is, whatever year a device reports', async (t) => {
  const { guard, table } = await open(t, { budget: bytes(20) }, (prepared) => {
    addDays(prepared, 2, 3, 1)
    // devices with a clock years ahead, and years behind
    const ahead = prepared.newDevice()
    for (let hour = 0; hour < 48; hour += 2) addBlock(prepared, ahead, 1e5 + hour, true)
    const behind = prepared.newDevice()
    for (let hour = 0; hour < 48; hour += 2) addBlock(prepared, behind, -2e5 + hour, false)
  })
  await guard.runOnce()
  for (const deviceId of [1, 2, 3, 4]) {
    const times = table.times(deviceId, 'gps')
    const hours = ((times.at(-1) ?? 0) - (times[0] ?? 0)) / 3_600_000
    assert.ok(hours >= 6 && hours < 10, `${hours} hours are left of device ${deviceId}`)
  }
})

test('other use of the volume counts as well', async (t) => {
  const { guard, table } = await open(
    t,
    {
      budget: () => ({ kind: 'share', percent: 80 }),
      // 5 % of the used bytes are free, in addition to the reserve
      volume: (usedBytes) => ({ volumeBytes: 100 * usedBytes, volumeFreeBytes: 2.05 * usedBytes }),
    },
    (prepared) => addDays(prepared, 4, 10, 10),
  )
  const { usedBytes, budgetBytes } = await guard.runOnce()
  assert.ok(usedBytes < 0.85 * budgetBytes)
  assert.ok((firstDays(table, [1])[0] ?? 0) > 0)
})

test('the file shrinks after a deletion', async (t) => {
  const { guard, table, usedBytes } = await open(t, { budget: bytes(3) }, (prepared) => addDays(prepared, 12, 12, 12))
  const path = table.connection.db.name
  const sizeBefore = statSync(path).size + statSync(`${path}-wal`).size
  const { usedBytes: left } = await guard.runOnce()
  assert.ok(left < usedBytes)
  await eventually(() => statSync(path).size < sizeBefore / 2, 'the file is half of what it was')
})

test('a stop ends a run after its step, and the next run continues from there', async (t) => {
  const { guard, table, store, usedBytes } = await open(t, { budget: bytes(1.5) }, (prepared) =>
    addDays(prepared, 8, 10, 10),
  )
  await guard.start()
  await eventually(() => store.read.space().usedBytes < usedBytes, 'it has begun')
  await guard.stop()
  for (let deviceId = 1; deviceId <= 8; deviceId++) table.assertCounted(deviceId)
  await guard.start()
  await eventually(() => guard.counts.deletedSent > 0 && guard.use.state !== 'critical', 'it is done')
  await guard.stop()
  for (let deviceId = 1; deviceId <= 8; deviceId++) table.assertCounted(deviceId)
})

interface Recorded {
  deviceId: number
  firstMs: number
  isUnsent: boolean
}

test('each deleted record was acknowledged or lies in a gap, whatever blocks were stored', async (t) => {
  const blocks = fc.array(fc.record({ hour: fc.integer({ min: 0, max: 200 }), isUnsent: fc.boolean() }), {
    minLength: 1,
    maxLength: 30,
  })
  await fc.assert(
    fc.asyncProperty(
      fc.array(blocks, { minLength: 1, maxLength: 4 }),
      fc.double({ min: 0.85, max: 1.5, noNaN: true }),
      async (devices, share) => {
        const recorded: Recorded[] = []
        const { guard, table, gaps } = await open(t, { budget: bytes(share) }, (prepared) => {
          for (const of of devices) {
            const deviceId = prepared.newDevice()
            const byHour = new Map(of.map((block) => [block.hour, block]))
            for (const { hour, isUnsent } of [...byHour.values()].sort((a, b) => a.hour - b.hour)) {
              addBlock(prepared, deviceId, hour, isUnsent)
              recorded.push({ deviceId, firstMs: DAY_ONE_MS + hour * 3_600_000, isUnsent })
            }
          }
        })
        await guard.runOnce()
        const noted = gaps()
        const left = new Set(
          table.connection
            .all<{ deviceId: number; firstMs: number }>(
              'SELECT device_id AS deviceId, first_ms AS firstMs FROM telemetry_block',
            )
            .map(({ deviceId, firstMs }) => `${deviceId} ${firstMs}`),
        )
        let droppedRecords = 0
        for (const { deviceId, firstMs, isUnsent } of recorded) {
          if (left.has(`${deviceId} ${firstMs}`) || !isUnsent) continue
          droppedRecords += RECORDS
          const lastMs = firstMs + 1000 * (RECORDS - 1)
          const isNoted = noted.some(
            ({ from_ms, to_ms, hardware_ids }) =>
              from_ms <= firstMs && to_ms >= lastMs && hardware_ids.includes(`cart-${deviceId}`),
          )
          assert.ok(isNoted, `device ${deviceId} at ${firstMs} is gone and in no gap`)
        }
        const notedRecords = noted.reduce((sum, { count }) => sum + count, 0)
        assert.equal(notedRecords, droppedRecords)
        for (const [i] of devices.entries()) table.assertCounted(i + 1)
      },
    ),
    { numRuns: 5 },
  )
})

test('data the head office may have lost is not deleted at 90 %, and is deleted at 98 %', async (t) => {
  for (const [share, mayLack, isDeleted] of [
    [0.92, true, false],
    [0.92, false, true],
    [0.99, true, true],
  ] as const) {
    const options = { budget: bytes(share), mayLack: () => mayLack }
    const { guard } = await open(t, options, (prepared) => addDays(prepared, 2, 10, 10))
    await guard.runOnce()
    assert.equal(guard.counts.deletedSent > 0, isDeleted, `${share} ${mayLack}`)
  }
})
