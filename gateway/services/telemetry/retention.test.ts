import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { FakeClock } from '#shared/testing/clocks.ts'
import { DAY_MS, MINUTE_MS } from '#shared/time.ts'
import { logBlock } from '#store/ledger/gaps.ts'
import type { BlockTable } from '#testing/block-table.ts'
import { openTelemetryParts } from '#testing/telemetry-parts.ts'
import { blocksIn } from '#testing/telemetry-tables.ts'
import { Retention } from './retention.ts'

const NOW_MS = new FakeClock().nowMs()
const DAYS = 400
const CUTOFF_MS = NOW_MS - DAYS * DAY_MS

interface Options {
  /** Times of a block of the device. */
  gps?: number[]
  /** Number of old blocks of the device. */
  old?: number
  days?: number
  /** Returns the number of rows waiting for the disk. */
  waitingRows?: () => number
  onSleep?: (ms: number, signal: AbortSignal) => void | Promise<void>
  hasUpstream?: boolean
  mayLack?: () => boolean
}

/** Creates one device that reported just now; time passes only while retention pauses. */
async function open(t: TestContext, options: Options, prepare?: (table: BlockTable, deviceId: number) => void) {
  let deviceId = 0
  const { hasUpstream = false } = options
  const parts = await openTelemetryParts(
    t,
    (table) => {
      deviceId = table.newDevice()
      if (options.gps !== undefined) table.addBlock(deviceId, 'gps', options.gps)
      addOldBlocks(table, deviceId, options.old ?? 0)
      prepare?.(table, deviceId)
    },
    { hasUpstream },
  )
  parts.note(deviceId, NOW_MS)
  const { telemetry, clock, brake, log, system } = parts
  const slept: number[] = []
  const retention = new Retention({
    what: 'telemetry',
    clock,
    brake,
    log,
    days: options.days ?? DAYS,
    deleteExpired: (cutoffMs, rest) => telemetry.deleteExpired(cutoffMs, rest),
    ...(options.mayLack === undefined ? {} : { mayLack: options.mayLack }),
    queue: {
      get waitingRows() {
        return options.waitingRows?.() ?? 0
      },
    },
    sleep: async (ms, signal) => {
      signal.throwIfAborted()
      slept.push(ms)
      system.advance(ms)
      await options.onSleep?.(ms, signal)
    },
  })
  t.after(() => retention.stop())
  return { ...parts, retention, deviceId, slept }
}

/** Adds many short blocks, which take many steps to delete. */
function addOldBlocks(table: BlockTable, deviceId: number, count: number): void {
  for (let i = 0; i < count; i++) table.addBlock(deviceId, 'gps', [CUTOFF_MS - count + i])
}

test('records past the retention are deleted to the millisecond, in blocks and in the log', async (t) => {
  const { retention, table, deviceId, telemetry } = await open(t, {}, (prepared, id) => {
    prepared.addBlock(id, 'gps', [CUTOFF_MS - 2, CUTOFF_MS - 1, CUTOFF_MS, CUTOFF_MS + 1])
    prepared.log(id, 'battery', [CUTOFF_MS - 1, CUTOFF_MS])
  })
  assert.deepEqual(await retention.runOnce(), { gps: 2, battery: 1 })
  assert.deepEqual(table.times(deviceId, 'gps'), [CUTOFF_MS, CUTOFF_MS + 1])
  assert.deepEqual(table.times(deviceId, 'battery'), [CUTOFF_MS])
  table.assertCounted(deviceId)
  assert.equal(telemetry.deleted.get('retention'), 3)
  assert.deepEqual(await retention.runOnce(), { gps: 0, battery: 0 })
})

test('data a head office has not received is not deleted for its age, and goes once that has it', async (t) => {
  const { retention, table, deviceId, store } = await open(t, { hasUpstream: true }, (prepared, id) => {
    addOldBlocks(prepared, id, 300)
    const unsent = [100, 101, 250]
    for (const [i, { blockId }] of blocksIn(prepared.connection).entries())
      if (unsent.includes(i)) logBlock(prepared.connection, blockId)
  })
  assert.deepEqual(await retention.runOnce(), { gps: 297, battery: 0 })
  assert.deepEqual(table.times(deviceId, 'gps'), [CUTOFF_MS - 200, CUTOFF_MS - 199, CUTOFF_MS - 50])
  table.assertCounted(deviceId)
  assert.deepEqual(table.connection.all('SELECT * FROM note'), [])
  const { history } = store.read.syncEnds()
  await store.write('acknowledge', { cursors: { history: { seq: history, hash: '' } } })
  assert.deepEqual(await retention.runOnce(), { gps: 3, battery: 0 })
})

