import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { Counter } from '#shared/counter.ts'
import { createLog } from '#shared/log.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { createKeyPair } from '#shared/testing/key-pairs.ts'
import { createApiOf } from '../api-env.ts'
import { HttpListener, type HttpListenerOptions } from '../listener.ts'
import { createErrorHandler } from '../problem.ts'
import { jsonBody, withRequestId } from '../request-guards.ts'

const PAIR = createKeyPair({ commonName: 'one' })
const LARGE = 'x'.repeat(400_000)

interface Setup extends Partial<HttpListenerOptions> {
  fetch?: ConstructorParameters<typeof HttpListener>[1]
  onUpgrade?: ConstructorParameters<typeof HttpListener>[2]
}

async function serve(t: TestContext, { fetch = echo, onUpgrade, ...options }: Setup = {}) {
  const http = new HttpListener(
    { host: '127.0.0.1', port: 0, isSecure: false, drainMs: 50, ...options },
    fetch,
    onUpgrade,
  )
  if (options.isSecure) http.setSecureContext(PAIR, false)
  await http.start()
  t.after(async () => {
    await http.stop()
    await http.drain()
  })
  const { port } = new URL(http.url)
  return {
    open: async (isSecure = options.isSecure) => {
      const at = { host: '127.0.0.1', port: Number(port) }
      const socket = isSecure ? connectTls({ ...at, rejectUnauthorized: false }) : connect(at)
      socket.on('error', () => undefined)
      t.after(() => socket.destroy())
      await once(socket, isSecure ? 'secureConnect' : 'connect')
      return socket
    },
  }
}

async function echo(request: Request): Promise<Response> {
  return new Response(`<${new URL(request.url).pathname} ${await request.text()}>`)
}

function get(path: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`
}

/** All that comes until it holds something, or the end. */
async function textUntil(socket: Socket, isThere: (text: string) => boolean): Promise<string> {
  let text = ''
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    text += chunk
    if (isThere(text)) break
  }
  return text
}

for (const isSecure of [false, true]) {
  const over = isSecure ? 'HTTPS' : 'HTTP'

  test(`pipelined requests over ${over} are handled one after the other, and all get a response`, async (t) => {
    let atWork = 0
    let mostAtWork = 0
    const { open } = await serve(t, {
      isSecure,
      fetch: async (request) => {
        mostAtWork = Math.max(mostAtWork, ++atWork)
        await new Promise(setImmediate)
        atWork--
        return echo(request)
      },
    })
    const socket = await open()
    const paths = Array.from({ length: 300 }, (_, i) => `/${i}`)
    socket.write(paths.map(get).join(''))
    const text = await textUntil(socket, (all) => all.includes('</299 >'))
    assert.deepEqual(
      [...text.matchAll(/<(\/\d+) >/g)].map(([, path]) => path),
      paths,
    )
    assert.equal(mostAtWork, 1)
  })

  test(`a client that stops reading over ${over} pauses its responses, and gets all when it reads again`, async (t) => {
    let answered = 0
    const { open } = await serve(t, {
      isSecure,
      fetch: (request) => {
        answered++
        return request.url.endsWith('/ping') ? new Response('pong') : new Response(LARGE)
      },
    })
    const socket = await open()
    socket.pause()
    socket.write(get('/large').repeat(200))
    const other = await open()
    for (let i = 0; i < 20; i++) {
      other.write(get('/ping'))
      await once(other, 'data')
    }
    // what the system itself has room for
    assert.ok(answered < 120, `${answered} answers were made`)
    let bytes = 0
    for await (const chunk of socket) {
      bytes += chunk.length
      if (bytes > 200 * LARGE.length) break
    }
    assert.equal(answered, 220)
  })
}

test('bodies and heads are separated correctly however they are cut', async (t) => {
  const { open } = await serve(t)
  const bodies = ['', 'a', '\r\n\r\n', `${'x'.repeat(200)}\r\n\r\nGET / HTTP/1.1\r\n\r\n`, '\r\n'.repeat(300)]
  const requests = bodies.map((body, i) =>
    i % 2 === 0
      ? `POST /${i} HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`
      : `POST /${i} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: ` +
        `chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
  )
  const all = requests.join('')
  for (const size of [1, 3, 7, 64, 129, 500, all.length]) {
    const socket = await open()
    const answer = textUntil(socket, (text) => text.includes(`</4 ${bodies[4]}>`))
    for (let at = 0; at < all.length; at += size) {
      socket.write(all.slice(at, at + size))
      await new Promise(setImmediate)
    }
    const text = await answer
    for (const [i, body] of bodies.entries()) assert.ok(text.includes(`</${i} ${body}>`), `${size}: ${i}`)
    socket.destroy()
  }
})

