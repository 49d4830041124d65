import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, type Mock, mock, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { createLog } from '#shared/log.ts'
import { Store } from './store.ts'
import type { HistoryPageRequest } from './telemetry/history-page.ts'
import type { AppendBatch } from './writer/append.ts'
import type { Appendable } from './writer/appender.ts'

interface Message extends Appendable {
  atMs: number
}

const dataDir = mkdtempSync(join(tmpdir(), 'cartbarn-threads-'))
const store = new Store<Message>({ dataDir, readerThreads: 2, writeQueueRows: 1000 }, createLog('silent'))
const NOW_MS = Date.UTC(2026, 4, 1)
let deviceId = 0
/** Number of the next requests that end the thread they are sent to. */
let deaths = 0
let posting: Mock<Worker['postMessage']>

before(async () => {
  store.queue.attach({
    encode: (messages): AppendBatch => ({
      samples: Float64Array.from(messages.flatMap(({ atMs }) => [deviceId, atMs, 1, 2, 3, Number.NaN])),
      stateChanges: new Uint8Array(),
      lockEvents: [],
      quarantined: [],
      commandAcks: [],
      sessionChanges: [],
    }),
    committed: () => undefined,
    announce: () => undefined,
    discarded: () => undefined,
    refused: (_, reason) => assert.fail(reason),
  })
  await store.start()
  const device = {
    hardwareId: 'cart-1',
    deviceType: 'teebox',
    name: null,
    groupId: null,
    publication: { version: null, sessionChanges: [] },
    mqttPasswordHash: 'x',
    nowMs: NOW_MS,
  }
  deviceId = (await store.write('createDevice', device)).deviceId
  const post = Worker.prototype.postMessage
  posting = mock.method(Worker.prototype, 'postMessage', function (this: Worker, ...args: Parameters<typeof post>) {
    if (deaths === 0) return post.apply(this, args)
    deaths--
    void this.terminate()
  })
})
beforeEach(() => posting.mock.resetCalls())
after(async () => {
  mock.restoreAll()
  await store.stop()
  rmSync(dataDir, { recursive: true, force: true })
})

function append(atMs: number): Promise<void> {
  return new Promise((resolve) =>
    store.queue.append({ rows: 1, sessionChanges: [], atMs, onStored: resolve, onRefused: () => undefined }),
  )
}

/** Reads one page; `previousMs` is set for all pages but the first. */
function readAll(previousMs: number | null = null): Promise<{ rows: number }> {
  const request: HistoryPageRequest = {
    stream: 'gps',
    deviceId,
    hardwareId: 'cart-1',
    shortId: 'aaaaaaaa',
    fromMs: 0,
    toMs: NOW_MS * 2,
    order: 'asc',
    limit: 1000,
    format: 'json',
    previousMs,
  }
  const options = { owner: 'somebody', isPartOfLongRead: previousMs !== null }
  return store.readers.run('historyPage', request, options)
}

test('when the writer thread dies its messages are written by the next one, once', async () => {
  deaths = 1
  await Promise.all([append(NOW_MS), append(NOW_MS + 1)])
  assert.equal((await readAll()).rows, 2)
  assert.equal(store.health.isUsable, true)
})

test('a write whose thread dies fails, and the next one succeeds', async () => {
  deaths = 1
  await assert.rejects(store.write('deleteUser', { userId: 'u' }), { code: 'store_unavailable' })
  await append(NOW_MS + 2)
  assert.equal((await readAll()).rows, 3)
})

test('when a reader thread dies its page is read by another', async () => {
  deaths = 1
  assert.equal((await readAll()).rows, 3)
  assert.equal(posting.mock.callCount(), 2)
})

test('a page that ends every thread is rejected, and the others are still read', async () => {
  deaths = 2
  await assert.rejects(readAll(), { code: 'store_unavailable' })
  const pages = await Promise.all(Array.from({ length: 10 }, () => readAll()))
  assert.deepEqual(new Set(pages.map(({ rows }) => rows)), new Set([3]))
})

test('when threads die while resting after pages of long reads, waiting reads are served', {
  timeout: 60_000,
}, async (t) => {
  // a rest that only the test ends; the timers stay real, so that timers set before can be cleared
  const { setTimeout: wait } = globalThis
  t.mock.method(globalThis, 'setTimeout', (call: () => void, ms: number) => wait(call, ms + 90_000))
  await Promise.all([readAll(NOW_MS), readAll(NOW_MS)])
  const resting = new Set(posting.mock.calls.map((call) => call.this))
  const waiting = readAll(NOW_MS)
  for (const worker of resting) void (worker as Worker).terminate()
  assert.equal((await waiting).rows, 3)
})