test('without a head office all deletions are recorded in one note', async (t) => {
  const { retention, table, deviceId } = await open(t, {}, (prepared, id) => {
    addOldBlocks(prepared, id, 200)
    for (const { blockId } of blocksIn(prepared.connection)) logBlock(prepared.connection, blockId)
  })
  await retention.runOnce()
  logBlock(table.connection, table.addBlock(deviceId, 'gps', [CUTOFF_MS - 1000]))
  await retention.runOnce()
  const notes = table.connection.all<{ kind: string; body: string }>('SELECT kind, body FROM note')
  const kinds = notes.map(({ kind }) => kind)
  assert.deepEqual(kinds, ['gap'])
  assert.deepEqual(JSON.parse(notes[0]?.body ?? ''), {
    stream: 'gps',
    from_ms: CUTOFF_MS - 1000,
    to_ms: CUTOFF_MS - 1,
    count: 201,
    hardware_ids: ['cart-1'],
    reason: 'purge',
  })
})

test('while the clock is in doubt nothing is deleted and one line is logged; then deletion continues', async (t) => {
  const { retention, system, table, deviceId, lines } = await open(t, { gps: [CUTOFF_MS - 1, CUTOFF_MS] })
  system.set(0)
  assert.deepEqual([await retention.runOnce(), await retention.runOnce()], [null, null])
  assert.equal(lines.filter(({ msg }) => msg === 'retention paused: the clock is in doubt').length, 1)
  assert.equal(table.times(deviceId, 'gps').length, 2)
  system.set(NOW_MS)
  assert.deepEqual(await retention.runOnce(), { gps: 1, battery: 0 })
})

test('a clock that is set years ahead deletes nothing until it is confirmed', async (t) => {
  const { retention, system, table, deviceId, clock, note } = await open(t, { gps: [CUTOFF_MS - 1, CUTOFF_MS, NOW_MS] })
  system.set(NOW_MS + 3 * 365 * DAY_MS)
  // a device that got the time from this clock
  note(deviceId, NOW_MS + 3 * 365 * DAY_MS)
  assert.ok(clock.nowMs() > NOW_MS && clock.isTrusted)
  assert.equal(await retention.runOnce(), null)
  assert.equal(table.times(deviceId, 'gps').length, 3)
  // the clock was right: the season begins again after years
  clock.confirm()
  assert.deepEqual(await retention.runOnce(), { gps: 3, battery: 0 })
})

test('the retention counts back from the newest time that devices sent, if that is earlier', async (t) => {
  const { retention, system, table, deviceId, clock } = await open(t, { gps: [CUTOFF_MS - 1, CUTOFF_MS, NOW_MS] })
  system.set(NOW_MS + 3 * 365 * DAY_MS)
  clock.confirm()
  assert.deepEqual(await retention.runOnce(), { gps: 1, battery: 0 })
  assert.deepEqual(table.times(deviceId, 'gps'), [CUTOFF_MS, NOW_MS])
})

test('readings dated by the gateway clock do not make other records old', async (t) => {
  const { retention, system, table, deviceId, clock, brake } = await open(t, { gps: [CUTOFF_MS, NOW_MS] })
  system.set(NOW_MS + 3 * 365 * DAY_MS)
  clock.confirm()
  brake.reported(0, clock.latestEventMs(clock.nowMs()))
  assert.deepEqual(await retention.runOnce(), { gps: 0, battery: 0 })
  assert.equal(table.times(deviceId, 'gps').length, 2)
})

test('old records are deleted if a month has passed since the last device with a clock', async (t) => {
  const { retention, system, clock, brake } = await open(t, { gps: [CUTOFF_MS, NOW_MS] })
  const report = () => brake.reported(0, clock.latestEventMs(clock.nowMs()))
  system.advance(31 * DAY_MS)
  report()
  assert.deepEqual(await retention.runOnce(), { gps: 0, battery: 0 })
  system.advance(1)
  report()
  assert.deepEqual(await retention.runOnce(), { gps: 1, battery: 0 })
})

