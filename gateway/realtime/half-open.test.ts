import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get } from 'node:http'
import { after, before, describe, test } from 'node:test'
import { FakeClock } from '#shared/testing/clocks.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { RealtimeClient } from '#testing/realtime-client.ts'
import { ADMIN_KEY, metric, startGateway, type TestGateway } from '#testing/start-gateway.ts'

let gateway: TestGateway

before(async () => {
  gateway = await startGateway()
})
after(() => gateway.stop())

function open(url = gateway.http): Promise<RealtimeClient> {
  return RealtimeClient.open(`${url.replace('http', 'ws')}/realtime?authenticate=message`)
}

function authenticate(client: RealtimeClient, apiKey: string = ADMIN_KEY): void {
  client.send({ type: 'authenticate', apiKey })
}

async function errorOf(client: RealtimeClient): Promise<unknown[]> {
  const closed = client.closed()
  const { type, code } = await client.next()
  return [type, code, await closed]
}

describe('a socket without a key in its address', () => {
  test('is connected when its first message is a valid key, and then works as any other', async () => {
    const { userId, key } = await gateway.createUser({})
    const client = await open()
    authenticate(client, key)
    client.send({ type: 'subscribe', hardwareIds: ['*'] })
    assert.equal((await client.next()).type, 'connected')
    assert.deepEqual((await client.next()).hardwareIds, ['*'])
    assert.equal((await gateway.request('GET', `/users/${userId}`)).body.usage.total_requests, 1)
    const codes = client.closed()
    await gateway.request('POST', `/users/${userId}/rotate-key`)
    assert.equal(await codes, 4401)
  })

  test('gets the reason and is closed if its key is wrong or its first message has no key', async () => {
    for (const [sent, code] of [
      [{ type: 'authenticate', apiKey: 'flt_wrong' }, 'invalid_api_key'],
      [{ type: 'authenticate', apiKey: 5 }, 'invalid_message'],
      [{ type: 'authenticate' }, 'invalid_message'],
      [{ type: 'subscribe', hardwareIds: ['*'] }, 'missing_api_key'],
      [{ type: 'ping' }, 'missing_api_key'],
      ['{', 'invalid_json'],
    ] as const) {
      const client = await open()
      client.send(sent)
      assert.deepEqual(await errorOf(client), ['error', code, 4401], JSON.stringify(sent))
    }
  })

  test('has one attempt, and data after a wrong key is not read', async () => {
    const { userId, key } = await gateway.createUser({})
    const client = await open()
    authenticate(client, 'flt_wrong')
    authenticate(client, key)
    assert.deepEqual(await errorOf(client), ['error', 'invalid_api_key', 4401])
    assert.equal((await gateway.request('GET', `/users/${userId}`)).body.usage.total_requests, 0)
  })

  test('is closed when its first message is not text', async () => {
    const client = await open()
    client.socket.send(Buffer.from([1]), { binary: true })
    assert.equal(await client.closed(), 1003)
  })

  test('is closed after ten seconds without a message', async () => {
    const startMs = performance.now()
    const client = await open()
    const [code] = await once(client.socket, 'close')
    const tookMs = performance.now() - startMs
    assert.equal(code, 4401)
    assert.ok(tookMs > 9_900 && tookMs < 40_000, `${tookMs} ms`)
  })

  test('gets pongs for its pings, before and after it logs in', async () => {
    const client = await open()
    for (const payload of ['before', 'after']) {
      const answered = once(client.socket, 'pong')
      client.socket.ping(payload)
      assert.equal(String((await answered)[0]), payload)
      authenticate(client)
      await client.next(payload === 'before' ? 'connected' : 'error')
    }
    client.terminate()
  })

  test('logs in once', async () => {
    const client = await open()
    authenticate(client)
    await client.next('connected')
    authenticate(client)
    assert.equal((await client.next()).code, 'invalid_message')
    client.terminate()
  })

  test('is one of twenty of its user', async () => {
    const { key } = await gateway.createUser({})
    const others = await Promise.all(Array.from({ length: 20 }, () => gateway.realtime(key)))
    const client = await open()
    authenticate(client, key)
    assert.equal(await client.closed(), 1013)
    for (const other of others) other.terminate()
  })
})

test('wrong keys in messages count like those in addresses, and right ones are never rejected', async (t) => {
  const own = await startGateway({}, { clock: new FakeClock() })
  t.after(() => own.stop())
  const guess = async () => {
    const client = await open(own.http)
    authenticate(client, 'flt_wrong')
    return (await errorOf(client))[1]
  }
  const byHttp = () => fetch(`${own.http}/devices`, { headers: { 'x-api-key': 'guess' } })
  assert.equal(await guess(), 'invalid_api_key')
  for (let i = 1; i < 300; i++) assert.equal((await byHttp()).status, 401)
  assert.equal(await guess(), 'rate_limited')
  assert.equal((await byHttp()).status, 429)
  const client = await open(own.http)
  authenticate(client)
  assert.equal((await client.next()).type, 'connected')
})

test('an address has a limit of sockets not logged in, and one that closes or logs in makes room', async (t) => {
  const own = await startGateway()
  t.after(() => own.stop())
  const silent = await Promise.all(Array.from({ length: 50 }, () => open(own.http)))
  await assert.rejects(open(own.http), /429/)
  assert.equal(await metric(own, 'cartbarn_budget_refused_total', 'realtime_half_open'), 1)
  // connections with a key do not count
  const known = await own.realtime()
  assert.equal((await known.next()).type, 'connected')
  for (const client of silent.slice(0, 2)) authenticate(client)
  for (const client of silent.slice(0, 2)) await client.next('connected')
  const successors = [await open(own.http), await open(own.http)]
  await assert.rejects(open(own.http), /429/)
  silent[2]?.terminate()
  await eventually(
    () =>
      open(own.http).then(
        () => true,
        () => false,
      ),
    'a place is free again',
  )
  for (const client of [...silent, ...successors]) client.terminate()
})

test('a handshake that fails keeps no slot', async (t) => {
  const own = await startGateway()
  t.after(() => own.stop())
  const headers = { connection: 'Upgrade', upgrade: 'websocket' }
  for (let i = 0; i < 60; i++) {
    const [answer] = await once(get(`${own.http}/realtime?authenticate=message`, { headers }), 'response')
    answer.resume()
    assert.equal(answer.statusCode, 400)
  }
  const client = await open(own.http)
  authenticate(client)
  assert.equal((await client.next()).type, 'connected')
})

test('a gateway that stops closes the sockets that have not logged in', async () => {
  const own = await startGateway()
  const client = await open(own.http)
  const code = client.closed()
  await own.stop()
  assert.equal(await code, 1001)
})
