import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FakeClock } from '#shared/testing/clocks.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { Course, PLACES } from '#testing/course/course.ts'
import { startGateway } from '#testing/start-gateway.ts'

const ZONES = 100
const CARTS = ['1', '2', '3', '4', '5']
const ALERTS = ZONES * CARTS.length
const SOCKETS = 10

test('five hundred alerts opened together are stored, sent to programs and shown on every screen', async (t) => {
  const clock = new FakeClock()
  const gateway = await startGateway({}, { clock })
  t.after(() => gateway.stop())
  const course = new Course(gateway, clock)
  const { lat, long } = PLACES.green
  const features = Array.from({ length: ZONES }, (_, i) => ({
    type: 'Feature',
    id: `green-${i}`,
    geometry: { type: 'Point', coordinates: [long, lat] },
    properties: { name: `Green ${i}`, type: 'stop', radius_m: 50 + i / 10 },
  }))
  await course.group(7, { type: 'FeatureCollection', features })
  for (const cart of CARTS) {
    const lock = await course.device(`lock-${cart}`, { cart, groupId: 7 })
    await lock.goTo('green')
  }
  const received = new Map<number, number>()
  const sockets = await Promise.all(Array.from({ length: SOCKETS }, () => gateway.realtime()))
  for (const [i, { socket }] of sockets.entries())
    socket.on('message', (data) => {
      if (JSON.parse(data.toString()).type === 'alert') received.set(i, (received.get(i) ?? 0) + 1)
    })
  const program = await gateway.program()
  await program.subscribeAsync('alert/#', { qos: 1 })
  let messages = 0
  program.on('message', () => messages++)
  clock.advance(61_000)
  const startedAtMs = performance.now()
  const isReceived = () => sockets.every((_, i) => received.get(i) === ALERTS)
  await eventually(isReceived, `${ALERTS} on each of ${SOCKETS} sockets`)
  t.diagnostic(`${Math.round(performance.now() - startedAtMs)} ms, up to a second of them until carts are judged`)
  await eventually(() => messages === ALERTS, 'the program')
  const { body } = await gateway.request('GET', '/alerts?limit=1000&state=open')
  assert.equal(body.alerts.length, ALERTS)
  assert.equal((await course.cart('1')).open_alerts.length, ZONES)
  // each topic holds the newest open alert
  await gateway.request('POST', `/alerts/${body.alerts[0].alert_id}/close`)
  await eventually(() => messages === ALERTS + 1, 'the program')
})