test('a device that is years ahead does not make the records of other devices old', async (t) => {
  const { retention, table, deviceId, note } = await open(t, { gps: [CUTOFF_MS, NOW_MS] })
  note(deviceId, NOW_MS + 3 * 365 * DAY_MS)
  assert.deepEqual(await retention.runOnce(), { gps: 0, battery: 0 })
  assert.equal(table.times(deviceId, 'gps').length, 2)
})

test('after each step retention pauses four times as long as the step took', async (t) => {
  const { retention, slept, system, sealing } = await open(t, { old: 200 })
  const { sealNow } = sealing
  sealing.sealNow = async () => {
    system.advance(2_000)
    await sealNow()
  }
  assert.deepEqual(await retention.runOnce(), { gps: 200, battery: 0 })
  assert.deepEqual(slept, [8_000, 50, 50])
})

test('retention waits until the devices are served, before the first step and between any two', async (t) => {
  let rows = 300
  const { retention, slept } = await open(t, {
    waitingRows: () => rows,
    onSleep: (ms) => {
      // a rush of 300 ms after each step
      rows = ms === 50 ? 300 : rows - 100
    },
    old: 100,
  })
  assert.deepEqual(await retention.runOnce(), { gps: 100, battery: 0 })
  assert.deepEqual(slept, [100, 100, 100, 50, 100, 100, 100])
})

test('a gateway that is never idle still deletes old records, one step every ten seconds', async (t) => {
  const { retention, system } = await open(t, { waitingRows: () => 4000, old: 200 })
  const startedAtMs = system.monotonicMs()
  assert.deepEqual(await retention.runOnce(), { gps: 200, battery: 0 })
  const tookMs = system.monotonicMs() - startedAtMs
  assert.ok(tookMs >= 40_000 && tookMs < 90_000, `${tookMs} ms`)
})

test("an admin's purge runs between the steps", async (t) => {
  const purged: number[] = []
  const { retention, telemetry } = await open(t, {
    onSleep: async () => {
      purged.push((await telemetry.purge(30)).purged.gps)
    },
    old: 300,
  })
  const deleted = await retention.runOnce()
  assert.equal((deleted?.gps ?? 0) + (purged[0] ?? 0), 300)
  assert.ok(purged[0] !== undefined && purged[0] > 100, `${purged[0]} by the purge`)
})

test('a stop does not wait for a long run; the next run does the rest', async (t) => {
  const { retention, table, deviceId, lines } = await open(t, { onSleep: () => retention.stop(), old: 300 })
  assert.equal(await retention.runOnce(), null)
  const left = table.times(deviceId, 'gps').length
  assert.ok(left > 0 && left < 300, `${left} left`)
  table.assertCounted(deviceId)
  const unexpected = lines.filter(({ level }) => level === 'warn' || level === 'error')
  assert.deepEqual(unexpected, [])
})

test('retention runs automatically some minutes after the start, and every few hours', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { retention, table, deviceId, maintenance } = await open(t, { old: 10 })
  const left = async () => {
    // lets everything that has begun reach its maintenance lock
    for (let i = 0; i < 5; i++) await new Promise(setImmediate)
    await maintenance.idle()
    await new Promise(setImmediate)
    return table.times(deviceId, 'gps').length
  }
  await retention.start()
  t.mock.timers.tick(MINUTE_MS)
  assert.equal(await left(), 10)
  t.mock.timers.tick(10 * MINUTE_MS)
  assert.equal(await left(), 0)
  addOldBlocks(table, deviceId, 5)
  t.mock.timers.tick(60 * MINUTE_MS)
  assert.equal(await left(), 5)
  t.mock.timers.tick(12 * 60 * MINUTE_MS)
  assert.equal(await left(), 0)
})

test('0 days keeps everything', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { retention, table, deviceId, maintenance } = await open(t, { days: 0, old: 10 })
  await retention.start()
  t.mock.timers.tick(30 * 24 * 60 * MINUTE_MS)
  for (let i = 0; i < 5; i++) await new Promise(setImmediate)
  await maintenance.idle()
  assert.equal(table.times(deviceId, 'gps').length, 10)
})

test('nothing is deleted for its age while the head office may have lost data', async (t) => {
  let mayLack = true
  const options = { hasUpstream: true, mayLack: () => mayLack }
  const { retention } = await open(t, { ...options, old: 3 })
  assert.equal(await retention.runOnce(), null)
  mayLack = false
  assert.deepEqual(await retention.runOnce(), { gps: 3, battery: 0 })
})
