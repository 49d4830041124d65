import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, type TestContext, test } from 'node:test'
import type { Caller } from '#domain/access.ts'
import { createLog } from '#shared/log.ts'
import { eventually } from '#shared/testing/eventually.ts'
import type { ServerMessage } from '#shared/wire/realtime.ts'
import { Channels, type Received } from '#testing/channels.ts'
import { loginOf } from '#testing/login-of.ts'
import { RealtimeConnection, WEB_SOCKET_SETTINGS } from './connection.ts'
import { FanOut, type MaskedMessage } from './fan-out.ts'

const ADMIN: Caller = { userId: 'admin', role: 'admin', allowedHardwareIds: null }
const EVERYTHING = '*'
/** Duration longer than the test. */
const NEVER = 3_600_000

type Limits = ConstructorParameters<typeof FanOut>[0]['limits']

/** Starts a fan-out to real sockets; it does not write to them a second time unless the limits permit it. */
async function start(t: TestContext, limits: Limits = {}) {
  const errors: unknown[] = []
  const given: RealtimeConnection[] = []
  const fanOut = new FanOut({
    log: createLog('error', { write: (line) => void errors.push(line) }),
    onExcess: (connection) => {
      given.push(connection)
      connection.terminate()
    },
    limits: { pauseMs: NEVER, ...limits },
  })
  t.after(() => fanOut.stop())
  const channels = await Channels.open(t, WEB_SOCKET_SETTINGS)
  const connect = async (hardwareIds: readonly string[] = [EVERYTHING], caller = ADMIN) => {
    const channel = await channels.connect()
    const connection = new RealtimeConnection(channel, loginOf(caller), '127.0.0.1', {
      settle: () => fanOut.settle(),
      tooSlow: () => connection.close(1013, 'too slow'),
    })
    fanOut.connections.add(connection)
    channel.webSocket.on('close', () => fanOut.connections.delete(connection))
    for (const each of hardwareIds) {
      if (each === EVERYTHING) fanOut.subscriptions.addAll(connection)
      else fanOut.subscriptions.add(connection, each)
    }
    return { ...channel, connection, write: t.mock.method(channel.stream, 'write') }
  }
  let count = 0
  /** Publishes a message about a device; returns what its watchers receive. */
  const publish = (hardwareId = 'a') => {
    const message = status(hardwareId, ++count)
    fanOut.publish(hardwareId, [{ message }].values())
    return { text: JSON.stringify(message) }
  }
  /** Begins a pause that does not end. */
  const pause = async () => {
    const reader = await connect()
    const first = publish('pause')
    await eventually(() => reader.received.length === 1, 'the first goes at once')
    assert.deepEqual(reader.received, [first])
    reader.client.terminate()
    await once(reader.webSocket, 'close')
    fanOut.subscriptions.clear(reader.connection)
  }
  return { fanOut, connect, publish, pause, errors, given }
}

function status(hardwareId: string, count: number): ServerMessage {
  return { type: 'device_status', hardwareId, payload: { is_online: true }, timestamp: new Date(count).toISOString() }
}

async function connectMany<Reader>(count: number, connect: () => Promise<Reader>): Promise<Reader[]> {
  const readers: Reader[] = []
  while (readers.length < count) readers.push(await connect())
  return readers
}

/** Returns everything that a reader received until a response sent now. */
async function receivedBy(reader: { connection: RealtimeConnection; received: Received[] }): Promise<Received[]> {
  const mark = { type: 'pong', time: '', id: 'mark' } as const
  const text = JSON.stringify(mark)
  const before = reader.received.length
  reader.connection.send(mark)
  const isMark = (each: Received) => 'text' in each && each.text === text
  await eventually(() => reader.received.slice(before).some(isMark), 'the answer comes')
  return reader.received.filter((each) => !isMark(each))
}

