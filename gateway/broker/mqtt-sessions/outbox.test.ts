import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { createEntry, Outbox, type OutboxEntry, type OutboxLimits, type OutboxSink } from './outbox.ts'
import { QueueShares } from './queue-shares.ts'

const LIMITS: OutboxLimits = { inFlight: 3, messages: 8, bytes: 1_000_000 }

/** Connection that keeps what it is sent. */
class KeepingSink implements OutboxSink {
  readonly sent: number[] = []
  readonly isDup: boolean[] = []
  readonly released: number[] = []
  isBusy = false

  hasRoom(): boolean {
    return !this.isBusy
  }

  sendPublish({ seq, wasSent }: OutboxEntry): void {
    this.sent.push(seq)
    this.isDup.push(wasSent)
  }

  sendRelease(packetId: number): void {
    this.released.push(packetId)
  }
}

function create(limits = LIMITS) {
  const totals = new QueueShares<Outbox>()
  const dropped: number[] = []
  const outbox = new Outbox(limits, 'owner', totals, ({ seq }) => dropped.push(seq))
  let seq = 0
  const push = (qos = 1, payload = 'x') => {
    const message = { topic: 'a', payload, qos, isRetained: false, extra: null }
    const entry = createEntry(message, outbox.reservePacketId(), ++seq)
    outbox.push(entry)
    return entry
  }
  return { outbox, totals, dropped, push }
}

const seqs = (outbox: Outbox) => [...outbox.entries()].map(({ seq }) => seq)

describe('the window', () => {
  test('is never exceeded, and continues in order with each acknowledgement', () => {
    const { outbox, push } = create()
    const sink = new KeepingSink()
    outbox.attach(sink)
    const entries = Array.from({ length: 6 }, () => push())
    assert.deepEqual(sink.sent, [1, 2, 3])
    for (const { packetId } of entries) outbox.acknowledge(packetId, false)
    assert.deepEqual(sink.sent, [1, 2, 3, 4, 5, 6])
    assert.equal(outbox.inFlightCount, 0)
  })

  test('is free for the remaining messages when those in it are removed', () => {
    const { outbox, push } = create()
    const sink = new KeepingSink()
    outbox.attach(sink)
    const entries = Array.from({ length: 5 }, () => push())
    for (const entry of entries.slice(0, 3)) outbox.remove(entry)
    outbox.pump()
    assert.deepEqual(sink.sent, [1, 2, 3, 4, 5])
  })

  test('waits until the client has read', () => {
    const { outbox, push } = create()
    const sink = new KeepingSink()
    sink.isBusy = true
    outbox.attach(sink)
    push()
    assert.deepEqual(sink.sent, [])
    sink.isBusy = false
    outbox.pump()
    assert.deepEqual(sink.sent, [1])
  })
})

describe('a new connection', () => {
  test('receives all unacknowledged messages again, as duplicates with the same packet identifiers', () => {
    const { outbox, push } = create()
    const first = new KeepingSink()
    outbox.attach(first)
    const [one, two] = [push(), push(2)]
    outbox.markReleased(two.packetId)
    outbox.detach(first)
    push()
    const second = new KeepingSink()
    outbox.attach(second)
    assert.deepEqual(second.sent, [1, 3])
    assert.deepEqual(second.isDup, [true, false])
    assert.deepEqual(second.released, [two.packetId])
    assert.equal(outbox.get(one.packetId), one)
  })

  test('stays attached when the previous one ends', () => {
    const { outbox, push } = create()
    const [first, second] = [new KeepingSink(), new KeepingSink()]
    outbox.attach(first)
    outbox.attach(second)
    outbox.detach(first)
    push()
    assert.deepEqual(second.sent, [1])
  })
})

describe('an acknowledgement', () => {
  const { outbox, push } = create()
  const [first, second] = [new KeepingSink(), new KeepingSink()]
  outbox.attach(first)
  const { packetId } = push(2)

  test('is checked against the messages sent on its own connection', () => {
    assert.equal(outbox.isExpected(first, 'pubcomp', packetId), false)
    assert.equal(outbox.isExpected(first, 'pubrec', packetId), true)
    assert.equal(outbox.isExpected(first, 'pubcomp', packetId), true)
    outbox.attach(second)
    // the previous connection was taken over, and the next one is sent the message again
    assert.equal(outbox.isExpected(first, 'puback', packetId), true)
    assert.equal(outbox.isExpected(second, 'pubcomp', packetId), false)
  })

  test('is not checked for a message that has not been sent yet', () => {
    second.isBusy = true
    const waiting = push(1)
    assert.equal(outbox.isExpected(second, 'pubcomp', waiting.packetId), true)
  })
})

describe('a full queue', () => {
  test('drops the oldest message of a client that is away', () => {
    const { outbox, push, dropped } = create()
    for (let i = 0; i < 10; i++) push()
    assert.deepEqual(dropped, [1, 2])
    assert.deepEqual(seqs(outbox), [3, 4, 5, 6, 7, 8, 9, 10])
  })

  test('drops the oldest unsent message of a connected client', () => {
    const { outbox, push, dropped } = create()
    outbox.attach(new KeepingSink())
    for (let i = 0; i < 10; i++) push()
    assert.deepEqual(dropped, [4, 5])
  })

  test('drops by size as well', () => {
    const { outbox, push, dropped } = create({ ...LIMITS, bytes: 2000 })
    for (let i = 0; i < 3; i++) push(1, 'x'.repeat(600))
    assert.deepEqual(dropped, [1])
    assert.ok(outbox.byteCount <= 2000)
  })

  test('holds no reference to messages dropped while the client is away', async () => {
    const { outbox, push } = create()
    const refs = Array.from({ length: 1000 }, () => new WeakRef(push().message))
    await collectGarbage()
    assert.ok(refs.filter((ref) => ref.deref() !== undefined).length <= 10)
    assert.equal(outbox.messageCount, 8)
  })
})

