import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { type Signal, signal } from '@preact/signals-core'
import { ScriptedGateway } from '#dashboard/testing/scripted-gateway.ts'
import { ApiClient, ApiError } from '#shared/client.ts'
import { eventually } from '#shared/testing/eventually.ts'
import type { MeJson } from '#shared/wire/sessions.ts'
import type { GatewayConnectionState } from './gateway-connection.ts'
import { RecallMonitor, type ScreenState } from './recall.ts'

const AT = '2026-05-01T12:00:00.000Z'
const RECALL = { recall_id: 'r-1', text: 'All in', started_at: AT, by: { user_id: 'u', name: 'Anna' } }
const NONE = { status: 200, body: { active: null, carts: [] } }

let gateway: ScriptedGateway
let line: Signal<GatewayConnectionState>
let role: Signal<MeJson['role']>
let timers: (() => void)[]

beforeEach(async () => {
  timers = []
  gateway = new ScriptedGateway()
  await gateway.start()
  line = signal<GatewayConnectionState>({ kind: 'connecting' })
  role = signal<MeJson['role']>('staff')
})

afterEach(() => gateway.stop())

function watch(): RecallMonitor {
  return new RecallMonitor({
    api: new ApiClient({ url: gateway.url }),
    line: { state: line },
    role,
    setTimer: (action) => timers.push(action),
  })
}

function active(screen: ScreenState) {
  return { status: 200, body: { active: RECALL, carts: [{ cart: '17', state: 'out', screen }] } }
}

function asked(times: number): Promise<void> {
  return eventually(() => gateway.requests.length === times && timers.length > 0, `${times} requests`)
}

/** Runs all pending timers. */
function pass(): void {
  for (const action of timers.splice(0)) action()
}

test('the recall is requested once connected, and again at the end of a pause after messages', async () => {
  gateway.answers = [active('sent'), active('confirmed')]
  const recall = watch()
  assert.deepEqual(gateway.requests, [])
  line.value = { kind: 'live' }
  await eventually(() => recall.now.value?.screens.get('17') === 'sent', 'sent')
  await asked(1)
  const message = { type: 'recall', event: 'confirmed', recall: RECALL, timestamp: AT } as const
  recall.take(message)
  recall.take(message)
  assert.equal(gateway.requests.length, 1)
  pass()
  await eventually(() => recall.now.value?.screens.get('17') === 'confirmed', 'confirmed')
  assert.equal(gateway.requests.length, 2)
})

test('the absence of a recall is known only after the response of the gateway', async () => {
  gateway.answers = [NONE]
  const recall = watch()
  assert.equal(recall.isKnown.value, false)
  line.value = { kind: 'live' }
  await eventually(() => recall.isKnown.value, 'known')
  assert.equal(recall.now.value, null)
  role.value = 'user'
  assert.equal(recall.isKnown.value, false)
})

test('a recall begun or ended by others is known immediately', async () => {
  gateway.answers = [NONE, active('sent'), NONE]
  const recall = watch()
  line.value = { kind: 'live' }
  await asked(1)
  recall.take({ type: 'recall', event: 'started', recall: RECALL, timestamp: AT })
  assert.equal(recall.now.value?.recall.text, 'All in')
  pass()
  await eventually(() => recall.now.value?.screens.size === 1, 'the screens')
  assert.equal(recall.endedText.value, null)
  recall.take({ type: 'recall', event: 'ended', recall: RECALL, timestamp: AT })
  assert.deepEqual([recall.now.value, recall.endedText.value], [null, 'All in'])
})

test('a recall can be begun and ended, and a rejection is thrown', async () => {
  gateway.answers = [NONE]
  const recall = watch()
  line.value = { kind: 'live' }
  await asked(1)
  gateway.answers = [{ status: 201, body: RECALL }]
  await recall.begin('All in')
  assert.deepEqual(gateway.requests.at(-1)?.body, { text: 'All in' })
  assert.equal(recall.now.value?.recall.recall_id, 'r-1')
  gateway.answers = [{ status: 200, body: { success: true, deleted: 'r-1' } }]
  await recall.end()
  assert.deepEqual([recall.now.value, recall.endedText.value], [null, 'All in'])
  gateway.answers = [{ status: 409, body: { code: 'recall_active', detail: 'x' } }]
  await assert.rejects(recall.begin(''), (error) => error instanceof ApiError && error.code === 'recall_active')
})

test('a user does not request the recall', async () => {
  role.value = 'user'
  gateway.answers = [NONE]
  watch()
  line.value = { kind: 'live' }
  assert.deepEqual(timers, [])
  role.value = 'staff'
  await asked(1)
})
