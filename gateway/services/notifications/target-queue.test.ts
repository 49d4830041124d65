import assert from 'node:assert/strict'
import { afterEach, describe, test } from 'node:test'
import { FakeClock } from '#shared/testing/clocks.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '#shared/time.ts'
import type { ClockFault } from '../clock/gateway-clock.ts'
import { UnknownOutcome } from './retries.ts'
import type { Outgoing, Sending } from './target.ts'
import { TargetQueue } from './target-queue.ts'

interface Attempt {
  /** Delivery ids of the attempt. */
  ids: string[]
  isLate: boolean
  succeed(): Promise<void>
  fail(reason?: string, of?: object): Promise<void>
  failWith(error: Error): Promise<void>
}

const queues = new Set<TargetQueue>()
afterEach(async () => {
  for (const queue of queues) await queue.stop()
  queues.clear()
})

/** Target whose attempts the test ends, with a store in memory. */
class Bench {
  readonly clock = Object.assign(new FakeClock(), {
    doubt: null as ClockFault | null,
    confirmedMs: Number.POSITIVE_INFINITY,
  })
  readonly attempts: Attempt[] = []
  readonly settled: [how: string, ids: string[]][] = []
  readonly failures: { reason: string; isFirst: boolean; isNew: boolean }[] = []
  readonly ids = new Map<number, string>()
  readonly queue: TargetQueue
  isStoreGone = false
  #seq = 0

  constructor(waitMs: number | null = null) {
    const send = (outgoing: readonly Outgoing[], sending: Sending) => this.#send(outgoing, sending)
    this.queue = new TargetQueue(
      { targetId: 't', channel: 'webhook', waitMs, attemptMs: 60_000, send },
      { lastSuccessAtMs: null, lastError: null },
      {
        clock: this.clock,
        random: () => 0.5,
        mayBegin: () => true,
        texts: (seqs) => {
          if (this.isStoreGone) throw new Error('no disk')
          const known = [...this.ids].filter(([seq]) => seqs.includes(seq))
          return new Map(known.map(([seq, deliveryId]) => [seq, { deliveryId, body: '{}' }]))
        },
        settled: (_, seqs, how) => {
          this.settled.push([how, seqs.map((seq) => this.ids.get(seq) ?? '')])
          for (const seq of seqs) this.ids.delete(seq)
        },
        failed: (_, reason, how) => this.failures.push({ reason, ...how }),
      },
    )
    queues.add(this.queue)
    this.queue.start()
  }

  /** Ids of messages that were sent and have no response, oldest first. */
  get open(): string[][] {
    return this.attempts.map(({ ids }) => ids)
  }

  add(deliveryId: string, alertId: string | null = deliveryId, agoMs = 0): number {
    const seq = ++this.#seq
    this.ids.set(seq, deliveryId)
    const queuedAtMs = this.clock.nowMs() - agoMs
    this.queue.add({ seq, alertId, queuedAtMs })
    this.queue.run()
    return seq
  }

  /** Advances time. */
  pass(ms: number): void {
    this.clock.advance(ms)
    this.queue.run()
  }

  forget(seq: number, alertId: string): void {
    this.ids.delete(seq)
    this.queue.keepOnly(alertId, new Set(this.ids.keys()))
  }

  #send(outgoing: readonly Outgoing[], { isLate, signal }: Sending): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    signal.addEventListener('abort', () => reject(new Error('aborted')))
    const end = async (how: () => void) => {
      this.attempts.splice(this.attempts.indexOf(attempt), 1)
      how()
      await new Promise(setImmediate)
    }
    const attempt: Attempt = {
      ids: outgoing.map(({ deliveryId }) => deliveryId),
      isLate,
      succeed: () => end(resolve),
      fail: (reason = 'broken', of = {}) => end(() => reject(Object.assign(new Error(reason), of))),
      failWith: (error) => end(() => reject(error)),
    }
    this.attempts.push(attempt)
    return promise
  }
}

async function succeed(bench: Bench): Promise<void> {
  await (bench.attempts[0] ?? assert.fail('nothing is sent')).succeed()
}

async function fail(bench: Bench, reason?: string): Promise<void> {
  await (bench.attempts[0] ?? assert.fail('nothing is sent')).fail(reason)
}

