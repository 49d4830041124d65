import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { MovingTime } from '#shared/testing/moving-time.ts'
import { MINUTE_MS } from '#shared/time.ts'
import { MAIL_MS, Mailer } from './mailer.ts'
import { UnknownOutcome } from './retries.ts'

/**
 * Mail server that sends the responses of the test; each responds to the command it received, or with `null` as the
 * command, sends the greeting.
 */
async function mailServer(t: TestContext, answer: (command: string | null) => Promise<string | null>) {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    const say = async (command: string | null) => {
      const text = await answer(command)
      if (text !== null) socket.write(`${text}\r\n`)
    }
    let isMessage = false
    let unread = ''
    socket.on('error', () => undefined)
    socket.on('data', (bytes: Buffer) => {
      unread += bytes.toString()
      for (;;) {
        const end = isMessage ? '\r\n.\r\n' : '\r\n'
        const at = unread.indexOf(end)
        if (at < 0) return
        const command = isMessage ? '.' : unread.slice(0, 4)
        unread = unread.slice(at + end.length)
        isMessage = command === 'DATA'
        void say(command)
      }
    })
    void say(null)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  // a listening TCP server has an address and a port
  const { port } = server.address() as AddressInfo
  const mailer = new Mailer({ url: `smtp://127.0.0.1:${port}?ignoreTLS=true`, from: 'barn@example.org' })
  const mail = { to: 'shop@example.org', subject: 'Hi', text: 'Grün', id: 'a' }
  return { send: (signal: AbortSignal) => mailer.send({ ...mail, signal }) }
}

const RIGHT = (command: string | null) =>
  command === null ? '220 ready' : command === 'DATA' ? '354 go ahead' : '250 ok'

test('a server may take as long as RFC 5321 allows for each of its responses', async (t) => {
  const slow: [command: string | null, minutes: number][] = [
    [null, 4],
    ['MAIL', 4],
    ['RCPT', 4],
    ['.', 9],
  ]
  for (const [slowCommand, minutes] of slow) {
    const time = new MovingTime(t)
    const endsAtMs = () => time.clock.nowMs() + minutes * MINUTE_MS
    let reached: (() => void) | undefined
    const isReached = new Promise<void>((resolve) => {
      reached = resolve
    })
    let goOn: (() => void) | undefined
    const { send } = await mailServer(t, async (command) => {
      if (command === slowCommand) {
        reached?.()
        await new Promise<void>((resolve) => {
          goOn = resolve
        })
      }
      return RIGHT(command)
    })
    const sent = send(new AbortController().signal)
    await Promise.race([isReached, sent])
    await pause(20)
    await time.until(endsAtMs())
    goOn?.()
    await sent
    time.end()
  }
})

test('a message without an acknowledgement may have been delivered; a rejected one was not', async (t) => {
  const giveUp = new AbortController()
  const silent = await mailServer(t, async (command) => {
    if (command !== '.') return RIGHT(command)
    giveUp.abort()
    return null
  })
  await assert.rejects(silent.send(giveUp.signal), UnknownOutcome)
  for (const refused of ['MAIL', 'RCPT', 'DATA', '.']) {
    const refusing = await mailServer(t, async (command) => (command === refused ? '451 later' : RIGHT(command)))
    const { signal } = new AbortController()
    await assert.rejects(refusing.send(signal), (error) => !(error instanceof UnknownOutcome), refused)
  }
})

test('a whole attempt may take longer than any response', () => {
  assert.ok(MAIL_MS > 15 * MINUTE_MS)
})
