import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CommandedDevice } from '#testing/course/commanded-device.ts'
import { ok, scene } from '#testing/scene.ts'

const { g } = scene()
/** Contract: 500 screens within five seconds; a run without CARTBARN_TEST_LONG has fewer. */
const SCREENS = process.env.CARTBARN_TEST_LONG === undefined ? 60 : 500
const LIMIT_MS = 5_000

test(`${SCREENS} connected screens show a message within five seconds, and all confirm it`, async (t) => {
  const carts = Array.from({ length: SCREENS }, (_, at) => String(at + 1))
  const screens: CommandedDevice[] = []
  for (const cart of carts) {
    const body = { hardware_id: `screen-${cart}`, device_type: 'cartcaddie', cart }
    const { mqtt } = await ok(g.post('/devices', body), 201)
    screens.push(await CommandedDevice.connect(g, body.hardware_id, mqtt.password))
  }
  const startedMs = performance.now()
  const { message_id } = await ok(g.post('/messages', { text: 'Fog.', to: { carts } }), 201)
  const commands = await Promise.all(screens.map((screen) => screen.next(4 * LIMIT_MS)))
  const tookMs = performance.now() - startedMs
  t.diagnostic(`${SCREENS} screens: ${Math.round(tookMs)} ms`)
  assert.ok(tookMs < LIMIT_MS, `${tookMs} ms`)
  await Promise.all(screens.map((screen, at) => screen.ack(commands[at]?.id ?? '', 'completed')))
  const read = await ok(g.get(`/messages/${message_id}`))
  assert.deepEqual(new Set(read.carts.map(({ screen }: { screen: string }) => screen)), new Set(['confirmed']))
  await Promise.all(screens.map((screen) => screen.leave()))
})
