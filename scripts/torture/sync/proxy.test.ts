import assert from 'node:assert/strict'
import { Agent, createServer, request, type Server } from 'node:http'
import { after, before, beforeEach, test } from 'node:test'
import { listen } from '#scripts/rig/listen.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { NO_FAULTS, type RequestFault } from './faults.ts'
import { SyncProxy } from './proxy.ts'

/** Bodies that the hub read to their end; `broken` counts those cut off before. */
const whole: string[] = []
let broken = 0
const hub: Server = createServer((incoming, response) => {
  const chunks: Buffer[] = []
  incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
  incoming.on('error', () => broken++)
  incoming.on('end', () => {
    const body = Buffer.concat(chunks).toString()
    whole.push(body)
    response.end(`taken: ${body}`)
  })
})
let hubPort = 0
const proxy = new SyncProxy(() => hubPort)

before(async () => {
  hubPort = await listen(hub)
  await proxy.start()
})
beforeEach(() => {
  whole.length = 0
  broken = 0
  proxy.plan = NO_FAULTS
})
after(async () => {
  await proxy.stop()
  hub.close()
})

/** Time for another request and its response, on a machine that is busy. */
const REST_MS = 700

/** Sets the faults of the next requests; later ones have none. */
function meet(...faults: RequestFault[]): void {
  proxy.plan = { refuses: () => false, next: () => faults.shift() ?? { kind: 'none' } }
}

interface Answer {
  status: number
  headers: Record<string, unknown>
  body: string
}

/** Rejects if the connection ends before the response is complete. */
function post(body: string, agent: Agent | false = false): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { port } = proxy
    const sent = request({ port, host: '127.0.0.1', method: 'POST', path: '/push', agent }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString()
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text })
      })
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

test('without a fault requests and responses pass unchanged, several on a connection', async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const large = 'x'.repeat(300_000)
  for (const body of ['one', large, '']) {
    assert.deepEqual((await post(body, agent)).body, `taken: ${body}`)
  }
  agent.destroy()
  assert.deepEqual(whole, ['one', large, ''])
})

test('a request that is cut before the hub never gets there', async () => {
  meet({ kind: 'cut before' })
  await assert.rejects(post('lost'))
  assert.equal((await post('next')).body, 'taken: next')
  assert.deepEqual(whole, ['next'])
})

test('a request that is cut in its middle breaks off at the hub', async () => {
  meet({ kind: 'cut in request', share: 0.5 })
  await assert.rejects(post('y'.repeat(200_000)))
  await eventually(() => broken === 1, 'the hub notices')
  assert.deepEqual(whole, [])
})

test('a request that is cut before its response was executed', async () => {
  meet({ kind: 'cut before answer' })
  await assert.rejects(post('done'))
  assert.deepEqual(whole, ['done'])
})

test('a response that is cut in its middle was executed and arrives incomplete', async () => {
  meet({ kind: 'cut in answer', share: 0.9 })
  await assert.rejects(post('z'.repeat(100_000)))
  assert.equal(whole.length, 1)
})

test('a request arrives twice and is answered once', async () => {
  meet({ kind: 'twice' })
  assert.equal((await post('both')).body, 'taken: both')
  await eventually(() => whole.length === 2, 'the second one')
  assert.deepEqual(whole, ['both', 'both'])
})

test('a request arrives again after others', async () => {
  meet({ kind: 'again', afterMs: REST_MS })
  assert.equal((await post('first')).body, 'taken: first')
  assert.equal((await post('second')).body, 'taken: second')
  await eventually(() => whole.length === 3, 'the repetition')
  assert.deepEqual(whole, ['first', 'second', 'first'])
})

test('a late request arrives after those sent later', async () => {
  meet({ kind: 'late', afterMs: REST_MS })
  await assert.rejects(post('late'))
  assert.equal((await post('early')).body, 'taken: early')
  await eventually(() => whole.length === 2, 'the late one')
  assert.deepEqual(whole, ['early', 'late'])
})

test('a delayed request is answered later, others meanwhile', async () => {
  meet({ kind: 'delay', ms: REST_MS })
  const order: string[] = []
  const note = async (body: string) => order.push((await post(body)).body)
  await Promise.all([note('slow'), note('fast')])
  assert.deepEqual(order, ['taken: fast', 'taken: slow'])
})

test('a rejection has a Retry-After and never reaches the hub', async () => {
  meet({ kind: 'answer', status: 503, retryAfterS: 1 })
  const { status, headers } = await post('not now')
  assert.deepEqual([status, headers['retry-after']], [503, '1'])
  assert.deepEqual(whole, [])
})

test('a connection is rejected by the plan, and all of them while the proxy is stopped', async () => {
  proxy.plan = { refuses: () => true, next: () => ({ kind: 'none' }) }
  await assert.rejects(post('no'))
  proxy.plan = NO_FAULTS
  await proxy.stop()
  await assert.rejects(post('nobody'), { code: 'ECONNREFUSED' })
  await proxy.start()
  assert.equal((await post('again')).body, 'taken: again')
})

test('an old push can be sent once more', async () => {
  await proxy.repeatOld()
  assert.equal(whole.length, 1)
})

test('without a hub connections end', async () => {
  const lonely = new SyncProxy(() => 1)
  await lonely.start()
  await assert.rejects(fetch(`http://127.0.0.1:${lonely.port}/`))
  await lonely.stop()
})
