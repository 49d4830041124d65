import assert from 'node:assert/strict'
import { test } from 'node:test'
import { signal } from '@preact/signals-core'
import { ScriptedGateway } from '#dashboard/testing/scripted-gateway.ts'
import { eventually } from '#shared/testing/eventually.ts'
import type { GatewayConnectionState } from './gateway-connection.ts'
import { UpgradeMonitor } from './upgrade-monitor.ts'

const LOST: GatewayConnectionState = { kind: 'lost', sinceMs: 1 }
const health = (body: object, status = 503) => ({
  status,
  body: { timestamp: '', clock: 'trusted', ...body },
})

test('while the line is gone the gateway is asked whether it is being upgraded, and how far', async (t) => {
  const gateway = new ScriptedGateway()
  await gateway.start()
  t.after(() => gateway.stop())
  const line = signal<GatewayConnectionState>({ kind: 'live' })
  const timers: (() => void)[] = []
  const watch = new UpgradeMonitor({
    line: { state: line },
    url: `${gateway.url}/health`,
    setTimer: (action) => timers.push(action),
  })
  const askAgain = async () => {
    await eventually(() => timers.length > 0, 'it was answered')
    timers.shift()?.()
  }
  assert.equal(gateway.requests.length, 0)
  gateway.answers = [
    health({ status: 'upgrading' }),
    health({ status: 'upgrading', migration: '020-x', done: 2, of: 5 }),
    health({ status: 'starting' }),
    'drop',
    health({ status: 'ok' }, 200),
    health({ status: 'upgrading' }),
  ]
  line.value = LOST
  const steps: unknown[] = []
  for (let i = 0; i < 5; i++) {
    await eventually(() => timers.length > 0, 'it was answered')
    steps.push(watch.seen.value)
    await askAgain()
  }
  assert.deepEqual(steps, [{ step: null }, { step: { number: 3, of: 5 } }, { step: null }, null, null])
  await eventually(() => watch.seen.value !== null, 'the last answer')
  line.value = { kind: 'live' }
  assert.equal(watch.seen.value, null)
  await askAgain()
  assert.equal(gateway.requests.length, 6)
})