async function collectGarbage(): Promise<void> {
  const { setFlagsFromString } = await import('node:v8')
  const { runInNewContext } = await import('node:vm')
  setFlagsFromString('--expose-gc')
  await new Promise(setImmediate)
  runInNewContext('gc')()
}

describe('a sender that can wait', () => {
  test('is called back when half of the queue is free', async () => {
    const { outbox, push } = create()
    outbox.attach(new KeepingSink())
    const entries = Array.from({ length: 6 }, () => push())
    let isCalled = false
    outbox.whenHalfFree(() => {
      isCalled = true
    })
    outbox.acknowledge(entries[0]?.packetId ?? 0, false)
    await new Promise(setImmediate)
    assert.equal(isCalled, false)
    outbox.acknowledge(entries[1]?.packetId ?? 0, false)
    await new Promise(setImmediate)
    assert.equal(isCalled, true)
  })

  test('is called back when the connection ends, and immediately if there is no connection', async () => {
    const { outbox, push } = create()
    const sink = new KeepingSink()
    outbox.attach(sink)
    for (let i = 0; i < 8; i++) push()
    const called = new Promise<void>((resolve) => outbox.whenHalfFree(resolve))
    outbox.detach(sink)
    await called
    let isCalled = false
    outbox.whenHalfFree(() => {
      isCalled = true
    })
    assert.ok(isCalled)
  })
})

test('a packet identifier is in use once, and each becomes available again', () => {
  const { outbox, push } = create()
  const kept = push()
  const reserved = outbox.reservePacketId()
  const seen = new Set<number>()
  for (let i = 0; i < 65_535 - 2; i++) {
    const packetId = outbox.reservePacketId()
    seen.add(packetId)
    outbox.releasePacketId(packetId)
  }
  assert.equal(seen.size, 65_533)
  assert.ok(!seen.has(kept.packetId) && !seen.has(reserved) && !seen.has(0))
  outbox.releasePacketId(reserved)
  assert.notEqual(outbox.reservePacketId(), kept.packetId)
})

type Step =
  | { kind: 'push'; qos: 1 | 2; isHeavy: boolean }
  | { kind: 'ack' | 'release' | 'remove'; at: number; isCompletion: boolean }
  | { kind: 'attach' | 'detach' | 'busy' | 'read' }

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constant('push' as const),
    qos: fc.constantFrom(1 as const, 2 as const),
    isHeavy: fc.boolean(),
  }),
  fc.record({
    kind: fc.constantFrom('ack' as const, 'release' as const, 'remove' as const),
    at: fc.nat(9),
    isCompletion: fc.boolean(),
  }),
  fc.record({
    kind: fc.constantFrom('attach' as const, 'detach' as const, 'busy' as const, 'read' as const),
  }),
)

test('order, window, identifiers and totals hold after any sequence of events', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), (history) => {
      const { outbox, totals, push } = create({ inFlight: 3, messages: 8, bytes: 3000 })
      let sink: KeepingSink | undefined
      for (const each of history) {
        if (each.kind === 'push') push(each.qos, each.isHeavy ? 'x'.repeat(500) : 'x')
        else if (each.kind === 'attach') {
          sink = new KeepingSink()
          outbox.attach(sink)
        } else if (each.kind === 'detach' && sink !== undefined) {
          outbox.detach(sink)
          sink = undefined
        } else if (each.kind === 'busy' && sink !== undefined) sink.isBusy = true
        else if (each.kind === 'read' && sink !== undefined) {
          sink.isBusy = false
          outbox.pump()
        } else if ('at' in each) {
          const entry = [...outbox.entries()][each.at]
          if (entry === undefined) continue
          if (each.kind === 'ack') outbox.acknowledge(entry.packetId, each.isCompletion)
          else if (each.kind === 'release') outbox.markReleased(entry.packetId)
          else {
            outbox.remove(entry)
            outbox.pump()
          }
        }
        const entries = [...outbox.entries()]
        const order = entries.map(({ seq }) => seq)
        assert.deepEqual(
          order,
          [...order].sort((a, b) => a - b),
        )
        assert.equal(new Set(entries.map(({ packetId }) => packetId)).size, entries.length)
        assert.ok(entries.length <= 8 + 1)
        assert.equal(totals.messages, entries.length)
        assert.equal(
          totals.bytes,
          entries.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
        )
        assert.equal(outbox.byteCount, totals.bytes)
        if (sink === undefined) continue
        assert.ok(outbox.inFlightCount <= 3)
        assert.equal(outbox.inFlightCount, entries.filter(({ isInFlight }) => isInFlight).length)
        assert.deepEqual(
          sink.sent,
          [...new Set(sink.sent)].sort((a, b) => a - b),
        )
        // no message waits without a reason
        const isWaiting = entries.some(({ isInFlight }) => !isInFlight)
        assert.ok(!isWaiting || sink.isBusy || outbox.inFlightCount === 3)
      }
    }),
    { numRuns: 500 },
  )
})
