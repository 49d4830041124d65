import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { type Signal, signal } from '@preact/signals-core'
import { type ScriptedAnswer as Answer, ScriptedGateway } from '#dashboard/testing/scripted-gateway.ts'
import { ApiClient } from '#shared/client.ts'
import { eventually } from '#shared/testing/eventually.ts'
import type { CommandJson, CommandStatus } from '#shared/wire/commands.ts'
import { type CommandInput, type CommandProgress, CommandTracker, type Stage } from './commands.ts'
import type { GatewayConnectionState } from './gateway-connection.ts'

const LOCK: CommandInput = { cart: '17', hardwareId: 'tb-17', command: 'lock' }
const CREATED = '2026-05-01T12:00:00.000Z'
const EXPIRES = '2026-05-01T12:01:00.000Z'

let gateway: ScriptedGateway
let line: Signal<GatewayConnectionState>
let nowMs: number
let timers: { atMs: number; action: () => void }[]
let desk: CommandTracker

beforeEach(async () => {
  ;[timers, nowMs] = [[], 0]
  gateway = new ScriptedGateway()
  await gateway.start()
  line = signal<GatewayConnectionState>({ kind: 'live' })
  desk = new CommandTracker({
    api: new ApiClient({ url: gateway.url }),
    line: { state: line },
    monotonicMs: () => nowMs,
    setTimer: (action, ms) => timers.push({ atMs: nowMs + ms, action }),
  })
})

afterEach(() => gateway.stop())

/** Advances the time and runs due timers. */
function pass(ms: number): void {
  nowMs += ms
  const due = timers.filter(({ atMs }) => atMs <= nowMs)
  timers = timers.filter(({ atMs }) => atMs > nowMs)
  for (const { action } of due) action()
}

function command(status: CommandStatus, more: Partial<CommandJson> = {}): Answer {
  const body: Partial<CommandJson> = {
    command_id: 'c-1',
    status,
    error: null,
    created_at: CREATED,
    expires_at: EXPIRES,
    published_at: null,
    ...more,
  }
  return { status: 202, body }
}

function refusal(status: number, code: string, headers: Record<string, string> = {}): Answer {
  return { status, body: { code, detail: `because of ${code}` }, headers }
}

function publish(status: CommandStatus, error?: string, commandId = 'c-1'): void {
  const about = { commandId, hardwareId: 'tb-17', command: 'lock', timestamp: CREATED }
  desk.take({ type: 'command_status', ...about, status, ...(error === undefined ? {} : { error }) })
}

function stageIs(course: CommandProgress, kind: Stage['kind'], code?: string): Promise<void> {
  const isIt = ({ value }: CommandProgress['stage']) =>
    value.kind === kind && (value.kind === 'failed' ? value.code : undefined) === code
  return eventually(() => isIt(course.stage), `${kind} ${code ?? ''}`)
}

/** Schedules a timer of the test's clock. */
function waits(ms: number): Promise<void> {
  return eventually(() => timers.some(({ atMs }) => atMs === nowMs + ms), `a timer of ${ms} ms`)
}

test('a command follows the states of the gateway, and is done only when the device confirms it', async () => {
  gateway.answers = [command('pending')]
  const course = desk.send({ ...LOCK, metadata: { name: 'Jane' }, force: true })
  assert.equal(course.stage.value.kind, 'sending')
  assert.equal(desk.courseOf('17'), course)
  await stageIs(course, 'waiting')
  assert.deepEqual(gateway.requests[0]?.request, 'POST /devices/tb-17/commands')
  assert.deepEqual(gateway.requests[0]?.body, { command: 'lock', metadata: { name: 'Jane' }, force: true })
  publish('published')
  await stageIs(course, 'sent')
  publish('acknowledged')
  await stageIs(course, 'sent')
  publish('completed')
  await stageIs(course, 'done')
  publish('published')
  await stageIs(course, 'done')
})

test('updates that arrive before the response count, and the response does not revert them', async () => {
  gateway.answers = [command('pending')]
  const course = desk.send(LOCK)
  publish('published')
  publish('completed')
  publish('completed', undefined, 'c-other')
  await stageIs(course, 'done')
})

for (const [code, status] of [
  ['cart_is_moving', 409],
  ['admin_required', 403],
  ['device_not_found', 404],
] as const) {
  test(`a command is rejected immediately: ${code}`, async () => {
    gateway.answers = [refusal(status, code)]
    await stageIs(desk.send(LOCK), 'failed', code)
  })
}

