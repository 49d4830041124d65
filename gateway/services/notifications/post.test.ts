import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ANSWERS, Receiver } from '#testing/receiver.ts'
import { DnsLookups } from './dns-lookups.ts'
import { post } from './post.ts'
import { UnknownOutcome } from './retries.ts'

const { lookup } = new DnsLookups()

function send(url: string, ms = 60_000): Promise<void> {
  return post({ url, headers: { title: 'Hi' }, body: 'Grün', signal: AbortSignal.timeout(ms), lookup })
}

test('a text is sent with its headers', async (t) => {
  const receiver = await Receiver.open(t)
  await send(`${receiver.url}/a/b?c=d`)
  const [{ path, headers, text } = assert.fail()] = receiver.received
  assert.deepEqual([path, text, headers.title, headers['content-length']], ['/a/b?c=d', 'Grün', 'Hi', '5'])
})

describe('a response', () => {
  for (const status of [200, 201, 202, 204, 299])
    test(`${status} is a success`, async (t) => {
      const receiver = await Receiver.open(t, (response) => void response.writeHead(status).end())
      await send(receiver.url)
    })

  for (const status of [304, 400, 401, 404, 410, 429, 500, 503])
    test(`${status} is a failure`, async (t) => {
      const receiver = await Receiver.open(t, (response) => void response.writeHead(status).end('no'))
      await assert.rejects(send(receiver.url), new RegExp(`answered ${status}`))
    })

  for (const status of [301, 302, 303, 307, 308])
    test(`${status} is not followed`, async (t) => {
      const other = await Receiver.open(t)
      const receiver = await Receiver.open(
        t,
        (response) => void response.writeHead(status, { location: other.url }).end(),
      )
      await assert.rejects(send(receiver.url), new RegExp(`answered ${status}; redirects are not followed`))
      assert.equal(other.received.length, 0)
    })

  test('of 10 MB is not read', async (t) => {
    let written = 0
    const receiver = await Receiver.open(t, (response) => {
      response.writeHead(200)
      const more = () => {
        for (let isRoom = true; isRoom && written < 10_000_000; written += 65_536)
          isRoom = response.write(Buffer.alloc(65_536))
      }
      response.on('drain', more)
      more()
    })
    await send(receiver.url)
    // bytes that the buffers of both ends hold
    assert.ok(written < 9_000_000, `${written}`)
  })

  test('that never ends is a success', async (t) => {
    const receiver = await Receiver.open(t, (response) => void response.writeHead(200).write('so'))
    await send(receiver.url)
  })

  test('that never comes is awaited until the signal', async (t) => {
    const receiver = await Receiver.open(t, ANSWERS.hang)
    await assert.rejects(send(receiver.url, 200), /abort|timeout/i)
  })

  test('101 is a failure, as is one for which Node ends the connection', async (t) => {
    const upgrade = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n'
    const receiver = await Receiver.open(t, (response) => void response.socket?.write(upgrade))
    await assert.rejects(send(receiver.url), /answered 101/)
    const hints = await Receiver.open(t, (response) => void response.socket?.write('HTTP/1.1 103 Hints\r\n\r\n'))
    await assert.rejects(send(hints.url, 200), /may have been delivered/)
  })

  test('that never comes may mean a delivery, and a refused connection means none', async (t) => {
    const silent = await Receiver.open(t, ANSWERS.hang)
    await assert.rejects(send(silent.url, 200), UnknownOutcome)
    const closing = await Receiver.open(t, ANSWERS.cut)
    await assert.rejects(send(closing.url), UnknownOutcome)
    const refusing = await Receiver.open(t, (response) => void response.writeHead(500).end())
    await assert.rejects(send(refusing.url), (error) => !(error instanceof UnknownOutcome))
    await assert.rejects(send('http://127.0.0.1:1/'), (error) => !(error instanceof UnknownOutcome))
  })

  test('that is cut off is a failure', async (t) => {
    const receiver = await Receiver.open(t, ANSWERS.cut)
    await assert.rejects(send(receiver.url), /hang up|ECONNRESET/)
  })

  test('that is not HTTP is a failure', async (t) => {
    const receiver = await Receiver.open(t, (response) => void response.socket?.end('SSH-2.0-x\r\n'))
    await assert.rejects(send(receiver.url), /Parse Error/)
  })
})

test('a closed port is a failure', async () => {
  await assert.rejects(send('http://127.0.0.1:1/'), /ECONNREFUSED/)
})
