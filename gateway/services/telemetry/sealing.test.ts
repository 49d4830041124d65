import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, beforeEach, mock, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { SerialQueue } from '#shared/budgets/serial-queue.ts'
import { createLog } from '#shared/log.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { systemClock } from '#shared/time.ts'
import type { Connection } from '#store/db/connection.ts'
import { Store } from '#store/store.ts'
import type { UnreadableBlock } from '#store/telemetry/unreadable-block.ts'
import { openWriter } from '#store/writer/open.ts'
import { HeldJobs } from '#testing/held-jobs.ts'
import { appendToLog, blocksIn, recordsIn, registerDevice, type TestSample } from '#testing/telemetry-tables.ts'
import { Sealing } from './sealing.ts'

const NOON_MS = Date.UTC(2026, 4, 1, 12)
const DEVICES = 10

let dataDir: string
let store: Store
/** Connection that writes alongside the gateway, as its own writer would. */
let other: Connection
let sealing: Sealing
let fleetSize = DEVICES
let acknowledged: number | null = null
let lines: { level: number; msg: string }[] = []
let unreadable: UnreadableBlock[] = []
let onUnreadable: (blocks: readonly UnreadableBlock[]) => void = () => undefined
const maintenance = new SerialQueue()
const log = createLog('info', { write: (line: string) => lines.push(JSON.parse(line)) })

before(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'cartbarn-sealing-'))
  store = new Store({ dataDir, readerThreads: 1, writeQueueRows: 1000 }, createLog('silent'))
  await store.start()
  other = openWriter(join(dataDir, 'cartbarn.db'))
  other.db.pragma('synchronous = OFF')
  for (let deviceId = 1; deviceId <= DEVICES; deviceId++) registerDevice(other, deviceId)
})
after(async () => {
  other.close()
  await store.stop()
  rmSync(dataDir, { recursive: true, force: true })
})
beforeEach(async () => {
  for (const table of ['telemetry_log', 'telemetry_block', 'damaged_block', 'sync_cursor'])
    other.run(`DELETE FROM ${table}`)
  lines = []
  unreadable = []
  fleetSize = DEVICES
  acknowledged = null
  onUnreadable = () => undefined
  rides = 0
  sealing = newSealing()
  // tests start each pass themselves: on a busy machine a timed one would run in between
  const timers = mock.method(globalThis, 'setTimeout', () => undefined)
  await sealing.start()
  timers.mock.restore()
})
afterEach(async () => {
  mock.restoreAll()
  await sealing.stop()
})

function newSealing(queue = store.queue as { waitingRows: number }): Sealing {
  return new Sealing({
    store: { read: store.read, readers: store.readers, write: (...args) => store.write(...args), queue },
    fleet: {
      get size() {
        return fleetSize
      },
    },
    maintenance,
    minSamples: 32_768,
    onUnreadable: async (blocks) => {
      unreadable.push(...blocks)
      onUnreadable(blocks)
    },
    onQuarantined: () => undefined,
    acknowledgedThrough: () => acknowledged,
    clock: systemClock,
    log,
  })
}

let rides = 0

/** Lets every device drive for `seconds` seconds, in rows of 1,000 samples. */
function ride(seconds: number): number {
  const samples: TestSample[] = []
  for (let s = 0; s < seconds; s++) {
    for (let deviceId = 1; deviceId <= DEVICES; deviceId++) {
      samples.push({ deviceId, atMs: NOON_MS + (rides + s) * 1000, streams: 'both', value: (rides + s) % 60_000 })
    }
  }
  rides += seconds
  other.db
    .transaction(() => {
      for (let from = 0; from < samples.length; from += 1000) {
        appendToLog(other, samples.slice(from, from + 1000))
      }
    })
    .immediate()
  return samples.length
}

/** Marks the log as acknowledged by a hub up to `seq`. */
function acknowledgeThrough(seq: number): void {
  acknowledged = seq
  other.run("INSERT OR REPLACE INTO sync_cursor (stream, seq, hash) VALUES ('telemetry', ?, '')", seq)
}

const lastSeq = () => store.read.syncEnds().telemetry
/** Counts the records in blocks: in those with an entry in the log of blocks, and in the others. */
function sealedRecords(): { unsent: number; sent: number } {
  const logged = new Set(other.all<{ id: number }>('SELECT block_id AS id FROM block_log').map(({ id }) => id))
  const records = { unsent: 0, sent: 0 }
  for (const { blockId, count } of blocksIn(other)) records[logged.has(blockId) ? 'unsent' : 'sent'] += count
  return records
}

const rowsInLog = () => other.all('SELECT first_seq FROM telemetry_log').length