test('too many requests report when to try again', async () => {
  gateway.answers = [refusal(429, 'rate_limited', { 'retry-after': '7' })]
  const course = desk.send(LOCK)
  await stageIs(course, 'failed', 'rate_limited')
  const { value } = course.stage
  assert.equal(value.kind === 'failed' && value.retryAfterS, 7)
})

test('a command fails if the device rejects it, or a rule does before it is sent', async () => {
  for (const error of ['lock jammed', 'position_unknown', 'superseded']) {
    gateway.answers = [command('pending')]
    const course = desk.send(LOCK)
    await stageIs(course, 'waiting')
    publish('failed', error)
    await stageIs(course, 'failed', error)
  }
})

test('an expired command distinguishes whether it had been sent to the device', async () => {
  gateway.answers = [command('pending'), command('pending', { command_id: 'c-2' })]
  const unsent = desk.send(LOCK)
  await stageIs(unsent, 'waiting')
  publish('timeout')
  await stageIs(unsent, 'failed', 'expired_unsent')
  const published = desk.send(LOCK)
  await stageIs(published, 'waiting')
  publish('published', undefined, 'c-2')
  publish('timeout', undefined, 'c-2')
  await stageIs(published, 'failed', 'expired')
})

test('without a connection no command is sent', async () => {
  line.value = { kind: 'lost', sinceMs: 0 }
  await stageIs(desk.send(LOCK), 'failed', 'no_contact')
  assert.deepEqual(gateway.requests, [])
})

test('a request whose response was lost is sent again with the same key', async () => {
  gateway.answers = ['drop', { status: 502, body: 'no gateway' }, command('completed')]
  const course = desk.send(LOCK)
  await waits(1_000)
  pass(1_000)
  await waits(1_000)
  pass(1_000)
  await stageIs(course, 'done')
  assert.equal(new Set(gateway.requests.map(({ key }) => key)).size, 1)
  assert.match(gateway.requests[0]?.key ?? '', /^[0-9a-f]{32}$/)
})

test('after the retry time a command without a response fails as no_answer and is not sent again', async () => {
  gateway.answers = ['drop', 'drop']
  const course = desk.send(LOCK)
  await waits(1_000)
  nowMs = 21_000
  pass(0)
  await stageIs(course, 'failed', 'no_answer')
  assert.equal(gateway.requests.length, 2)
})

test('after a lost connection the gateway is queried for the command once it is back', async () => {
  gateway.answers = [command('published')]
  const course = desk.send(LOCK)
  await stageIs(course, 'sent')
  line.value = { kind: 'lost', sinceMs: 0 }
  gateway.answers = [command('completed')]
  line.value = { kind: 'live' }
  await stageIs(course, 'done')
  assert.equal(gateway.requests.at(-1)?.request, 'GET /commands/c-1')
})

test('a command whose session ended meanwhile fails as signed_out', async () => {
  gateway.answers = [command('published')]
  const course = desk.send(LOCK)
  await stageIs(course, 'sent')
  line.value = { kind: 'lost', sinceMs: 0 }
  gateway.answers = [refusal(401, 'invalid_session')]
  line.value = { kind: 'live' }
  await stageIs(course, 'failed', 'signed_out')
  gateway.answers = [refusal(401, 'invalid_session')]
  await stageIs(desk.send(LOCK), 'failed', 'signed_out')
})

test('a command without a reported end is queried repeatedly', async () => {
  gateway.answers = [command('published')]
  const course = desk.send(LOCK)
  await stageIs(course, 'sent')
  gateway.answers = ['drop']
  pass(62_000)
  await waits(5_000)
  gateway.answers = [command('timeout', { published_at: CREATED })]
  pass(5_000)
  await stageIs(course, 'failed', 'expired')
})

test('the next command of a cart replaces the last, which is still tracked', async () => {
  gateway.answers = [command('pending'), command('pending', { command_id: 'c-2' })]
  const lock = desk.send(LOCK)
  await stageIs(lock, 'waiting')
  const unlock = desk.send({ ...LOCK, command: 'unlock' })
  assert.equal(desk.courseOf('17'), unlock)
  publish('failed', 'superseded')
  await stageIs(lock, 'failed', 'superseded')
  await stageIs(unlock, 'waiting')
  desk.clear()
  assert.equal(desk.courseOf('17'), null)
})
