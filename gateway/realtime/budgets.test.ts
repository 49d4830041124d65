import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { eventually } from '#shared/testing/eventually.ts'
import { CommandedDevice } from '#testing/course/commanded-device.ts'
import type { RealtimeClient } from '#testing/realtime-client.ts'
import { ADMIN_KEY, metric, startGateway, type TestGateway } from '#testing/start-gateway.ts'

let gateway: TestGateway

before(async () => {
  gateway = await startGateway({ CARTBARN_REQUESTS_PER_SECOND: '50' })
})
after(() => gateway.stop())

function refused(budget: string): Promise<number> {
  return metric(gateway, 'cartbarn_budget_refused_total', budget)
}

test('a user has at most twenty sockets, and a closed one makes room', async () => {
  const { key } = await gateway.createUser({})
  const sockets = await Promise.all(Array.from({ length: 20 }, () => gateway.realtime(key)))
  const before = await refused('realtime_sockets')
  for (let i = 0; i < 5; i++) {
    const excess = await gateway.realtime(key)
    assert.equal(await excess.closed(), 1013)
  }
  assert.equal(await refused('realtime_sockets'), before + 5)
  for (const who of [ADMIN_KEY, (await gateway.createUser({})).key])
    assert.equal((await (await gateway.realtime(who)).next()).type, 'connected')
  sockets[0]?.terminate()
  await eventually(async () => {
    const again = await gateway.realtime(key)
    return Promise.race([again.next('connected'), again.closed().then(() => false)])
  }, 'a socket of the user is taken again')
})

test('messages count by user, over all its sockets and its HTTP requests', async () => {
  const { key } = await gateway.createUser({})
  const sockets = await Promise.all(Array.from({ length: 10 }, () => gateway.realtime(key)))
  const startMs = performance.now()
  for (let i = 0; i < 40; i++) for (const socket of sockets) socket.send({ type: 'ping', id: i })
  const answers = await Promise.all(sockets.map((socket) => answersOf(socket, 40)))
  const pongs = answers.flat().filter(({ type }) => type === 'pong').length
  const seconds = (performance.now() - startMs) / 1000
  // 50 a second, with bursts of 200
  assert.ok(pongs >= 180 && pongs <= 210 + 50 * seconds, `${pongs} pongs in ${seconds} s`)
  for (const { type, code, id } of answers.flat()) {
    if (type === 'pong') continue
    assert.deepEqual([type, code, typeof id], ['error', 'rate_limited', 'number'])
  }
  const byHttp = await Promise.all(Array.from({ length: 20 }, () => gateway.request('GET', '/devices', { key })))
  assert.ok(byHttp.some(({ status }) => status === 429))
  assert.equal((await gateway.request('GET', '/devices')).status, 200)
})

async function answersOf(socket: RealtimeClient, count: number) {
  const answers = []
  while (answers.length < count) {
    const answer = await socket.next()
    if (answer.type !== 'connected') answers.push(answer)
  }
  return answers
}

test('a client that floods commands delays only its own commands', async () => {
  const [one, other] = ['cart-flooded', 'cart-of-the-shop']
  for (const id of [one, other]) await CommandedDevice.connect(gateway, id, await gateway.register(id))
  const { key } = await gateway.createUser({ allowed_hardware_ids: [one] })
  const sockets = await Promise.all(Array.from({ length: 20 }, () => gateway.realtime(key)))
  const metadata = { note: 'x'.repeat(3_900) }
  const flood = setInterval(() => {
    for (const socket of sockets) socket.send({ type: 'command', hardwareId: one, command: 'lock', metadata })
  }, 30)
  try {
    for (let i = 0; i < 5; i++) {
      await new Promise((resolve) => setTimeout(resolve, 200))
      const startMs = performance.now()
      const body = { command: 'unlock' }
      assert.equal((await gateway.request('POST', `/devices/${other}/commands`, { body })).status, 202)
      assert.ok(performance.now() - startMs < 5_000, `answered after ${performance.now() - startMs} ms`)
    }
  } finally {
    clearInterval(flood)
  }
})

test('one user locks five hundred carts in one request', async (t) => {
  // devices are registered faster than staff would
  const gateway = await startGateway()
  t.after(() => gateway.stop())
  const group = await gateway.request('POST', '/groups', { body: { name: 'All' } })
  const ids = Array.from({ length: 500 }, (_, i) => `fleet-${i}`)
  for (const hardware_id of ids) {
    const body = { hardware_id, device_type: 'teebox', group_id: group.body.group_id }
    assert.equal((await gateway.request('POST', '/devices', { body })).status, 201)
  }
  const path = `/groups/${group.body.group_id}/commands`
  const { status, body } = await gateway.request('POST', path, { body: { command: 'lock' } })
  assert.deepEqual([status, body.commands?.length ?? body.length], [202, 500])
})
