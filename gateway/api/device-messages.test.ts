import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '#shared/testing/eventually.ts'
import { ok, publish, scene } from '#testing/scene.ts'

const { g, clock, onlyFor } = scene({ devices: ['cart-1'], inScope: ['cart-1'] })

interface Message {
  at: string
  topic: string
  payload: string
  encoding: string
  bytes: number
  result: string
  drops: { reason: string; count: number }[]
}

const messagesOf = async (id: string): Promise<Message[]> => (await ok(g.get(`/devices/${id}/messages`))).messages
const results = (messages: Message[]) => messages.map(({ topic, result }) => [topic.split('/')[2], result])

for (const id of ['cart-1', 'nowhere']) onlyFor('admins', ['GET', `/devices/${id}/messages`])

test('an unknown device is 404, and a device that sent nothing has no messages', async () => {
  assert.equal((await g.get('/devices/nowhere/messages')).body.code, 'device_not_found')
  assert.deepEqual(await messagesOf('cart-1'), [])
})

test('messages of all kinds are listed unchanged, newest first, with their results', async () => {
  const device = await g.device('a-1')
  const say = (level: string, payload: string | Buffer) => publish(device, `dev/a-1/${level}`, payload)
  const fast = JSON.stringify({ ts: clock.nowMs(), lat: 28.4, long: -81.5 })
  await say('tlm', fast)
  await say('tlm', '{"lat":28.4')
  await say('evt', '{"event":"unlock","source":"keypad","code":"4711"}')
  await say('st', Buffer.from([0xff, 0x00]))
  await say('tlm', '{"s":[{"lat":1,"long":2},{"lat":"x","long":2}]}')
  await say('tq', '{"up":5}')
  await eventually(async () => (await messagesOf('a-1')).length === 6, 'all messages')
  const messages = await messagesOf('a-1')
  assert.deepEqual(results(messages), [
    ['tq', 'answered'],
    ['tlm', 'stored'],
    ['st', 'invalid_utf8'],
    ['evt', 'stored'],
    ['tlm', 'invalid_json'],
    ['tlm', 'stored'],
  ])
  assert.deepEqual([messages[5]?.payload, messages[5]?.bytes], [fast, fast.length])
  assert.match(messages[3]?.payload ?? '', /4711/)
  assert.deepEqual([messages[2]?.encoding, messages[2]?.payload], ['base64', '/wA='])
  assert.equal(messages[1]?.drops.length, 1)
})

test('a message to a topic of another device is listed with the reason of its rejection', async () => {
  const device = await g.device('b-1')
  await device.publishAsync('carts/b-1/position', 'x', { qos: 0 })
  await eventually(async () => (await messagesOf('b-1')).length > 0, 'the message')
  const [message] = await messagesOf('b-1')
  assert.deepEqual([message?.topic, message?.result], ['carts/b-1/position', 'topic_not_writable'])
})

test('the last 20 messages are kept, across seconds, and a long payload is cut between characters', async () => {
  const device = await g.device('c-1')
  const say = (payload: string) => publish(device, 'dev/c-1/st', payload)
  const many = Array.from({ length: 30 }, (_, i) => say(JSON.stringify({ online: true, i })))
  await Promise.all(many)
  const payloads = (await messagesOf('c-1')).map(({ payload }) => JSON.parse(payload).i)
  assert.deepEqual(
    payloads,
    Array.from({ length: 20 }, (_, i) => 19 - i),
  )
  clock.advance(1000)
  const long = `{"online":true,"a":"${'ü'.repeat(1000)}"}`
  await say(long)
  const [message, ...others] = await messagesOf('c-1')
  assert.equal(others.length, 19)
  assert.deepEqual([message?.bytes, message?.encoding], [Buffer.byteLength(long), 'text'])
  assert.ok(long.startsWith(message?.payload ?? 'x') && (message?.payload.length ?? 0) > 500)
})

test('of many readings that arrive together on the fast lane the last are listed', async () => {
  const device = await g.device('d-1')
  const sent = Array.from({ length: 40 }, (_, i) =>
    publish(device, 'dev/d-1/tlm', `{"ts":${clock.nowMs() + i},"lat":1,"long":${i / 100}}`),
  )
  await Promise.all(sent)
  const messages = await messagesOf('d-1')
  assert.equal(messages.length, 20)
  assert.ok(messages.every(({ result }) => result === 'stored'))
})

test('a device that is registered again starts without messages', async () => {
  const device = await g.device('e-1')
  await publish(device, 'dev/e-1/st', '{"online":true}')
  assert.equal((await messagesOf('e-1')).length, 1)
  await g.remove('/devices/e-1')
  await g.register('e-1')
  assert.deepEqual(await messagesOf('e-1'), [])
})
