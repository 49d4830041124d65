import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectAsync } from 'mqtt'
import { FakeClock } from '#shared/testing/clocks.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { MINUTE_MS } from '#shared/time.ts'
import { Course } from '#testing/course/course.ts'
import { KillableGateway } from '#testing/killable-gateway.ts'
import { ANSWERS, Receiver } from '#testing/receiver.ts'
import { startGateway } from '#testing/start-gateway.ts'

const PACK = { empty_v: 46, full_v: 51, low_v: 48 }

test('from a voltage to a program and to people', async (t) => {
  const clock = new FakeClock()
  const settings = { CARTBARN_PUBLIC_URL: 'https://barn.example' }
  const g = await startGateway(settings, { clock, isTimeSynchronized: () => true })
  t.after(() => g.stop())
  const [program, people] = [await Receiver.open(t), await Receiver.open(t)]
  const site = { name: 'Pebble Creek', time_zone: 'Europe/Berlin', language: 'de', pack: PACK }
  await g.request('PATCH', '/site', { body: site })
  await g.request('POST', '/webhooks', { body: { url: program.url, kinds: ['low_battery'] } })
  await g.request('POST', '/notifiers', { body: { channel: 'ntfy', to: people.url } })
  const course = new Course(g, clock)
  await course.group(7)
  const lock = await course.device('lock-17', { cart: '17', groupId: 7 })
  await lock.goTo('barn')
  clock.advance(6 * MINUTE_MS)
  await lock.goTo('barn', { battery_voltage: 47.5 })
  await program.has(1)
  const [body] = program.bodies
  assert.deepEqual(
    [body.event, body.alert.kind, body.alert.cart, body.site.name],
    ['opened', 'low_battery', '17', 'Pebble Creek'],
  )
  assert.deepEqual((await g.request('GET', '/alerts')).body.alerts, [body.alert])
  await eventually(async () => (await g.request('GET', '/notifiers')).body[0].waiting === 1, 'it waits')
  clock.advance(30_000)
  await people.has(1)
  const [{ headers, text } = assert.fail()] = people.received
  assert.equal(
    text,
    [
      'Cart 17: Batterie schwach, 47,5 V in Ruhe (schwach unter 48 V)',
      'Wo: The barn (0.10000, 0.10000)',
      'Seit: 01.05.2026, 14:06',
      'https://barn.example/app/#cart=17',
    ].join('\n'),
  )
  assert.equal(headers.click, 'https://barn.example/app/#cart=17')
  const { alert_id } = body.alert
  await g.request('POST', `/alerts/${alert_id}/acknowledge`, { body: {} })
  await g.request('POST', `/alerts/${alert_id}/close`, { body: {} })
  await program.has(3)
  const shown = program.bodies.map(({ event, alert }) => [event, alert.alert_id])
  assert.deepEqual(
    shown,
    ['opened', 'acknowledged', 'closed'].map((event) => [event, alert_id]),
  )
})

test('a power cut between an alert and its webhook loses neither, and the delivery stays the same', async (t) => {
  const g = await KillableGateway.start(t)
  // during the sending, before any response
  const receiver = await Receiver.open(t, () => void g.kill())
  await g.request('PATCH', '/site', { body: { pack: PACK, rest_after_s: 1 } })
  await g.request('POST', '/webhooks', { body: { url: receiver.url, secret: 'x' } })
  const password = await g.register('lock-17')
  const client = await connectAsync(g.mqtt, { clientId: 'lock-17', username: 'lock-17', password, reconnectPeriod: 0 })
  client.on('error', () => undefined)
  t.after(() => client.endAsync(true))
  const say = () => {
    const reading = { ts: Date.now(), lat: 0.1, long: 0.1, speed: 0, battery_voltage: 47 }
    client.publish('dev/lock-17/tlm', JSON.stringify(reading), { qos: 0 })
  }
  const talk = setInterval(say, 500)
  await receiver.has(1, 60_000)
  clearInterval(talk)
  await g.kill()
  receiver.answer = ANSWERS.ok
  await g.start()
  await receiver.has(2, 60_000)
  const [before, after] = receiver.received
  assert.equal(after?.headers['x-cartbarn-delivery'], before?.headers['x-cartbarn-delivery'])
  assert.equal(after?.text, before?.text)
  const [{ event, alert }] = receiver.bodies
  assert.equal(event, 'opened')
  const { alert_id, kind } = (await g.request('GET', `/alerts/${alert.alert_id}`)).body
  assert.deepEqual([alert_id, kind], [alert.alert_id, 'low_battery'])
  const isDone = async () => {
    const [webhook] = (await g.request('GET', '/webhooks')).body
    return webhook.waiting === 0 && webhook.last_success_at !== null
  }
  await eventually(isDone, 'a success')
  assert.equal(receiver.received.length, 2)
})
