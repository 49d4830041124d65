import assert from 'node:assert/strict'
import { beforeEach, mock, test } from 'node:test'
import { SqliteError } from 'better-sqlite3'
import fc from 'fast-check'
import { AppError, UnavailableError } from '#shared/errors.ts'
import { createLog } from '#shared/log.ts'
import { eventually } from '#shared/testing/eventually.ts'
import type { AppendBatch } from './append.ts'
import type { Appendable, Appender } from './appender.ts'
import { CommitQueue } from './commit-queue.ts'
import type { WriterAnswer, WriterRequest } from './messages.ts'

interface Message extends Appendable {
  id: number
}

const DISK_FULL: WriterAnswer = { kind: 'failed', message: 'database or disk is full', isStoreFault: true }
const BAD_ROW: WriterAnswer = { kind: 'failed', message: 'datatype mismatch', isStoreFault: false }
const DAMAGED: WriterAnswer = {
  kind: 'failed',
  message: 'database disk image is malformed',
  isStoreFault: false,
  isDamage: true,
}
const WRITE: WriterRequest = {
  kind: 'write',
  name: 'deleteUser',
  input: { userId: 'u' },
  origin: { atMs: 0, userId: null, address: null, person: null, sessionId: null },
}

/** Write of a background loop of the gateway. */
const PATIENT_WRITE: WriterRequest = {
  ...WRITE,
  name: 'dropLog',
  input: { fromSeq: 0, throughSeq: 0, limit: 1 },
}

type Transaction = number[] | 'write'

/** Fake disk; the test decides when and how it answers. Like the real one it answers in order. */
class FakeWriter {
  /** All attempted transactions. */
  readonly transactions: Transaction[] = []
  answerOf: (ids: Transaction) => WriterAnswer | Promise<WriterAnswer> = stored
  #last: Promise<unknown> = Promise.resolve()
  #failedRun = -1

  perform(request: WriterRequest): Promise<WriterAnswer> {
    const answer = this.#last.then(() => this.#perform(request))
    this.#last = answer.catch(() => undefined)
    return answer
  }

  async #perform(request: WriterRequest): Promise<WriterAnswer> {
    if (request.kind === 'append' && request.run === this.#failedRun) return { kind: 'skipped' }
    const ids = request.kind === 'append' ? [...request.batch.samples] : 'write'
    this.transactions.push(ids)
    const answer = await this.answerOf(ids)
    if (request.kind === 'append' && answer.kind !== 'appended') this.#failedRun = request.run
    return answer
  }
}

function stored(ids: Transaction): WriterAnswer {
  return ids === 'write'
    ? { kind: 'written', result: 'done' }
    : {
        kind: 'appended',
        result: {
          sampleFlags: new Uint8Array(ids.length),
          lockEventStored: [],
          lockEventMetadata: [],
          commandAcks: [],
          callStored: [],
        },
      }
}

function holds(ids: Transaction, id: number): boolean {
  return ids !== 'write' && ids.includes(id)
}

/** Records the calls of the queue, in order; a message is represented by its id. */
class FakeAppender implements Appender<Message> {
  readonly reported: string[] = []
  rescue: () => WriterRequest | null = () => null
  split: (message: Message) => readonly Message[] = (message) => [message]
  #encoded: number[][] = []

  encode(messages: readonly Message[]): AppendBatch {
    this.#encoded.push(idsOf(messages))
    const samples = Float64Array.from(idsOf(messages))
    const nothing = { lockEvents: [], quarantined: [], commandAcks: [], sessionChanges: [] }
    return { samples, stateChanges: new Uint8Array(), ...nothing }
  }

