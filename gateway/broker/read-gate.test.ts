import assert from 'node:assert/strict'
import { Duplex, PassThrough } from 'node:stream'
import { test } from 'node:test'
import fc from 'fast-check'
import { eventually } from '#shared/testing/eventually.ts'
import { ReadGate } from './read-gate.ts'

/** Reads a stream as the broker does: one read for each `readable`, the next after its bytes were processed. */
function consume(gate: ReadGate, stream: Duplex, onChunk: (chunk: Buffer) => void): void {
  gate.guard(stream)
  const readNext = () => {
    const chunk: Buffer | null = stream.read()
    if (chunk === null) return
    onChunk(chunk)
    setImmediate(readNext)
  }
  stream.on('readable', readNext)
}

function busyFor(ms: number): void {
  const endsAtMs = performance.now() + ms
  while (performance.now() < endsAtMs) {
    // as parsing would
  }
}

/** Stream that always has more to read. */
class Flood extends Duplex {
  override _read(): void {
    this.push(Buffer.alloc(16_384))
  }

  override _write(_chunk: Buffer, _encoding: string, done: () => void): void {
    done()
  }
}

test('every byte is delivered once and in order, however it is split and whenever the gate closes', async () => {
  const chunk = fc.oneof(
    fc.uint8Array({ minLength: 1, maxLength: 3000 }),
    // more than one read takes
    fc.integer({ min: 8000, max: 20_000 }).map((length) => new Uint8Array(length).fill(length)),
  )
  const chunks = fc.array(chunk, { maxLength: 20 })
  const scenario = fc.record({
    streams: fc.array(chunks, { minLength: 1, maxLength: 8 }),
    shuts: fc.array(fc.boolean(), { maxLength: 30 }),
  })
  await fc.assert(
    fc.asyncProperty(scenario, async ({ streams, shuts }) => {
      let isBlocked = false
      const gate = new ReadGate(() => isBlocked)
      const received = streams.map((): Buffer[] => [])
      const ends = streams.map((sent, i) => {
        const stream = new PassThrough()
        consume(gate, stream, (chunk) => received[i]?.push(chunk))
        const end = new Promise((resolve) => stream.on('end', resolve))
        void (async () => {
          for (const chunk of sent) {
            stream.write(chunk)
            if (chunk.length % 2 === 0) await new Promise(setImmediate)
          }
          stream.end()
        })()
        return end
      })
      for (const isShut of shuts) {
        isBlocked = isShut
        if (!isShut) gate.open()
        await new Promise(setImmediate)
      }
      isBlocked = false
      gate.open()
      await Promise.all(ends)
      assert.deepEqual(
        received.map((parts) => Buffer.concat(parts).toString('hex')),
        streams.map((parts) => Buffer.concat(parts).toString('hex')),
      )
      await eventually(() => gate.waitingConnections === 0, 'nobody waits')
    }),
    { numRuns: 100 },
  )
})

test('reading stops while the gate is closed and resumes when it opens', async () => {
  let isBlocked = true
  const gate = new ReadGate(() => isBlocked)
  const received: string[] = []
  const streams = Array.from({ length: 10 }, (_, i) => {
    const stream = new PassThrough()
    consume(gate, stream, (chunk) => received.push(`${i}:${chunk}`))
    stream.write('hello')
    return stream
  })
  for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate)
  assert.deepEqual(received, [])
  assert.equal(gate.waitingConnections, 10)
  isBlocked = false
  gate.open()
  await eventually(() => received.length === 10, 'all read')
  assert.deepEqual(
    received,
    streams.map((_, i) => `${i}:hello`),
  )
  assert.equal(gate.waitingConnections, 0)
})