describe('a webhook', () => {
  test('is sent an alert immediately', async () => {
    const bench = new Bench()
    bench.add('a')
    assert.deepEqual([bench.open, bench.queue.waiting], [[['a']], 1])
    await succeed(bench)
    assert.deepEqual([bench.settled, bench.queue.waiting], [[['delivered', ['a']]], 0])
    assert.deepEqual(bench.queue.status, { lastSuccessAtMs: bench.clock.nowMs(), lastError: null })
  })

  test('is sent the messages of one alert in order, and other alerts meanwhile', async () => {
    const bench = new Bench()
    for (const event of ['opened', 'acknowledged', 'closed']) bench.add(`1 ${event}`, '1')
    bench.add('2 opened', '2')
    assert.deepEqual(bench.open, [['1 opened'], ['2 opened']])
    await fail(bench)
    assert.deepEqual(bench.open, [['2 opened']])
    await succeed(bench)
    bench.pass(1000)
    assert.deepEqual(bench.open, [['1 opened']])
    await succeed(bench)
    assert.deepEqual(bench.open, [['1 acknowledged']])
    await succeed(bench)
    await succeed(bench)
    const shown = bench.settled.flatMap(([, ids]) => ids)
    assert.deepEqual(shown, ['2 opened', '1 opened', '1 acknowledged', '1 closed'])
    // its alert is forgotten, and may come again
    bench.add('1 again', '1')
    assert.deepEqual(bench.open, [['1 again']])
  })

  test('is sent four alerts at a time, and tests in addition', async () => {
    const bench = new Bench()
    for (let i = 1; i <= 9; i++) bench.add(`${i}`)
    assert.equal(bench.open.length, 4)
    bench.add('test', null)
    assert.deepEqual(bench.open.at(-1), ['test'])
    while (bench.open.length > 0) await succeed(bench)
    assert.equal(bench.settled.length, 10)
  })

  test('that cannot be reached is tried for four alerts each half second until it can', async () => {
    const bench = new Bench()
    for (let i = 1; i <= 500; i++) bench.add(`${i}`)
    let attempts = 0
    const tryAll = async () => {
      for (; bench.open.length > 0; attempts++) await bench.attempts[0]?.fail('gone', { syscall: 'connect' })
    }
    await tryAll()
    for (let i = 0; i < 99; i++) {
      bench.pass(100)
      await tryAll()
    }
    assert.equal(attempts, 4 * 20)
    bench.pass(100)
    assert.equal(bench.open.length, 4)
    while (bench.open.length > 0) await succeed(bench)
    // except those that wait for their own next attempt
    assert.ok(bench.settled.length > 500 - 4 * 20)
    bench.pass(MINUTE_MS)
    while (bench.open.length > 0) await succeed(bench)
    assert.equal(bench.settled.length, 500)
  })

  test('is tried again after 1, 2, 4 … 600 seconds, for a day', async () => {
    const bench = new Bench()
    bench.add('a')
    let [failures, passedMs] = [0, 0]
    for (let waitMs = 1000; passedMs < DAY_MS; waitMs = Math.min(600_000, waitMs * 2)) {
      await fail(bench)
      failures++
      bench.pass(waitMs - 1)
      assert.deepEqual(bench.open, [], `${waitMs}`)
      bench.pass(1)
      passedMs += waitMs
      if (passedMs < DAY_MS) assert.deepEqual(bench.open, [['a']], `${waitMs}`)
    }
    assert.deepEqual([bench.open, bench.settled, bench.queue.waiting], [[], [['dropped', ['a']]], 0])
    assert.ok(failures > 140 && failures < 160, `${failures}`)
  })

  test('is sent later messages after an earlier one is given up', async () => {
    const bench = new Bench()
    bench.add('a opened', 'a')
    await fail(bench)
    bench.pass(DAY_MS - HOUR_MS)
    bench.add('a closed', 'a')
    await fail(bench)
    bench.pass(HOUR_MS)
    assert.deepEqual([bench.settled, bench.open], [[['dropped', ['a opened']]], [['a closed']]])
  })

  test('counts the day of retries from queueing, also after a start', () => {
    const bench = new Bench()
    bench.add('old', 'old', DAY_MS)
    bench.add('new', 'new', DAY_MS - 1000)
    assert.deepEqual([bench.settled, bench.open], [[['dropped', ['old']]], [['new']]])
  })

  test('drops nothing as too old by a doubtful clock or after a jump ahead', async () => {
    const bench = new Bench()
    bench.add('a')
    await fail(bench)
    bench.clock.set(bench.clock.nowMs() + 40 * DAY_MS)
    bench.pass(1000)
    assert.deepEqual(bench.open, [['a']])
    bench.clock.doubt = 'ahead'
    bench.add('b', 'b', 10 * DAY_MS)
    assert.deepEqual(bench.open, [['a'], ['b']])
  })

  test('drops nothing as too old by a clock that started ahead and is not confirmed', () => {
    const bench = new Bench()
    const queuedMs = bench.clock.nowMs()
    bench.clock.set(queuedMs + 20 * DAY_MS)
    bench.clock.confirmedMs = queuedMs + 60_000
    bench.add('a', 'a', 20 * DAY_MS)
    assert.deepEqual([bench.settled, bench.open], [[], [['a']]])
  })

  test('reports why it failed and when that changed', async () => {
    const bench = new Bench()
    bench.add('a')
    for (const reason of ['x', 'x', 'y']) {
      await fail(bench, reason)
      bench.pass(10_000)
    }
    assert.equal(bench.queue.status.lastError, 'y')
    await succeed(bench)
    assert.equal(bench.queue.status.lastError, null)
    bench.add('b')
    await fail(bench, 'y'.repeat(5000))
    const shown = bench.failures.map(({ isFirst, isNew }) => [isFirst, isNew])
    assert.deepEqual(shown, [
      [true, true],
      [false, false],
      [false, true],
      [true, true],
    ])
    assert.equal(bench.failures.at(-1)?.reason.length, 200)
  })

  test('waits for an unreadable store and does not count that as a failure of the target', async () => {
    const bench = new Bench()
    bench.isStoreGone = true
    bench.add('a')
    assert.deepEqual([bench.open, bench.failures], [[], []])
    bench.isStoreGone = false
    bench.pass(1000)
    assert.deepEqual(bench.open, [['a']])
  })

  test('keeps the newest 10,000', async () => {
    const bench = new Bench()
    for (let i = 0; i < 10_010; i++) bench.add(`${i}`)
    assert.equal(bench.queue.waiting, 10_000)
    assert.deepEqual(bench.settled[0], ['dropped', ['4']])
    assert.equal(bench.settled.length, 10)
  })

  test('retries automatically', async () => {
    const bench = new Bench()
    bench.add('a')
    await fail(bench)
    bench.clock.advance(1000)
    await eventually(() => bench.open.length === 1, 'the second attempt')
  })

  test('ends requests under way when it stops', async () => {
    const bench = new Bench()
    bench.add('a')
    await bench.queue.stop()
    await bench.queue.stop()
    assert.deepEqual([bench.settled, bench.failures, bench.queue.waiting], [[], [], 1])
  })
})

