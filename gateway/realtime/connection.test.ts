import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, type TestContext, test } from 'node:test'
import { WebSocket } from 'ws'
import type { Caller } from '#domain/access.ts'
import { Channels } from '#testing/channels.ts'
import { loginOf } from '#testing/login-of.ts'
import { RealtimeConnection, WEB_SOCKET_SETTINGS } from './connection.ts'
import { Frame } from './frames.ts'

const USER: Caller = { userId: 'u', role: 'user', allowedHardwareIds: new Set(['a', 'b']) }
const PONG = { type: 'pong', time: '' } as const

async function connect(t: TestContext, { autoPong = true } = {}) {
  const source = { settle: t.mock.fn(), tooSlow: t.mock.fn() }
  const channel = await (await Channels.open(t, WEB_SOCKET_SETTINGS)).connect({ autoPong })
  const connection = new RealtimeConnection(channel, loginOf(USER), '127.0.0.1', source)
  return { ...channel, ...source, connection, write: t.mock.method(channel.stream, 'write') }
}

function status(hardwareId: string, isOnline = true) {
  return {
    type: 'device_status',
    hardwareId,
    payload: { is_online: isOnline },
    timestamp: '2026-01-01T00:00:00.000Z',
  } as const
}

describe('keep-alive', () => {
  test('a client that left two pings unanswered is disconnected at the third', async (t) => {
    const { client, connection } = await connect(t, { autoPong: false })
    const closed = once(client, 'close')
    for (let i = 0; i < 2; i++) {
      const pinged = once(client, 'ping')
      connection.ping()
      await pinged
    }
    assert.equal(client.readyState, WebSocket.OPEN)
    connection.ping()
    assert.deepEqual((await closed)[0], 1006)
  })

  test('a client that responds stays connected', async (t) => {
    const { client, webSocket, connection } = await connect(t)
    for (let i = 0; i < 5; i++) {
      const answered = once(webSocket, 'pong')
      connection.ping()
      await answered
    }
    assert.equal(client.readyState, WebSocket.OPEN)
  })

  test('a client ping gets its pong after the pending messages', async (t) => {
    const { client, connection, received } = await connect(t)
    connection.enqueue(new Frame(status('a')))
    client.ping('1')
    await once(client, 'pong')
    assert.deepEqual(received, [{ text: JSON.stringify(status('a')) }, { pong: '1' }])
  })
})

describe('a pending message', () => {
  test('is written in one piece with others and the response sent after it', async (t) => {
    const { client, connection, received, write } = await connect(t)
    for (const hardwareId of ['a', 'b']) connection.enqueue(new Frame(status(hardwareId)))
    assert.equal(write.mock.callCount(), 0)
    connection.send(PONG)
    await once(client, 'message')
    assert.deepEqual(
      received,
      [status('a'), status('b'), PONG].map((message) => ({ text: JSON.stringify(message) })),
    )
    assert.equal(write.mock.callCount(), 1)
    connection.flush()
    assert.equal(write.mock.callCount(), 1)
  })

  test('is written before the next flush if much is pending', async (t) => {
    const { connection, write } = await connect(t)
    const large = new Frame({ ...PONG, id: 'x'.repeat(100_000) })
    for (let i = 0; i < 9; i++) connection.enqueue(large)
    assert.equal(write.mock.callCount(), 3)
  })

  test('respects a narrowed scope of the caller from then on', async (t) => {
    const { client, connection, received } = await connect(t)
    const open = { ...status('a'), type: 'device_locked', eventId: '1', source: 'rfid' } as const
    connection.enqueue(new Frame({ ...open, code: '04A1' }, { ...open, code: '**A1' }))
    connection.enqueue(new Frame(status('b')))
    connection.enqueue(new Frame(PONG))
    connection.narrow({ ...USER, allowedHardwareIds: new Set(['a']), masksCodes: true })
    connection.flush()
    connection.close(1001, '')
    await once(client, 'close')
    const expected = [{ ...open, code: '**A1' }, PONG].map((message) => ({ text: JSON.stringify(message) }))
    assert.deepEqual(received, [...expected, { closed: 1001 }])
  })

  test('is discarded with the connection', async (t) => {
    const { client, connection, received, write } = await connect(t)
    connection.enqueue(new Frame(status('a')))
    connection.close(4401, 'key revoked')
    const goodbye = write.mock.callCount()
    connection.send(PONG)
    assert.equal(write.mock.callCount(), goodbye)
    await once(client, 'close')
    assert.deepEqual(received, [{ closed: 4401 }])
  })

  test('is not written to a client that leaves more than 1 MiB unread', async (t) => {
    const { stream, connection, tooSlow } = await connect(t)
    stream.cork()
    const frame = new Frame({ ...PONG, id: 'x'.repeat(200_000) })
    for (let i = 0; i < 6; i++) {
      connection.enqueue(frame)
      connection.flush()
    }
    assert.equal(tooSlow.mock.callCount(), 0)
    const { unreadBytes } = connection
    assert.ok(unreadBytes > 1_048_576)
    connection.enqueue(frame)
    connection.flush()
    assert.equal(tooSlow.mock.callCount(), 1)
    assert.equal(connection.unreadBytes, unreadBytes)
  })
})