test('a flood on some streams starves neither another stream nor the event loop', async () => {
  const gate = new ReadGate(() => false)
  let floodReads = 0
  const floods = Array.from({ length: 20 }, () => {
    const flood = new Flood()
    consume(gate, flood, () => {
      floodReads++
      busyFor(1)
    })
    return flood
  })
  const quiet = new PassThrough()
  let isRead = false
  consume(gate, quiet, () => {
    isRead = true
  })
  const readsBefore: number[] = []
  let mostReadsInATurn = 0
  for (let round = 0; round < 20; round++) {
    isRead = false
    const readsAtStart = floodReads
    quiet.write('x')
    while (!isRead) {
      const readsAtTurn = floodReads
      await new Promise(setImmediate)
      mostReadsInATurn = Math.max(mostReadsInATurn, floodReads - readsAtTurn)
    }
    readsBefore.push(floodReads - readsAtStart)
  }
  for (const flood of floods) flood.destroy()
  // twenty floods wait before it: at most one round of all of them
  assert.ok(Math.max(...readsBefore) <= 30, `reads before it: ${readsBefore}`)
  assert.ok(floodReads >= 20, 'the floods go on too')
  // an event-loop tick has 1 ms, a read takes 1 ms
  assert.ok(mostReadsInATurn <= 6, `${mostReadsInATurn} reads in one turn`)
})

test('data beyond one portion is read in turns, even if the reader does not request the rest', async () => {
  const gate = new ReadGate(() => false)
  const stream = new PassThrough({ highWaterMark: 100_000 })
  gate.guard(stream)
  const portions: number[] = []
  let askedInBetween: unknown = null
  stream.on('readable', () => {
    const portion: Buffer | null = stream.read()
    if (portion === null) return
    portions.push(portion.length)
    // as Aedes does when a message is completed while the parser still works on the portion
    askedInBetween ??= stream.read()
  })
  stream.write(Buffer.alloc(50_000))
  const total = () => portions.reduce((sum, length) => sum + length, 0)
  await eventually(() => total() === 50_000, 'all read')
  assert.ok(Math.max(...portions) <= 8192, `${portions}`)
  assert.equal(askedInBetween, null)
  assert.equal(gate.waitingConnections, 0)
})

test('a stream whose turn has come is read, even if the time slice ran out meanwhile', async () => {
  const gate = new ReadGate(() => false)
  const order: string[] = []
  const streams = ['first', 'slow', 'last'].map((name) => {
    const stream = new PassThrough()
    if (name === 'slow') stream.on('readable', () => busyFor(3))
    consume(gate, stream, () => {
      order.push(name)
      if (name === 'first') busyFor(3)
    })
    return stream
  })
  for (const stream of streams) stream.write('x')
  await eventually(() => order.length === 3, 'all are read')
  assert.deepEqual(order, ['first', 'slow', 'last'])
})

test('a stream destroyed while it waits is released', async () => {
  let isBlocked = true
  const gate = new ReadGate(() => isBlocked)
  const gone = new PassThrough()
  let reads = 0
  consume(gate, gone, () => reads++)
  gone.write('x')
  await eventually(() => gate.waitingConnections === 1, 'waiting')
  gone.destroy()
  isBlocked = false
  gate.open()
  await eventually(() => gate.waitingConnections === 0, 'let go')
  assert.equal(reads, 0)
})

test('a stream that is held for long is read a little now and then, so that a ping gets through', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const gate = new ReadGate(() => false)
  const stream = new PassThrough()
  gate.guard(stream, () => 60_000)
  let bytes = 0
  stream.on('readable', () => {
    const chunk: Buffer | null = stream.read()
    bytes += chunk?.length ?? 0
  })
  stream.write(Buffer.alloc(4_000))
  const turns = async () => {
    for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate)
  }
  await turns()
  assert.equal(bytes, 0)
  for (const expected of [512, 1_024, 1_536]) {
    t.mock.timers.tick(4_999)
    await turns()
    assert.equal(bytes, expected - 512)
    t.mock.timers.tick(1)
    await turns()
    assert.equal(bytes, expected)
  }
})
