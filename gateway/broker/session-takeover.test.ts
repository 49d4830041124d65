import assert from 'node:assert/strict'
import { duplexPair } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { createLog } from '#shared/log.ts'
import { FakeClock } from '#shared/testing/clocks.ts'
import { startBroker } from '#testing/open-broker.ts'
import { RawMqtt } from '#testing/raw-mqtt.ts'

const REASON = 'client_id_used_twice'

async function start(t: TestContext) {
  const clock = new FakeClock()
  const lines: Record<string, unknown>[] = []
  const log = createLog('warn', { write: (line: string) => void lines.push(JSON.parse(line)) })
  const contests: number[] = []
  const port = { contested: (_login: object, takeovers: number) => void contests.push(takeovers) }
  const opened = await startBroker(t, { clock, log, port })
  const logIn = async (address: string, clientId = 'twin') => {
    const [theirs, ours] = duplexPair()
    opened.handle(ours, address)
    const client = new RawMqtt(theirs)
    assert.equal(await client.login({ clientId }), 0)
    return client
  }
  return { clock, lines, contests, logIn, broker: opened.broker }
}

test('a contest between two clients with one id logs one line and reports each takeover', async (t) => {
  const { clock, lines, contests, logIn, broker } = await start(t)
  for (const address of ['10.0.0.5', '10.0.0.6', '10.0.0.5', '10.0.0.6', '10.0.0.5', '10.0.0.6']) {
    clock.advance(8000)
    await logIn(address)
  }
  assert.deepEqual(contests, [3, 1, 1])
  assert.equal(broker.refusals.counts.get(REASON), 1)
  assert.equal(lines.length, 1)
  const { refused, clientId, advice } = lines[0] ?? {}
  assert.deepEqual([refused, clientId], [REASON, 'twin'])
  assert.match(String(advice), /10\.0\.0\.5 .*10\.0\.0\.6/)
})

test('a client that replaces its silent or removed connection does not count as a second client', async (t) => {
  const { clock, contests, logIn, broker } = await start(t)
  for (let i = 0; i < 6; i++) {
    await logIn('10.0.0.5')
    clock.advance(5000)
  }
  for (let i = 0; i < 6; i++) {
    await logIn('10.0.0.5', 'other')
    await broker.removeClient('other')
  }
  // as if bytes still arrived on the old connection
  for (let i = 0; i < 6; i++) {
    const client = await logIn('10.0.0.5', 'third')
    clock.advance(5000)
    await client.flush()
  }
  assert.deepEqual([contests.length, contests[0]], [3, 3])
})