test('a log that is large enough is sealed automatically', async () => {
  await sealing.stop()
  sealing = newSealing()
  await sealing.start()
  const samples = ride(4000)
  await eventually(() => rowsInLog() === 0, 'the log is sealed', 60_000)
  assert.equal(recordsIn(other).size, samples * 2)
  assert.ok(blocksIn(other).every(({ count }) => count <= 2048))
  await eventually(() => sealing.counts.passes === 1, 'the pass is counted')
  assert.equal(sealing.counts.samples, samples)
  assert.ok(sealing.counts.seconds > 0)
  assert.deepEqual(lines, [])
})

test('a small log is left alone, the smaller the larger the fleet is', async () => {
  ride(3000)
  await sealing.runOnce()
  assert.equal(blocksIn(other).length, 0)
  ride(1000)
  fleetSize = 5000
  await sealing.runOnce()
  assert.equal(blocksIn(other).length, 0)
  fleetSize = DEVICES
  await sealing.runOnce()
  assert.equal(rowsInLog(), 0)
})

test('sealing on request seals the whole log, even for a caller that holds the maintenance lock', async () => {
  const samples = ride(1) + ride(26_000)
  await maintenance.take(() => sealing.sealNow())
  assert.equal(rowsInLog(), 0)
  assert.equal(sealing.counts.passes, 2)
  const sealed = blocksIn(other).reduce((sum, { count }) => sum + count, 0)
  assert.equal(sealed, samples * 2)
  await sealing.sealNow()
  assert.equal(sealing.counts.passes, 2)
})

test('samples that arrive during a pass stay in the log, and none is lost', async () => {
  let samples = ride(4000)
  const sealed = sealing.runOnce()
  for (let i = 0; i < 30; i++) {
    samples += ride(100)
    await new Promise(setImmediate)
  }
  await sealed
  assert.ok(blocksIn(other).length > 0)
  assert.equal(recordsIn(other).size, samples * 2)
  await sealing.sealNow()
  assert.equal(rowsInLog(), 0)
  assert.equal(recordsIn(other).size, samples * 2)
})

test('without a head office, every block is recorded as unsent', async () => {
  const samples = ride(4000)
  await sealing.runOnce()
  assert.deepEqual(sealedRecords(), { unsent: samples * 2, sent: 0 })
})

test('with a head office, the log waits for it, and data it has is not sent again', async () => {
  acknowledged = 0
  const samples = ride(4000)
  const through = lastSeq()
  ride(4000)
  await sealing.runOnce()
  assert.equal(blocksIn(other).length, 0, 'nothing was acknowledged')
  acknowledgeThrough(through)
  await sealing.runOnce()
  assert.deepEqual(sealedRecords(), { unsent: 0, sent: samples * 2 })
  assert.equal(rowsInLog(), samples / 1000)
})

test('the log does not wait indefinitely for an unreachable head office', async () => {
  acknowledged = 0
  let samples = ride(13_000)
  await sealing.runOnce()
  assert.equal(blocksIn(other).length, 0)
  samples += ride(1000)
  await sealing.runOnce()
  assert.equal(rowsInLog(), 0)
  assert.deepEqual(sealedRecords(), { unsent: samples * 2, sent: 0 })
})

test('sealing on request separates acknowledged records from the others', async () => {
  const samples = ride(3000)
  acknowledgeThrough(lastSeq())
  const later = ride(2000)
  await sealing.sealNow()
  assert.equal(rowsInLog(), 0)
  assert.equal(sealing.counts.passes, 2)
  const { unsent, sent } = sealedRecords()
  assert.equal(unsent + sent, (samples + later) * 2)
  assert.ok(sent > 0 && unsent >= later * 2, `${sent} ${unsent}`)
})

test('a partly acknowledged row counts as not acknowledged', async () => {
  const samples = ride(4000)
  acknowledgeThrough(lastSeq() - 10)
  await sealing.runOnce()
  assert.deepEqual(sealedRecords(), { unsent: 0, sent: (samples - 1000) * 2 })
  assert.equal(rowsInLog(), 1)
  await sealing.sealNow()
  assert.equal(rowsInLog(), 0)
  const { unsent, sent } = sealedRecords()
  assert.equal(unsent + sent, samples * 2)
  assert.ok(unsent >= 2000)
})

test('other jobs that change blocks wait until a pass is done', async () => {
  ride(4000)
  let inTurn = 0
  const sealed = sealing.runOnce()
  const job = maintenance.take(async () => {
    inTurn = rowsInLog()
  })
  await Promise.all([sealed, job])
  assert.equal(inTurn, 0)
})

test('a queue that is never empty slows sealing down, and does not stop it', async () => {
  await sealing.stop()
  sealing = newSealing({ waitingRows: 100_000 })
  await sealing.start()
  ride(4000)
  await sealing.runOnce()
  assert.equal(rowsInLog(), 0)
})