describe('a notifier', () => {
  test('sends one message for all alerts opened within 30 seconds', async () => {
    const bench = new Bench(30_000)
    bench.add('a')
    bench.pass(29_999)
    bench.add('b')
    assert.deepEqual(bench.open, [])
    bench.pass(1)
    assert.deepEqual(bench.open, [['a', 'b']])
    bench.add('c')
    await succeed(bench)
    bench.pass(29_999)
    assert.deepEqual(bench.open, [])
    bench.pass(1)
    assert.deepEqual(bench.open, [['c']])
    await succeed(bench)
    assert.deepEqual([bench.settled.length, bench.queue.waiting], [2, 0])
  })

  test('waits for an acknowledgement until its delay has passed', async () => {
    const bench = new Bench(10 * MINUTE_MS)
    const a = bench.add('a')
    bench.pass(20_000)
    bench.add('b')
    bench.pass(20_000)
    bench.add('c')
    // without their first message they are grouped differently: b and c share one
    bench.forget(a, 'a')
    assert.equal(bench.queue.waiting, 2)
    bench.pass(10 * MINUTE_MS - 20_001)
    assert.deepEqual(bench.open, [])
    bench.pass(1)
    assert.deepEqual(bench.open, [['b', 'c']])
  })

  test('leaves out alerts that no longer need a message', async () => {
    const bench = new Bench(30_000)
    for (const id of ['a', 'b']) bench.ids.delete(bench.add(id))
    bench.add('c')
    bench.pass(30_000)
    assert.deepEqual([bench.open, bench.queue.waiting], [[['c']], 1])
  })

  test('retries a failed message as a whole, and other messages do not wait for it', async () => {
    const bench = new Bench(30_000)
    bench.add('a')
    bench.add('b')
    bench.pass(30_000)
    await fail(bench)
    bench.add('c')
    bench.pass(1000)
    assert.deepEqual(bench.open, [['a', 'b']])
    await fail(bench)
    bench.pass(29_000)
    const shown = bench.open.map(([first]) => first)
    assert.deepEqual(shown, ['a', 'c'])
    await succeed(bench)
    await succeed(bench)
    assert.equal(bench.queue.waiting, 0)
  })

  test('is late five minutes after its time', async () => {
    const bench = new Bench(30_000)
    bench.add('a')
    bench.pass(30_000)
    assert.equal(bench.attempts[0]?.isLate, false)
    await fail(bench)
    bench.pass(5 * MINUTE_MS)
    assert.equal(bench.attempts[0]?.isLate, false)
    await fail(bench)
    bench.pass(2000)
    assert.equal(bench.attempts[0]?.isLate, true)
  })

  test('is late after a long stop, and does not wait longer because a clock was set back', () => {
    const bench = new Bench(30_000)
    bench.add('a', 'a', 30_000 + 5 * MINUTE_MS + 1)
    assert.deepEqual([bench.attempts[0]?.ids, bench.attempts[0]?.isLate], [['a'], true])
    bench.add('b', 'b', -HOUR_MS)
    bench.pass(30_000)
    assert.deepEqual(bench.open, [['a'], ['b']])
  })

  test('sends a test immediately and as a message of its own', () => {
    const bench = new Bench(HOUR_MS)
    bench.add('a')
    bench.add('test', null)
    bench.add('again', null)
    assert.deepEqual(bench.open, [['test'], ['again']])
  })
})