describe('timing of writes', () => {
  test('a published message is built and written in the next event-loop tick', async (t) => {
    const { fanOut, connect, publish } = await start(t)
    const reader = await connect()
    const isAsked = t.mock.fn()
    function* messages(): Generator<MaskedMessage> {
      isAsked()
      yield { message: status('a', 0) }
    }
    fanOut.publish('a', messages())
    const second = publish()
    assert.deepEqual([isAsked.mock.callCount(), reader.write.mock.callCount()], [0, 0])
    await eventually(() => reader.received.length === 2, 'both go at once')
    assert.deepEqual(reader.received, [{ text: JSON.stringify(status('a', 0)) }, second])
    assert.equal(reader.write.mock.callCount(), 1)
  })

  test('later messages wait for the end of the pause, and are written together', async (t) => {
    const { connect, publish, pause } = await start(t)
    await pause()
    const reader = await connect()
    const published = [publish('a'), publish('b'), publish('a')]
    await new Promise(setImmediate)
    assert.equal(reader.write.mock.callCount(), 0)
    assert.deepEqual(await receivedBy(reader), published)
    assert.equal(reader.write.mock.callCount(), 1)
  })

  test('a pause ends automatically, and the first message after it is written immediately', async (t) => {
    const { connect, publish } = await start(t, { pauseMs: 20 })
    const reader = await connect()
    const published: Received[] = []
    for (let i = 0; i < 20; i++) {
      published.push(publish(), publish())
      if (i % 4 !== 0) continue
      await eventually(() => reader.received.length === published.length, 'all published messages arrive')
    }
    await eventually(() => reader.received.length === published.length, 'all published messages arrive')
    assert.deepEqual(reader.received, published)
    assert.ok(reader.write.mock.callCount() <= 20)
  })

  test('other work runs between two messages and between two sockets', async (t) => {
    const { fanOut, connect } = await start(t, { sliceMs: 0 })
    const readers = await connectMany(20, connect)
    const statuses = Array.from({ length: 20 }, (_, i) => status('a', i))
    let asked = 0
    function* messages(): Generator<MaskedMessage> {
      for (const message of statuses) {
        asked++
        yield { message }
      }
    }
    fanOut.publish('a', messages())
    const written = () => readers.filter(({ write }) => write.mock.callCount() > 0).length
    const seen = new Set<string>()
    while (written() < readers.length) {
      seen.add(`${asked} made, ${written()} written`)
      await new Promise(setImmediate)
    }
    assert.ok(seen.size >= 30, `seen ${[...seen]}`)
    const texts = statuses.map((message) => ({ text: JSON.stringify(message) }))
    for (const reader of readers) assert.deepEqual(await receivedBy(reader), texts)
  })

  test('messages published during a write are written next', async (t) => {
    const { connect, publish } = await start(t, { sliceMs: 0, pauseMs: 1 })
    const readers = await connectMany(10, connect)
    const published: Received[] = []
    for (let i = 0; i < 100; i++) {
      published.push(publish())
      if (i % 3 === 0) await new Promise(setImmediate)
    }
    for (const reader of readers)
      await eventually(() => reader.received.length === published.length, 'all published messages arrive')
    for (const reader of readers) assert.deepEqual(reader.received, published)
  })

  test('a stop writes the pending messages', async (t) => {
    const { fanOut, connect, publish, pause } = await start(t)
    await pause()
    const reader = await connect()
    const published = publish()
    fanOut.stop()
    reader.connection.close(1001, 'stopping')
    await once(reader.client, 'close')
    assert.deepEqual(reader.received, [published, { closed: 1001 }])
  })
})