  committed(messages: readonly Message[]): void {
    assert.deepEqual(idsOf(messages), this.#encoded.shift(), 'committed in the order of encode')
  }

  announce({ id }: Message): void {
    this.reported.push(`stored ${id}`)
  }

  discarded(): void {
    this.#encoded = []
  }

  refused({ id }: Message, reason: string): void {
    this.reported.push(`refused ${id}: ${reason}`)
  }
}

function idsOf(messages: readonly Message[]): number[] {
  return messages.map(({ id }) => id)
}

let writer: FakeWriter
let appender: FakeAppender
let queue: CommitQueue<Message>
/** Messages that may be acknowledged, in order. */
let acknowledged: number[]

function fresh(maxRows = 10_000, pauseMs = 0): void {
  acknowledged = []
  writer = new FakeWriter()
  appender = new FakeAppender()
  queue = new CommitQueue<Message>(writer, maxRows, createLog('silent'), pauseMs)
  queue.attach(appender)
}
beforeEach(() => fresh())

function messageOf(id: number, rows: number): Message {
  return {
    id,
    rows,
    sessionChanges: [],
    onStored: () => acknowledged.push(id),
    onRefused: () => undefined,
  }
}

function appendRows(id: number, rows: number): void {
  queue.append(messageOf(id, rows))
}

function append(...ids: number[]): void {
  for (const id of ids) appendRows(id, 1)
}

/** Waits until everything has happened that only needs event-loop ticks. */
async function settle(): Promise<void> {
  for (let i = 0; i < 20; i++) await new Promise(setImmediate)
}

function isUnavailable(error: unknown): boolean {
  return error instanceof AppError && error.kind === 'unavailable'
}

test('messages that arrive together share a transaction', async () => {
  append(1, 2, 3)
  await settle()
  assert.deepEqual(writer.transactions, [[1, 2, 3]])
  assert.deepEqual(appender.reported, ['stored 1', 'stored 2', 'stored 3'])
  assert.deepEqual(acknowledged, [1, 2, 3])
  assert.equal(queue.waitingRows, 0)
})

test('messages that arrive during a transaction share the next; results are reported after the commit', async () => {
  const first = Promise.withResolvers<void>()
  writer.answerOf = async (ids) => {
    if (writer.transactions.length === 1) await first.promise
    return stored(ids)
  }
  append(1)
  await settle()
  append(2, 3)
  await settle()
  append(4)
  await settle()
  assert.deepEqual([appender.reported, acknowledged], [[], []])
  assert.equal(queue.waitingRows, 4)
  first.resolve()
  await settle()
  assert.deepEqual(writer.transactions, [[1], [2, 3, 4]])
  assert.deepEqual(appender.reported, ['stored 1', 'stored 2', 'stored 3', 'stored 4'])
})

test('a transaction holds 1000 rows, or one message that is larger', async () => {
  for (const [id, rows] of [400, 400, 400, 1500, 1, 999, 1].entries()) appendRows(id, rows)
  await settle()
  assert.deepEqual(writer.transactions, [[0, 1], [2], [3], [4, 5], [6]])
})

/** Longer than any test. */
const LONG_MS = 600_000

test('with a pause the first message after an idle time is written immediately, later ones wait', async () => {
  fresh(10_000, LONG_MS)
  append(1)
  await settle()
  append(2)
  await settle()
  append(3)
  await settle()
  assert.deepEqual([writer.transactions, acknowledged], [[[1]], [1]])
  assert.equal(queue.waitingRows, 2)
  await queue.stop()
})

test('messages that wait for the end of a pause are written when it is over', async () => {
  fresh(10_000, 20)
  append(1)
  await settle()
  append(2, 3)
  await eventually(() => acknowledged.length === 3, 'acknowledged')
  assert.deepEqual(writer.transactions.flat(), [1, 2, 3])
})

test('an API write ends the pause and includes the waiting messages', async () => {
  fresh(10_000, LONG_MS)
  append(1)
  await settle()
  append(2)
  await settle()
  assert.equal(await queue.write(WRITE), 'done')
  append(3)
  await settle()
  assert.deepEqual(writer.transactions, [[1], [2], 'write'])
  await queue.stop()
})

test('a write that can wait does not end the pause and follows the waiting messages', async () => {
  fresh(10_000, 20)
  append(1)
  await settle()
  append(2)
  const written = queue.write(PATIENT_WRITE)
  append(3)
  assert.equal(await written, 'done')
  await eventually(() => acknowledged.length === 3, 'acknowledged')
  assert.deepEqual(writer.transactions, [[1], [2], 'write', [3]])
})

test('many rows end the pause', async () => {
  fresh(10_000, LONG_MS)
  append(1)
  await settle()
  appendRows(2, 199)
  await settle()
  append(3)
  await settle()
  assert.deepEqual(writer.transactions, [[1], [2, 3]])
})

test('a stop ends the pause and stores the waiting messages', async () => {
  fresh(10_000, LONG_MS)
  append(1)
  await settle()
  append(2)
  await settle()
  await queue.stop()
  assert.deepEqual(
    [writer.transactions, acknowledged],
    [
      [[1], [2]],
      [1, 2],
    ],
  )
})

test('a write keeps its place in the order and has a separate transaction', async () => {
  append(1, 2)
  const written = queue.write(WRITE)
  append(3)
  assert.equal(await written, 'done')
  await settle()
  assert.deepEqual(writer.transactions, [[1, 2], 'write', [3]])
})

test('one bad message is rejected alone; the others are stored in order', async () => {
  writer.answerOf = (ids) => (holds(ids, 3) ? BAD_ROW : stored(ids))
  append(1, 2, 3, 4, 5)
  await settle()
  assert.deepEqual(appender.reported, ['stored 1', 'stored 2', 'refused 3: datatype mismatch', 'stored 4', 'stored 5'])
  // the invalid one never succeeds
  assert.deepEqual(acknowledged, [1, 2, 4, 5])
  assert.equal(queue.waitingRows, 0)
  assert.equal(queue.health.isUsable, true)
})

test('only the bad message of a combined one is rejected', async () => {
  appender.split = ({ id }) => (id === 30 ? [31, 32, 33].map((part) => messageOf(part, 1)) : [messageOf(id, 1)])
  writer.answerOf = (ids) => (holds(ids, 30) || holds(ids, 32) ? BAD_ROW : stored(ids))
  append(1)
  appendRows(30, 3)
  append(5)
  await settle()
  assert.deepEqual(appender.reported, [
    'stored 1',
    'stored 31',
    'refused 32: datatype mismatch',
    'stored 33',
    'stored 5',
  ])
  assert.deepEqual(acknowledged, [1, 31, 33, 5])
  assert.equal(queue.waitingRows, 0)
})

test('a message that meets a damaged page is quarantined and acknowledged in order', async () => {
  appender.rescue = () => WRITE
  writer.answerOf = (ids) => (holds(ids, 3) ? DAMAGED : stored(ids))
  append(1, 2, 3, 4, 5)
  await settle()
  assert.deepEqual(appender.reported, ['stored 1', 'stored 2', 'stored 4', 'stored 5'])
  assert.deepEqual(acknowledged, [1, 2, 3, 4, 5])
  assert.deepEqual(writer.transactions.slice(-4), [[3], 'write', [4], [5]])
  assert.equal(queue.waitingRows, 0)
  assert.equal(queue.health.isUsable, true)
})

test('a message that meets damage and cannot be quarantined either is rejected', async () => {
  appender.rescue = () => WRITE
  writer.answerOf = (ids) => (ids === 'write' || holds(ids, 2) ? DAMAGED : stored(ids))
  append(1, 2, 3)
  await settle()
  assert.deepEqual(appender.reported, ['stored 1', 'refused 2: database disk image is malformed', 'stored 3'])
  assert.deepEqual(acknowledged, [1, 3])
  assert.equal(queue.health.isUsable, true)
})

test('a message that damage prevents from being encoded is retried after the writer checked the store', async () => {
  const encode = appender.encode.bind(appender)
  appender.encode = (messages) => {
    if (!writer.transactions.includes('write')) throw new SqliteError('malformed', 'SQLITE_CORRUPT')
    return encode(messages)
  }
  append(1, 2)
  await settle()
  assert.deepEqual(writer.transactions, ['write', [1, 2]])
  assert.deepEqual(acknowledged, [1, 2])
})

test('a write that meets damage is rejected as store_damaged, and the next succeeds', async () => {
  writer.answerOf = () => (writer.transactions.length === 1 ? DAMAGED : stored('write'))
  await assert.rejects(
    queue.write(WRITE),
    (error) => isUnavailable(error) && error instanceof AppError && error.code === 'store_damaged',
  )
  assert.equal(queue.health.isUsable, true)
  assert.equal(await queue.write(WRITE), 'done')
})

test('two successive bad messages are rejected, and the one after them is tried', async () => {
  writer.answerOf = (ids) => (holds(ids, 1) || holds(ids, 2) ? BAD_ROW : stored(ids))
  append(1, 2, 3)
  await settle()
  assert.deepEqual(appender.reported, ['refused 1: datatype mismatch', 'refused 2: datatype mismatch', 'stored 3'])
})

test('a message that cannot be encoded is rejected alone', async () => {
  const encode = appender.encode.bind(appender)
  appender.encode = (messages) => {
    if (messages.some(({ id }) => id === 2)) throw new Error('no such number')
    return encode(messages)
  }
  append(1, 2, 3)
  await settle()
  assert.deepEqual(appender.reported, ['stored 1', 'refused 2: no such number', 'stored 3'])
})

test('each message is reported once, in order, with the right outcome, whatever the mix', async () => {
  const messages = fc.array(fc.record({ rows: fc.integer({ min: 1, max: 700 }), isBad: fc.boolean() }), {
    maxLength: 30,
  })
  await fc.assert(
    fc.asyncProperty(messages, async (drawn) => {
      fresh()
      writer.answerOf = (ids) => (ids !== 'write' && ids.some((id) => drawn[id]?.isBad) ? BAD_ROW : stored(ids))
      for (const [id, message] of drawn.entries()) appendRows(id, message.rows)
      await queue.stop()
      assert.deepEqual(
        appender.reported,
        drawn.map(({ isBad }, id) => (isBad ? `refused ${id}: datatype mismatch` : `stored ${id}`)),
      )
      assert.deepEqual(
        acknowledged,
        [...drawn.keys()].filter((id) => !drawn[id]?.isBad),
      )
      assert.equal(queue.waitingRows, 0)
    }),
    { numRuns: 50 },
  )
})

test('while the disk is full messages wait and are retried, and writes fail immediately', async () => {
  mock.timers.enable({ apis: ['setTimeout'] })
  try {
    writer.answerOf = () => DISK_FULL
    append(1, 2)
    const waiting = queue.write(WRITE)
    append(3)
    await assert.rejects(waiting, isUnavailable)
    assert.deepEqual(queue.health, { isUsable: false, detail: 'database or disk is full' })
    await assert.rejects(queue.write(WRITE), isUnavailable)
    for (let i = 0; i < 3; i++) {
      mock.timers.tick(500)
      await settle()
    }
    assert.deepEqual(writer.transactions, [
      [1, 2],
      [1, 2],
      [1, 2],
      [1, 2],
    ])
    assert.deepEqual([appender.reported, acknowledged], [[], []])
    assert.equal(queue.waitingRows, 3)

    writer.answerOf = stored
    mock.timers.tick(500)
    await settle()
    assert.deepEqual(appender.reported, ['stored 1', 'stored 2', 'stored 3'])
    assert.deepEqual(queue.health, { isUsable: true, detail: null })
    assert.equal(await queue.write(WRITE), 'done')
  } finally {
    mock.timers.reset()
  }
})

test('a write that meets a full disk shows in the health, and a probe finds the disk usable again', async () => {
  mock.timers.enable({ apis: ['setTimeout'] })
  try {
    let usable = 0
    queue.on('usable', () => usable++)
    writer.answerOf = () => DISK_FULL
    await assert.rejects(queue.write(WRITE), isUnavailable)
    assert.deepEqual(queue.health, { isUsable: false, detail: 'database or disk is full' })
    await settle()
    mock.timers.tick(500)
    await settle()
    assert.equal(writer.transactions.length, 2)
    assert.equal(queue.health.isUsable, false)
    writer.answerOf = stored
    mock.timers.tick(500)
    await settle()
    assert.deepEqual([queue.health.isUsable, usable], [true, 1])
    mock.timers.tick(500)
    await settle()
    assert.equal(writer.transactions.length, 3)
  } finally {
    mock.timers.reset()
  }
})

test('a message whose encoding cannot read the store waits and is not rejected', async () => {
  mock.timers.enable({ apis: ['setTimeout'] })
  try {
    const encode = appender.encode.bind(appender)
    appender.encode = () => {
      throw new UnavailableError('the store cannot be read', new SqliteError('disk I/O error', 'SQLITE_IOERR_READ'))
    }
    append(1, 2)
    await settle()
    assert.deepEqual(queue.health, { isUsable: false, detail: 'disk I/O error (SQLITE_IOERR_READ)' })
    appender.encode = encode
    mock.timers.tick(500)
    await settle()
    assert.deepEqual(appender.reported, ['stored 1', 'stored 2'])
    assert.equal(queue.health.isUsable, true)
  } finally {
    mock.timers.reset()
  }
})

test('a disk that does not respond shows in the health and in the responses, until it does', async () => {
  mock.timers.enable({ apis: ['setTimeout'] })
  try {
    const answer = Promise.withResolvers<WriterAnswer>()
    writer.answerOf = () => answer.promise
    const written = queue.write(WRITE)
    append(1)
    await settle()
    mock.timers.tick(10_000)
    await assert.rejects(written, isUnavailable)
    assert.deepEqual(queue.health, { isUsable: false, detail: 'the disk does not answer' })
    writer.answerOf = stored
    answer.resolve({ kind: 'written', result: 'done' })
    await settle()
    assert.deepEqual(acknowledged, [1])
    assert.equal(queue.health.isUsable, true)
  } finally {
    mock.timers.reset()
  }
})

test('a large batch is prepared during the previous write, and stays in order if that fails', async () => {
  mock.timers.enable({ apis: ['setTimeout'] })
  try {
    const first = Promise.withResolvers<WriterAnswer>()
    writer.answerOf = (ids) => (writer.transactions.length === 1 ? first.promise : stored(ids))
    appendRows(1, 900)
    appendRows(2, 900)
    await settle()
    first.resolve(DISK_FULL)
    await settle()
    assert.deepEqual([appender.reported, acknowledged], [[], []])
    mock.timers.tick(500)
    await settle()
    assert.deepEqual(writer.transactions, [[1], [1], [2]])
    assert.deepEqual(appender.reported, ['stored 1', 'stored 2'])
    assert.deepEqual(acknowledged, [1, 2])
    assert.equal(queue.waitingRows, 0)
  } finally {
    mock.timers.reset()
  }
})

test('if the writer dies with messages, the store is faulty and the messages are sent again', async () => {
  mock.timers.enable({ apis: ['setTimeout'] })
  try {
    writer.answerOf = () => Promise.reject(new Error('the writer thread ended'))
    append(1)
    await settle()
    assert.equal(queue.health.isUsable, false)
    writer.answerOf = stored
    mock.timers.tick(500)
    await settle()
    assert.deepEqual(appender.reported, ['stored 1'])
  } finally {
    mock.timers.reset()
  }
})

test('a disk that fills up during the search for a bad message loses no message', async () => {
  mock.timers.enable({ apis: ['setTimeout'] })
  try {
    let isFull = false
    writer.answerOf = (ids) => {
      if (isFull) return DISK_FULL
      if (!holds(ids, 2)) return stored(ids)
      isFull = ids.length === 1
      return BAD_ROW
    }
    append(1, 2, 3)
    await settle()
    assert.deepEqual(appender.reported, ['stored 1', 'refused 2: datatype mismatch'])
    isFull = false
    mock.timers.tick(500)
    await settle()
    assert.deepEqual(appender.reported.slice(2), ['stored 3'])
  } finally {
    mock.timers.reset()
  }
})

test('a rejected write has the error of its rule, distinct from other failures', async () => {
  const refusal = { kind: 'conflict', code: 'last_admin', message: 'no' } as const
  writer.answerOf = () => ({ kind: 'refused', error: refusal })
  await assert.rejects(queue.write(WRITE), { name: 'AppError', ...refusal })
  writer.answerOf = () => Promise.reject(new Error('the writer thread ended'))
  await assert.rejects(queue.write(WRITE), isUnavailable)
  assert.equal(queue.health.isUsable, true)
  writer.answerOf = () => BAD_ROW
  await assert.rejects(queue.write(WRITE), (error) => error instanceof Error && !(error instanceof AppError))
  writer.answerOf = stored
  assert.equal(await queue.write(WRITE), 'done')
})

test('a full queue reports that it is full, and emits one event when there is room again', async () => {
  fresh(3)
  let reported = 0
  queue.on('room', () => reported++)
  append(1, 2)
  assert.equal(queue.isFull, false)
  append(3, 4)
  assert.equal(queue.isFull, true)
  await settle()
  assert.equal(queue.isFull, false)
  assert.equal(reported, 1)
})

test('stopping stores the queued messages and accepts no more writes', async () => {
  append(1, 2)
  const written = queue.write(WRITE)
  const stopped = queue.stop()
  await assert.rejects(queue.write(WRITE), isUnavailable)
  await stopped
  assert.equal(await written, 'done')
  assert.deepEqual(appender.reported, ['stored 1', 'stored 2'])
  await queue.stop()
})

test('stopping with an unusable store ends without reporting any message as stored', async () => {
  writer.answerOf = () => DISK_FULL
  append(1, 2)
  await settle()
  await queue.stop()
  assert.deepEqual([appender.reported, acknowledged], [[], []])
})

test('a batch that cannot be encoded is not overtaken by later ones', async () => {
  const encode = appender.encode.bind(appender)
  appender.encode = (messages) => {
    if (messages.some(({ id }) => id === 1)) throw new Error('no rows can be made of this')
    return encode(messages)
  }
  for (let id = 1; id <= 5; id++) appendRows(id, 600)
  await settle()
  assert.deepEqual(appender.reported, [
    'refused 1: no rows can be made of this',
    ...[2, 3, 4, 5].map((id) => `stored ${id}`),
  ])
  assert.deepEqual(acknowledged, [2, 3, 4, 5])
  assert.deepEqual(writer.transactions, [[2], [3], [4], [5]])
})

test('an error in a handler of stored messages does not stop the queue', async () => {
  appender.committed = () => {
    throw new Error('stumbled')
  }
  appender.announce = () => {
    throw new Error('stumbled')
  }
  queue.append({
    id: 1,
    rows: 1,
    sessionChanges: [],
    onRefused: () => undefined,
    onStored: () => {
      throw new Error('gone')
    },
  })
  append(2)
  await settle()
  append(3)
  await settle()
  assert.deepEqual(acknowledged, [2, 3])
  assert.equal(queue.waitingRows, 0)
})