test('an attempt ends by its own timer, and a stop does not wait for it', async () => {
  for (const attemptMs of [20, 60_000]) {
    let begun = 0
    const failures: string[] = []
    const queue = new TargetQueue(
      {
        targetId: 't',
        channel: 'webhook',
        waitMs: null,
        attemptMs,
        send: () => {
          begun++
          return new Promise(() => undefined)
        },
      },
      { lastSuccessAtMs: null, lastError: null },
      {
        clock: Object.assign(new FakeClock(), { doubt: null, confirmedMs: Number.POSITIVE_INFINITY }),
        random: () => 0.5,
        mayBegin: () => true,
        texts: () => new Map([[1, { deliveryId: 'a', body: '{}' }]]),
        settled: () => assert.fail('nothing is delivered'),
        failed: (_, reason) => failures.push(reason),
      },
    )
    queue.start()
    queue.add({ seq: 1, alertId: 'a', queuedAtMs: new FakeClock().nowMs() })
    await eventually(() => begun === 1, 'the attempt')
    if (attemptMs === 20) {
      await eventually(() => failures.length === 1, 'the end of the attempt')
      assert.deepEqual(failures, ['no answer within 0.02 s; it may have been delivered'])
    }
    const startedAtMs = performance.now()
    await queue.stop()
    assert.ok(performance.now() - startedAtMs < 5_000)
  }
})

test('a message that may have been delivered is retried after a minute, a refused one after a second', async () => {
  const bench = new Bench()
  bench.add('a')
  await (bench.attempts[0] ?? assert.fail()).failWith(new UnknownOutcome('no answer'))
  assert.match(bench.queue.status.lastError ?? '', /it may have been delivered/)
  bench.pass(59_000)
  assert.deepEqual(bench.open, [])
  bench.pass(2_000)
  assert.deepEqual(bench.open, [['a']])
  await succeed(bench)
  bench.add('b')
  await fail(bench)
  bench.pass(1_000)
  assert.deepEqual(bench.open, [['b']])
})