describe('recipients of messages', () => {
  test('sockets with the same pending messages get the same bytes, however they subscribed', async (t) => {
    const { connect, publish } = await start(t)
    const other = await connect(['a'])
    const same = [await connect(), await connect(['a', 'b']), await connect(['b', 'a', 'c'])]
    const published = [publish('a'), publish('b')]
    await eventually(() => same.every(({ received }) => received.length === 2), 'both come')
    for (const { received } of same) assert.deepEqual(received, published)
    assert.deepEqual(await receivedBy(other), published.slice(0, 1))
    const pieces = same.map(({ write }) => write.mock.calls[0]?.arguments[0])
    assert.equal(new Set(pieces).size, 1)
  })

  test('a new subscriber gets later messages, and a leaving one those published before', async (t) => {
    const { fanOut, connect, publish, pause } = await start(t)
    await pause()
    const [staying, leaving] = [await connect(['a']), await connect(['a'])]
    const first = publish()
    fanOut.settle()
    fanOut.subscriptions.remove(leaving.connection, 'a')
    const joining = await connect([])
    fanOut.settle()
    fanOut.subscriptions.add(joining.connection, 'a')
    const second = publish()
    fanOut.settle()
    fanOut.subscriptions.addAll(leaving.connection)
    const third = publish('b')
    const fourth = publish()
    assert.deepEqual(await receivedBy(staying), [first, second, fourth])
    assert.deepEqual(await receivedBy(leaving), [first, third, fourth])
    assert.deepEqual(await receivedBy(joining), [second, fourth])
  })

  test('a narrowed scope also applies to earlier messages, encoded or not', async (t) => {
    const { fanOut, connect, publish, pause } = await start(t)
    await pause()
    const scope = (...ids: string[]): Caller => ({ userId: 'u', role: 'user', allowedHardwareIds: new Set(ids) })
    for (const hardwareIds of [['a', 'b'], [EVERYTHING]]) {
      const reader = await connect(hardwareIds, scope('a', 'b'))
      const other = await connect(hardwareIds)
      const published = [publish('a'), publish('b')]
      fanOut.settle()
      published.push(publish('b'), publish('a'))
      reader.connection.narrow(scope('b'))
      fanOut.subscriptions.narrow(reader.connection)
      assert.deepEqual(await receivedBy(reader), [published[1], published[2]])
      assert.deepEqual(await receivedBy(other), published)
    }
  })

  test('a revoked key gets none of the earlier messages', async (t) => {
    const { fanOut, connect, publish, pause } = await start(t)
    await pause()
    const [reader, other] = [await connect(), await connect()]
    const published = [publish()]
    fanOut.settle()
    published.push(publish())
    fanOut.subscriptions.clear(reader.connection)
    reader.connection.close(4401, 'key revoked')
    assert.deepEqual(await receivedBy(other), published)
    await eventually(() => reader.received.length > 0, 'the revoked one is closed')
    assert.deepEqual(reader.received, [{ closed: 4401 }])
  })

  test('restricted messages are sent in order to those concerned, unless hidden since then', async (t) => {
    const { fanOut, connect, publish, pause } = await start(t)
    await pause()
    const user: Caller = { userId: 'u', role: 'user', allowedHardwareIds: new Set(['a']) }
    const [one, two] = [await connect(['a'], user), await connect(['a'], user)]
    const published = [publish()]
    const message = status('a', 99)
    fanOut.publishTo([one.connection], 'a', [{ message }].values())
    published.push(publish())
    const text = { text: JSON.stringify(message) }
    assert.deepEqual(await receivedBy(one), [published[0], text, published[1]])
    assert.deepEqual(await receivedBy(two), published)
    fanOut.publishTo([one.connection, two.connection], 'a', [{ message }].values())
    two.connection.narrow({ ...user, allowedHardwareIds: null })
    assert.deepEqual((await receivedBy(one)).at(-1), text)
    assert.deepEqual(await receivedBy(two), published)
  })
})

test('a message that cannot be built is logged, and the others are sent', async (t) => {
  const { fanOut, connect, publish, errors } = await start(t)
  const reader = await connect()
  const published = [publish()]
  function* messages(): Generator<MaskedMessage> {
    yield { message: status('a', 98) }
    throw new Error('no such time')
  }
  fanOut.publish('a', messages())
  published.push({ text: JSON.stringify(status('a', 98)) }, publish())
  assert.deepEqual(await receivedBy(reader), published)
  assert.equal(errors.length, 1)
})

test('a large burst of messages is sent in order, each once', async (t) => {
  const { fanOut, connect, pause } = await start(t)
  await pause()
  const reader = await connect()
  const messages = Array.from({ length: 10_000 }, (_, i) => status('a', i))
  for (let i = 0; i < messages.length; i += 4)
    fanOut.publish(
      'a',
      messages
        .slice(i, i + 4)
        .map((message) => ({ message }))
        .values(),
    )
  const expected = messages.map((message) => ({ text: JSON.stringify(message) }))
  assert.deepEqual(await receivedBy(reader), expected)
})

test('beyond the limit for all unread bytes the budget key with most loses a socket', async (t) => {
  const { fanOut, connect, publish, given } = await start(t, { unreadBytes: 2_000, pauseMs: 1 })
  const of = (userId: string) => connect([EVERYTHING], { ...ADMIN, userId })
  const [greedy, greedyToo, modest] = [await of('greedy'), await of('greedy'), await of('modest')]
  // they do not read
  for (const { stream } of [greedy, greedyToo, modest]) stream.cork()
  greedyToo.connection.send({ type: 'pong', time: '', id: 'x'.repeat(500) })
  while (given.length === 0) {
    const before = modest.write.mock.callCount()
    publish()
    await eventually(() => modest.write.mock.callCount() > before, 'it is written')
  }
  assert.deepEqual(given, [greedyToo.connection])
  await once(greedyToo.client, 'close')
  for (const { stream } of [greedy, modest]) stream.uncork()
  assert.deepEqual(await receivedBy(greedy), await receivedBy(modest))
  assert.equal(fanOut.connections.size, 2)
})
