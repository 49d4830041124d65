import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WebSocket } from 'ws'
import { Fleet } from '#dashboard/live/fleet/fleet.ts'
import { GatewayClock } from '#dashboard/live/gateway-clock.ts'
import { GatewayConnection, type LineEvents } from '#dashboard/live/gateway-connection.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { startGateway } from '#testing/start-gateway.ts'

test('a tablet with a cookie is live, live again after a restart, and signed out when its session ends', async (t) => {
  const g = await startGateway()
  t.after(() => g.stop())
  await g.device('cart-1')
  const { userId } = await g.createUser({ role: 'staff', allowed_hardware_ids: ['*'] })
  const { cookie, sessionId } = await g.pair(userId)
  const clock = new GatewayClock()
  const fleet = new Fleet()
  const starts = new Set<string>()
  let address = g.http.replace('http', 'ws')
  const line = new GatewayConnection({
    clock,
    open: ({ received, closed }: LineEvents) => {
      const socket = new WebSocket(`${address}/realtime`, {
        headers: { cookie, origin: address.replace('ws', 'http') },
      })
      socket.on('message', (text) => received(text.toString()))
      socket.on('close', closed)
      // it is closed as well
      socket.on('error', () => undefined)
      return socket
    },
    take: (message) => {
      fleet.take(message)
      if (message.type === 'connected') starts.add(message.started_at)
    },
  })
  t.after(() => line.stop())
  const isLive = () => line.state.value.kind === 'live'

  line.start()
  await eventually(isLive, 'the line is live')
  assert.equal(fleet.devices.get('cart-1')?.is_online, true)
  assert.deepEqual([...fleet.carts.keys()], ['cart-1'])
  assert.ok(Math.abs(clock.nowMs() - Date.now()) < 5_000)

  await g.restart(() => assert.equal(line.state.value.kind, 'lost'))
  address = g.http.replace('http', 'ws')
  await eventually(isLive, 'the line is live again')
  assert.equal(starts.size, 2, 'the gateway says that it is another start')
  await g.register('cart-2')
  await eventually(() => fleet.devices.has('cart-2'), 'it goes on with what happens')

  await g.request('DELETE', `/sessions/${sessionId}`)
  await eventually(() => line.state.value.kind === 'ended', 'somebody has to sign in')
  line.hurry()
  assert.equal(line.state.value.kind, 'ended')
})
