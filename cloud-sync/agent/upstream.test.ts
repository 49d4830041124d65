import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { after, before, beforeEach, test } from 'node:test'
import { NO_CURSOR } from '#shared/wire/replication/replicated.ts'
import { SITE_KEY } from '#sync-testing/agent-rig.ts'
import { byStream } from '#sync-testing/memory-source.ts'
import { type Fault, TestHub } from '#sync-testing/test-hub.ts'
import { HttpExchange } from './http-exchange.ts'
import { Upstream, upstreamUrlFault } from './upstream.ts'

let hub: TestHub
let upstream: Upstream
const { signal } = new AbortController()

before(async () => {
  hub = await new TestHub().start()
  upstream = new Upstream({ url: hub.url, key: SITE_KEY, isInsecureAllowed: false })
})
after(async () => {
  upstream.close()
  await hub.stop()
})
beforeEach(() => {
  hub.faultOf = () => null
})

const HELLO = {
  protocol: 1,
  site: 'links',
  epoch: 'a'.repeat(32),
  instance: '7f9c24e8-3b1a-4d5e-8f60-0123456789ab',
  forked_from: null,
  program: 'cartbarn',
  clock_ms: 1,
  clock_trusted: true,
  ends: byStream(() => 0),
}

async function outcomeOf(fault: Fault | null) {
  hub.faultOf = () => fault
  return upstream.hello(HELLO, signal)
}

const CURSORS = byStream(() => NO_CURSOR)

for (const [what, fault, expected] of [
  ['200', null, { kind: 'ok' }],
  ['409 cursor', { status: 409, body: { code: 'cursor', cursors: CURSORS } }, { kind: 'cursor' }],
  ['409 unknown_epoch', { status: 409, code: 'unknown_epoch' }, { kind: 'unknown_epoch' }],
  ['409 ahead', { status: 409, code: 'ahead' }, { kind: 'ahead' }],
  ['409 foreign_epoch', { status: 409, code: 'foreign_epoch' }, { kind: 'foreign_epoch' }],
  ['409 that says nothing more', { status: 409, code: 'cursor' }, { kind: 'retry', reason: 'bad_answer' }],
  ['401', { status: 401, code: 'revoked_site_key' }, { kind: 'refused' }],
  ['403', { status: 403, code: 'wrong_site' }, { kind: 'refused' }],
  ['a future protocol', { status: 400, code: 'unsupported_protocol' }, { kind: 'refused' }],
  ['400', { status: 400, code: 'invalid_hash' }, { kind: 'rejected', code: 'invalid_hash' }],
  ['413', { status: 413, code: 'payload_too_large' }, { kind: 'too_large' }],
  ['413 of a proxy', { status: 413, body: '<html>' }, { kind: 'too_large' }],
  ['429', { status: 429, headers: { 'retry-after': '7' } }, { kind: 'retry', reason: 'busy', retryAfterMs: 7000 }],
  [
    '503',
    { status: 503, headers: { 'retry-after': '9' } },
    { kind: 'retry', reason: 'unavailable', retryAfterMs: 9000 },
  ],
  ['503 of a busy hub', { status: 503, code: 'busy' }, { kind: 'retry', reason: 'busy' }],
  [
    '503 for years',
    { status: 503, headers: { 'retry-after': '99999999' } },
    { kind: 'retry', retryAfterMs: 3_600_000 },
  ],
  [
    '503 until a date',
    { status: 503, headers: { 'retry-after': 'Wed, 21 Oct 2026 07:28:00 GMT' } },
    { kind: 'retry', retryAfterMs: 0 },
  ],
  ['502 of a proxy', { status: 502, body: '<html>' }, { kind: 'retry', reason: 'unavailable' }],
  ['404', { status: 404, body: 'nothing here' }, { kind: 'retry', reason: 'bad_answer' }],
  ['200 of something else', 'garble', { kind: 'retry', reason: 'bad_answer' }],
  ['half an answer', 'truncate', { kind: 'retry', reason: 'network' }],
  ['a cut', 'cut_before', { kind: 'retry', reason: 'network', isLocal: false }],
] as [string, Fault | null, Record<string, unknown>][]) {
  test(`${what} is ${Object.values(expected).join(' ')}`, async () => {
    const outcome = await outcomeOf(fault)
    assert.deepEqual({ ...outcome, ...expected }, outcome)
  })
}

test('a request without a response is aborted after a while', async () => {
  const timeoutsMs = { short: 50 }
  const hasty = new Upstream({ url: hub.url, key: SITE_KEY, isInsecureAllowed: false, timeoutsMs })
  hub.faultOf = () => 'hang'
  const outcome = await hasty.hello(HELLO, signal)
  hasty.close()
  assert.ok(outcome.kind === 'retry' && outcome.reason === 'timeout')
})

