import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, mock, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { Counter } from '#shared/counter.ts'
import { createLog } from '#shared/log.ts'
import { DEFAULT_TRIP_CONFIG } from '#shared/trips/config.ts'
import { HeldJobs } from '#testing/held-jobs.ts'
import { migrate } from '../migrate.ts'
import type { HistoryPageRequest } from '../telemetry/history-page.ts'
import { openForSetup } from '../writer/open.ts'
import { type JobOptions, ReaderPool } from './pool.ts'

const dataDir = mkdtempSync(join(tmpdir(), 'cartbarn-readers-'))
const path = join(dataDir, 'cartbarn.db')
let pool: ReaderPool
let jobs: HeldJobs

before(async () => {
  const connection = openForSetup(path)
  migrate(connection)
  connection.close()
  jobs = new HeldJobs()
  pool = new ReaderPool(path, 1, new Counter(), createLog('silent'))
  await pool.start()
})
afterEach(() => jobs.release())
after(async () => {
  jobs.end()
  await pool.stop()
  rmSync(dataDir, { recursive: true, force: true })
})

/** Job with next to no work. */
function run(owner: string, deviceId = 0, options: Partial<JobOptions> = {}): Promise<number> {
  return pool.run('startOfNewest', { deviceId, count: 1 }, { owner, ...options })
}

function readPage(owner: string, isPartOfLongRead: boolean) {
  const request: HistoryPageRequest = {
    stream: 'gps',
    deviceId: 1,
    hardwareId: 'cart-1',
    shortId: 'aaaaaaaa',
    order: 'asc',
    fromMs: 0,
    toMs: 1,
    limit: 1,
    format: 'json',
    previousMs: null,
  }
  return pool.run('historyPage', request, { owner, isPartOfLongRead })
}

test('a client with hundreds of requests delays others by at most one of them', async () => {
  const done: string[] = []
  const ask = (owner: string) => run(owner).then(() => done.push(owner))
  const all = [...Array.from({ length: 300 }, () => ask('greedy')), ask('modest'), ask('another')]
  await Promise.all(all)
  assert.ok(done.indexOf('modest') <= 2, `after ${done.indexOf('modest')}`)
  assert.ok(done.indexOf('another') <= 3, `after ${done.indexOf('another')}`)
})

test('a request aborted while queued is never executed', async () => {
  jobs.hold()
  const controller = new AbortController()
  const first = run('somebody', 1)
  const abandoned = [2, 3, 4].map((id) => run('somebody', id, { signal: controller.signal }))
  const last = run('somebody', 5)
  controller.abort()
  const outcomes = await Promise.allSettled(abandoned)
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['rejected', 'rejected', 'rejected'],
  )
  await assert.rejects(run('somebody', 6, { signal: controller.signal }), { code: 'store_unavailable' })
  jobs.release()
  await Promise.all([first, last])
  assert.deepEqual(
    jobs.given.map(({ input }) => input),
    [1, 5].map((deviceId) => ({ deviceId, count: 1 })),
  )
})

test('a request aborted during execution is rejected, and the thread continues', async () => {
  jobs.hold()
  const controller = new AbortController()
  const abandoned = run('somebody', 1, { signal: controller.signal })
  controller.abort()
  await assert.rejects(abandoned, { code: 'store_unavailable' })
  jobs.release()
  assert.equal(await run('somebody', 2), 0)
})

test('after a page of a long read only long reads wait', { timeout: 60_000 }, async (t) => {
  const { setTimeout: wait } = globalThis
  t.mock.method(globalThis, 'setTimeout', (call: () => void, ms: number) => wait(call, ms + 2_000))
  jobs.hold()
  jobs.release()
  await readPage('download', true)
  const done: string[] = []
  const rest = readPage('download', true).then(() => done.push('a long read'))
  const first = readPage('somebody', false).then(() => done.push('a first page'))
  const other = run('somebody').then(() => done.push('another job'))
  await Promise.all([first, other])
  assert.deepEqual(done, ['a first page', 'another job'])
  await rest
})

test('a track that is too long is rejected with the reason, and the thread continues', async () => {
  const query = {
    deviceId: 1,
    hardwareId: 'cart-1',
    fromMs: 0,
    toMs: 1,
    config: DEFAULT_TRIP_CONFIG,
    order: 'asc' as const,
    foundMax: 9,
  }
  await assert.rejects(pool.run('trips', { ...query, positionsMax: -1 }, { owner: 'somebody' }), {
    kind: 'invalid',
    code: 'too_many_positions',
  })
  const { sums } = await pool.run('trips', { ...query, positionsMax: 0 }, { owner: 'somebody' })
  assert.equal(sums.positionsAnalyzed, 0)
})

test('after the stop no read starts, and waiting reads are rejected', async () => {
  const own = new ReaderPool(path, 1, new Counter(), createLog('silent'))
  await own.start()
  const waiting = [1, 2, 3].map((deviceId) => own.run('startOfNewest', { deviceId, count: 1 }, { owner: 'somebody' }))
  const outcomes = Promise.allSettled(waiting)
  await own.stop()
  assert.deepEqual(new Set((await outcomes).map(({ status }) => status)), new Set(['rejected']))
  await assert.rejects(own.run('startOfNewest', { deviceId: 1, count: 1 }, { owner: 'somebody' }), {
    code: 'store_unavailable',
  })
})

test('a stop does not wait for a thread that cannot be ended, and its pending reads are rejected', async () => {
  const own = new ReaderPool(path, 1, new Counter(), createLog('silent'))
  await own.start()
  const read = () => own.run('startOfNewest', { deviceId: 0, count: 1 }, { owner: 'anybody' })
  await read()
  const terminate = Worker.prototype.terminate
  const hanging: Worker[] = []
  const ending = mock.method(Worker.prototype, 'terminate', function (this: Worker) {
    hanging.push(this)
    return new Promise<number>(() => undefined)
  })
  try {
    jobs.hold()
    const refused = [read(), read()].map((one) => assert.rejects(one, { code: 'store_unavailable' }))
    await own.stop()
    await Promise.all(refused)
  } finally {
    ending.mock.restore()
    await Promise.all(hanging.map((worker) => terminate.call(worker)))
  }
})

test('a job that exceeds its time limit is rejected, and its thread is ended', async () => {
  const own = new ReaderPool(path, 1, new Counter(), createLog('silent'))
  await own.start()
  try {
    const propose = (features: unknown[], mostMs: number) => {
      const input = { featuresJson: JSON.stringify(features), language: 'en' as const }
      return own.run('proposeDrawnZones', input, { owner: 'somebody', mostMs })
    }
    // outlines that cross themselves until nothing is left of them: takes seconds
    const coordinates = [Array.from({ length: 300 }, (_, i) => [i / 1e6, (i % 2) / 100])]
    const outline = { geometry: { type: 'Polygon', coordinates }, properties: { golf: 'fairway' } }
    const line = { type: 'LineString', coordinates: coordinates[0] }
    const holes = Array.from({ length: 99 }, (_, i) => ({
      geometry: line,
      properties: { golf: 'hole', ref: String(i + 1) },
    }))
    const long = propose([...holes, ...Array(200).fill(outline)], 50)
    await assert.rejects(long, { kind: 'invalid', code: 'too_complex' })
    const next = own.run('startOfNewest', { deviceId: 1, count: 1 }, { owner: 'somebody' })
    assert.equal(await next, 0)
    assert.deepEqual(await propose([], 60_000), [])
  } finally {
    await own.stop()
  }
})
