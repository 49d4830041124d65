import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import Database from 'better-sqlite3'
import { createLog } from '#shared/log.ts'
import type { ServiceStatus } from '#shared/service/manager.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { Store } from '#store/store.ts'
import { WRITER_BUSY_MS } from '#store/writer/open.ts'
import { Watchdog } from './watchdog.ts'

const log = createLog('silent')
/** Time without a message after which systemd would end the process. */
const PATIENCE_MS = 60
const FRESH_MS = 40

/** Starts a watchdog on a real store, and records its messages to systemd. */
async function startWatched(t: TestContext, patienceMs: number | null = PATIENCE_MS) {
  const dataDir = mkdtempSync(join(tmpdir(), 'cartbarn-watchdog-'))
  t.after(() => rmSync(dataDir, { recursive: true, force: true }))
  const store = new Store({ dataDir, readerThreads: 1, writeQueueRows: 100 }, log)
  await store.start()
  t.after(() => store.stop())
  const sent: ServiceStatus[] = []
  const notify = async (news: ServiceStatus) => {
    sent.push(news)
    return null
  }
  const watchdog = new Watchdog({
    disk: store,
    status: 'serves',
    log,
    timeoutMs: patienceMs,
    notify: notify,
    freshMs: FRESH_MS,
  })
  await watchdog.start()
  t.after(() => watchdog.stop())
  return { store, sent, watchdog, path: join(dataDir, 'cartbarn.db'), fed: () => feeds(sent) }
}

function feeds(sent: readonly ServiceStatus[]): number {
  return sent.filter((news) => news.WATCHDOG === 1).length
}

test('the watchdog reports ready at the start and stopping at the end', async (t) => {
  const { sent, watchdog } = await startWatched(t, null)
  assert.deepEqual(sent, [{ READY: 1, STATUS: 'serves' }])
  await watchdog.stop()
  assert.deepEqual(sent.at(-1), { STOPPING: 1, STATUS: 'stopping' })
})

test('without writes each watchdog notification follows a successful probe', async (t) => {
  const { store, fed } = await startWatched(t)
  const startedAtMs = store.answeredAtMs
  await eventually(() => fed() >= 5, 'fed')
  assert.ok(store.answeredAtMs > startedAtMs, 'something was written')
})

test('after commits the watchdog is notified without a probe', async (t) => {
  const probes: number[] = []
  const sent: ServiceStatus[] = []
  const disk = {
    get answeredAtMs() {
      return performance.now()
    },
    health: { isUsable: true, detail: null },
    probe: async () => void probes.push(1),
  }
  const notify = async (news: ServiceStatus) => {
    sent.push(news)
    return null
  }
  const watchdog = new Watchdog({ disk, status: '', log, timeoutMs: 3, notify: notify })
  await watchdog.start()
  t.after(() => watchdog.stop())
  await eventually(() => feeds(sent) >= 3, 'fed')
  assert.deepEqual(probes, [])
})

test('a stalled disk stops the notifications until it responds again', async (t) => {
  const { path, fed } = await startWatched(t)
  await eventually(() => fed() > 0, 'fed')
  // the writer thread waits in its commit, as it does for a disk that does not respond
  const holder = new Database(path)
  t.after(() => holder.close())
  const heldAtMs = performance.now()
  holder.exec('BEGIN IMMEDIATE')
  await gone(FRESH_MS * 2)
  const before = fed()
  await gone(PATIENCE_MS * 4)
  const after = fed()
  holder.exec('ROLLBACK')
  // SQLite stops waiting after a second
  if (performance.now() - heldAtMs < WRITER_BUSY_MS) assert.equal(after, before)
  else t.skip('the machine was too busy')
  await eventually(() => fed() > before, 'fed again')
})

test('a disk that rejects writes does not stop the notifications, as a restart would free no space', async (t) => {
  const sent: ServiceStatus[] = []
  const notify = async (news: ServiceStatus) => {
    sent.push(news)
    return null
  }
  const health = { isUsable: false, detail: 'the disk is full' }
  const disk = { answeredAtMs: 0, health, probe: () => Promise.reject(new Error('the disk is full')) }
  const watchdog = new Watchdog({ disk, status: '', log, timeoutMs: 3, notify: notify })
  await watchdog.start()
  t.after(() => watchdog.stop())
  disk.answeredAtMs = Number.POSITIVE_INFINITY
  await eventually(() => feeds(sent) > 0, 'fed')
  assert.equal(sent.at(-1)?.STATUS, 'cannot store: the disk is full')
})

test('a failed notification is one line of the log', async (t) => {
  const lines: string[] = []
  const sent: ServiceStatus[] = []
  const watchdog = new Watchdog({
    status: '',
    timeoutMs: 3,
    log: createLog('warn', { write: (line) => void lines.push(line) }),
    disk: {
      answeredAtMs: Number.POSITIVE_INFINITY,
      health: { isUsable: true, detail: null },
      probe: async () => undefined,
    },
    notify: async (news) => {
      sent.push(news)
      return 'there is no systemd-notify'
    },
  })
  await watchdog.start()
  t.after(() => watchdog.stop())
  await eventually(() => feeds(sent) >= 3, 'tried')
  assert.equal(lines.length, 1)
})

/** Resolves after this time, in ticks of the event loop. */
function gone(ms: number): Promise<void> {
  const atMs = performance.now() + ms
  return eventually(() => performance.now() >= atMs, 'time')
}