function damage(): number {
  const [block] = blocksIn(other)
  assert.ok(block)
  other.run('UPDATE telemetry_block SET records = zeroblob(100) WHERE block_id = ?', block.blockId)
  return block.blockId
}

test('a damaged block is reported and its stream is sealed once the block has been removed', async () => {
  ride(10)
  await sealing.sealNow()
  const blockId = damage()
  onUnreadable = (blocks) => {
    for (const one of blocks) other.run('DELETE FROM telemetry_block WHERE block_id = ?', one.blockId)
  }
  const samples = ride(4000)
  await sealing.runOnce()
  assert.deepEqual(unreadable, [{ blockId, reason: 'not_a_block' }])
  assert.equal(rowsInLog(), 0)
  assert.equal(recordsIn(other).size, samples * 2 + 19 * 10)
})

test('a damaged block that cannot be moved stops sealing without loss and is logged once', async () => {
  ride(10)
  await sealing.sealNow()
  damage()
  ride(4000)
  const rows = rowsInLog()
  await sealing.runOnce()
  await sealing.runOnce()
  assert.equal(rowsInLog(), rows)
  assert.equal(sealing.counts.failures, 2)
  const messages = lines.map(({ msg }) => msg)
  assert.deepEqual(messages, ['sealing of telemetry failed; it stays in the log until a retry'])
  await assert.rejects(sealing.sealNow(), /quarantining damaged telemetry failed/)
  other.run('DELETE FROM telemetry_block WHERE length(records) = 100')
  await sealing.runOnce()
  assert.equal(rowsInLog(), 0)
  assert.equal(lines.at(-1)?.msg, 'sealing of telemetry recovered')
})

test('a damaged row of the log is quarantined, and the others are sealed', async () => {
  const samples = ride(4000)
  other.run(
    'UPDATE telemetry_log SET samples = zeroblob(50) WHERE first_seq = (SELECT min(first_seq) + 1000 FROM ' +
      'telemetry_log)',
  )
  const [damaged] = other.all<{ seq: number }>('SELECT first_seq AS seq FROM telemetry_log WHERE length(samples) = 50')
  await sealing.sealNow()
  assert.equal(rowsInLog(), 0)
  assert.equal(recordsIn(other).size, (samples - (damaged === undefined ? 0 : 1000)) * 2)
})

test('a writer that dies during a pass costs nothing but the time', async () => {
  const samples = ride(4000)
  const post = Worker.prototype.postMessage
  let writes = 0
  mock.method(Worker.prototype, 'postMessage', function (this: Worker, ...args: Parameters<typeof post>) {
    const [request] = args
    if (request.kind === 'write' && ++writes === 2) void this.terminate()
    else post.apply(this, args)
  })
  await sealing.runOnce()
  assert.equal(sealing.counts.failures, 1)
  assert.ok(blocksIn(other).length > 0)
  assert.equal(recordsIn(other).size, samples * 2)
  await sealing.runOnce()
  assert.equal(rowsInLog(), 0)
  assert.equal(recordsIn(other).size, samples * 2)
})

test('a stop ends a pass after its transaction, and the next start continues', async () => {
  // enough that the pass still has much to do when its first transaction is detected
  const samples = ride(16_000)
  const sealed = sealing.runOnce()
  await eventually(() => blocksIn(other).length > 0, 'the first transaction')
  await sealing.stop()
  await sealed
  assert.ok(rowsInLog() > 0)
  await assert.rejects(sealing.sealNow(), { code: 'store_unavailable' })
  assert.deepEqual([sealing.counts.failures, lines], [0, []])
  sealing = newSealing()
  await sealing.start()
  await sealing.runOnce()
  assert.equal(rowsInLog(), 0)
  assert.equal(recordsIn(other).size, samples * 2)
})

test('a stop does not wait for the turn of a pass', async () => {
  ride(4000)
  const gate = Promise.withResolvers<void>()
  const job = maintenance.take(() => gate.promise)
  const sealed = sealing.runOnce()
  await sealing.stop()
  gate.resolve()
  await Promise.all([job, sealed])
  assert.equal(blocksIn(other).length, 0)
  assert.equal(sealing.counts.failures, 0)
})

test('a stop does not wait for a plan that a reader thread never makes', async () => {
  ride(4000)
  const jobs = new HeldJobs()
  try {
    jobs.hold()
    const sealed = sealing.runOnce()
    await eventually(() => jobs.given.length === 1, 'the plan is asked for')
    await sealing.stop()
    await sealed
    assert.equal(sealing.counts.failures, 0)
  } finally {
    jobs.end()
  }
})