test('bytes right after an upgrade go to the upgrade handler, in order', async (t) => {
  const { open } = await serve(t, {
    onUpgrade: (_request, socket, head) => {
      socket.unshift(head)
      socket.on('data', (chunk) => socket.write(chunk))
    },
  })
  const socket = await open()
  const sent = Array.from({ length: 300 }, (_, i) => `${i}\r\n\r\n`).join('')
  socket.write(`${get('/first')}GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n${sent}`)
  const text = await textUntil(socket, (all) => all.endsWith('299\r\n\r\n'))
  assert.ok(text.endsWith(`</first >${sent}`))
})

test('a client that reads no byte of a response for a minute is disconnected, and others are not', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const closed = new Counter()
  const { open } = await serve(t, { closed, fetch: () => new Response(LARGE.repeat(39)) })
  const [silent, reader, idle] = [await open(), await open(), await open()]
  reader.write(get('/'))
  while (reader.bytesRead < 39 * LARGE.length) await once(reader, 'data')
  silent.write(get('/'))
  await once(silent, 'data')
  silent.pause()
  for (let checks = 0; checks < 40 && closed.get('http_stalled') === 0; checks++) {
    t.mock.timers.tick(5_000)
    await new Promise(setImmediate)
  }
  assert.equal(closed.get('http_stalled'), 1)
  silent.resume()
  await once(silent, 'close')
  assert.deepEqual([reader.destroyed, idle.destroyed], [false, false])
})

for (const [what, request, status, detail] of [
  ['of HTTP/1.0 without Host', 'GET /health HTTP/1.0\r\n\r\n', 200, ''],
  ['of HTTP/1.1 without Host', 'GET / HTTP/1.1\r\n\r\n', 400, 'Host'],
  ['with two Hosts', 'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n', 400, 'one Host'],
  ['with the same Host twice', 'GET / HTTP/1.1\r\nhost: a\r\nHOST: a\r\n\r\n', 400, 'one Host'],
  ['of HTTP/1.0 with two Hosts', 'GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n', 400, 'one Host'],
  ['with a Host that is none', 'GET / HTTP/1.1\r\nHost: a b\r\n\r\n', 400, 'Host'],
  ['of an address that is none', 'GET * HTTP/1.1\r\nHost: a\r\n\r\n', 400, 'URL'],
  ['that expects nonsense', 'GET / HTTP/1.1\r\nHost: a\r\nExpect: x\r\n\r\n', 417, '100-continue'],
  ['that is no HTTP', 'hello\r\n\r\n', 400, 'HTTP'],
  ['of TLS to a plain port', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400, 'HTTP'],
  ['with a long head', `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 431, '16 KB'],
  ['with two lengths', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx', 400, 'HTTP'],
] as const)
  test(`a request ${what} gets ${status}${status === 200 ? '' : ' with the reason'}`, async (t) => {
    const { open } = await serve(t)
    const socket = await open()
    socket.write(Buffer.from(request, 'latin1'))
    const answer = await textUntil(socket, (text) => /[>}]/.test(text))
    assert.match(answer, new RegExp(`^HTTP/1.1 ${status} `))
    assert.match(answer, /^x-content-type-options: nosniff\r$/im)
    if (status === 200) return
    assert.match(answer, /^content-type: application\/problem\+json\r$/im)
    const [, id] = /^x-request-id: (.+)\r$/im.exec(answer) ?? []
    const problem = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))
    assert.deepEqual([problem.status, problem.request_id], [status, id])
    assert.ok(problem.detail.includes(detail), problem.detail)
  })

test('a client that disconnects in the middle of its body causes no line in the log', async (t) => {
  const lines: string[] = []
  const log = createLog('info', { write: (line) => lines.push(line) })
  const app = createApiOf()
  let begun = 0
  let over = 0
  app.use(withRequestId)
  app.use(async (_c, next) => {
    begun++
    await next()
    over++
  })
  app.post('/json', jsonBody, (c) => c.text('ok'))
  app.post('/bytes', async (c) => c.text(String((await c.req.arrayBuffer()).byteLength)))
  app.post('/text', async (c) => c.text(await c.req.text()))
  app.onError(createErrorHandler(log))
  const { open } = await serve(t, { fetch: app.fetch })
  const rest = ['{', '5\r\n{', 'none\r\n']
  for (const path of ['/json', '/bytes', '/text'])
    for (const [i, framing] of [
      'Content-Length: 9',
      'Transfer-Encoding: chunked',
      'Transfer-Encoding: chunked',
    ].entries())
      for (const leave of ['destroy', 'end', 'resetAndDestroy'] as const) {
        const [socket, before] = [await open(), begun]
        socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${framing}\r\n\r\n`)
        await eventually(() => begun > before, 'the request is at work')
        socket.write(rest[i] ?? '')
        socket[leave]()
      }
  await eventually(() => over === begun, 'all of them are over')
  assert.deepEqual(lines, [])
})