test('the agent does not follow a redirect, because the key is for one host', async () => {
  let asked = 0
  const thief = createServer((_, response) => {
    asked++
    response.end('{}')
  })
  await new Promise<void>((resolve) => thief.listen(0, '127.0.0.1', resolve))
  const address = thief.address()
  assert.ok(address !== null && typeof address === 'object')
  const location = `http://127.0.0.1:${address.port}/`
  const outcome = await outcomeOf({ status: 307, headers: { location }, body: '' })
  thief.close()
  assert.deepEqual([outcome.kind, asked], ['retry', 0])
})

test('the agent aborts an endless response', async () => {
  const outcome = await outcomeOf({ status: 200, body: 'x'.repeat(2_000_000) })
  assert.deepEqual(outcome.kind === 'retry' && outcome.reason, 'bad_answer')
})

test('a connection that the hub closed while idle is not a failure', async () => {
  await outcomeOf(null)
  hub.closeIdle()
  assert.equal((await outcomeOf(null)).kind, 'ok')
})

test('the text of a rejection is kept, without the key', async () => {
  const outcome = await outcomeOf({ status: 401, code: 'revoked_site_key' })
  assert.ok(outcome.kind === 'refused')
  assert.match(outcome.detail, /the test wants 401 \(revoked_site_key\)/)
  assert.ok(!outcome.detail.includes(SITE_KEY))
})

test('a host name that does not resolve is reported as a local network problem', async () => {
  const nowhere = new Upstream({ url: 'https://hub.invalid', key: SITE_KEY, isInsecureAllowed: false })
  const outcome = await nowhere.hello(HELLO, signal)
  nowhere.close()
  assert.ok(outcome.kind === 'retry' && outcome.reason === 'network' && outcome.isLocal)
})

for (const code of ['ECONNRESET', 'EPIPE'])
  test(`idle connections that fail with ${code} are replaced within one request`, async (t) => {
    const sockets = new Set<Socket>()
    const note = (opened: unknown) => void sockets.add((opened as { socket: Socket }).socket)
    subscribe('net.client.socket', note)
    t.after(() => unsubscribe('net.client.socket', note))
    let asked = 0
    const all = Promise.withResolvers<void>()
    const server = createServer(async (_, response) => {
      if (++asked === 3) all.resolve()
      await all.promise
      response.end('{}')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const exchange = new HttpExchange(new URL(`http://127.0.0.1:${port}`))
    t.after(() => {
      exchange.close()
      server.close()
    })
    const send = () =>
      exchange.send({ method: 'GET', path: '/', headers: {}, body: undefined, maxAnswerBytes: 1000, signal })
    await Promise.all([send(), send(), send()])
    const idle = [...sockets]
    assert.equal(idle.length, 3)
    // as the kernel reports it
    const failure = Object.assign(new Error(code), { code })
    for (const socket of idle)
      t.mock.method(socket, 'write', () => {
        socket.destroy(failure)
        return false
      })
    assert.equal((await send()).status, 200)
    assert.deepEqual([sockets.size, asked], [4, 4])
  })

test('shared connections stay open when one of their users closes', async (t) => {
  const server = createServer((_, response) => {
    other.close()
    response.writeHead(409, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ code: 'unknown_epoch' }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  assert.ok(address !== null && typeof address === 'object')
  const url = `http://127.0.0.1:${address.port}`
  const exchange = new HttpExchange(new URL(url))
  t.after(() => {
    exchange.close()
    server.close()
  })
  const options = { url, key: SITE_KEY, isInsecureAllowed: false, exchange }
  const [one, other] = [new Upstream(options), new Upstream(options)]
  assert.equal((await one.hello(HELLO, signal)).kind, 'unknown_epoch')
})

for (const [url, isInsecureAllowed, isGood] of [
  ['https://hub.example.com', false, true],
  ['https://hub.example.com:8443/sync', false, true],
  ['http://127.0.0.1:8090', false, true],
  ['http://localhost:8090', false, true],
  ['http://[::1]:8090', false, true],
  ['http://hub.example.com', false, false],
  ['http://hub.example.com', true, true],
  ['http://127.0.0.1.example.com', false, false],
  ['http://localhost.example.com', false, false],
  ['ftp://hub.example.com', true, false],
  ['https://user:secret@hub.example.com', true, false],
  ['https://hub.example.com/?key=1', true, false],
  ['hub.example.com', true, false],
  ['', true, false],
] as const) {
  test(`URL "${url}" is ${isGood ? 'accepted' : 'rejected'}${isInsecureAllowed ? ' (insecure allowed)' : ''}`, () => {
    assert.equal(upstreamUrlFault(url, isInsecureAllowed) === null, isGood)
  })
}
