import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '#shared/testing/eventually.ts'
import { MINUTE_MS } from '#shared/time.ts'
import { AlertCourse } from '#testing/course/alert-course.ts'

test('two devices with one id are reported: a self-closing alert, a device counter and a metric', async (t) => {
  const course = await AlertCourse.open(t)
  const { gateway, clock } = course
  const password = await gateway.register('gps-18')
  const program = () => gateway.program({ clientId: 'twins' })
  await course.settle()
  for (let i = 0; i < 4; i++) {
    await gateway.connect('gps-18', password)
    await program()
  }
  await course.becomes(['+device_twice'])
  const [alert] = await course.list()
  assert.deepEqual([alert?.cart, alert?.hardware_id, alert?.details], ['gps-18', 'gps-18', { hardware_id: 'gps-18' }])
  assert.equal((await gateway.request('GET', '/devices/gps-18/details')).body.mqtt.taken_over, 3)
  const { body } = await gateway.request('GET', '/mqtt/clients')
  const shown = body.clients.map((one: { client_id: string; taken_over: number }) => [one.client_id, one.taken_over])
  assert.deepEqual(shown, [
    ['gps-18', 3],
    ['twins', null],
  ])
  const { body: metrics } = await gateway.request('GET', '/metrics')
  assert.match(metrics, /^cartbarn_mqtt_refused_total\{reason="client_id_used_twice"\} 2$/m)
  assert.match(metrics, /^cartbarn_alerts\{kind="device_twice"\} 1$/m)
  clock.advance(MINUTE_MS)
  await course.becomes(['-device_twice'])
  await gateway.connect('gps-18', password)
  await eventually(async () => (await course.course.cart('gps-18')).open_alerts.length === 0, 'the cart has none')
  assert.deepEqual(await course.story(), ['-device_twice'])
})
