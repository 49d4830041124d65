import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '#shared/client.ts'
import type { MeJson } from '#shared/wire/sessions.ts'
import type { Role } from '#shared/wire/users.ts'
import { isAtLeast, PersonGate, PinCancelled } from './pin-prompt.ts'
import { Preferences } from './preferences.ts'

const NOON_MS = Date.parse('2026-05-01T12:00:00Z')

/** Creates the login of a tablet of a role, with a PIN user until a time. */
function me(role: Role, untilMs: number | null): MeJson {
  const person =
    untilMs === null ? null : { user_id: 'jane', name: 'Jane', role: 'staff', until: new Date(untilMs).toISOString() }
  // only the members that the gate reads
  return { user: { role }, role, session: { session_id: 's', name: 'Shop', person } } as MeJson
}

function refusal(code: string): ApiError {
  const text = JSON.stringify({ code, detail: code })
  return new ApiError('POST /x', new Response(text, { status: 403 }), text)
}

/** Creates a gate, and the gateway's next response about the tablet. */
function bench(role: Role, untilMs: number | null, then: MeJson = me(role, null), havePins = true) {
  const preferences = new Preferences(() => {
    throw new Error('forbidden')
  })
  const state = { me: me(role, untilMs), refreshed: 0, asked: 0, nowMs: NOON_MS }
  const gate = new PersonGate({
    me: () => state.me,
    nowMs: () => state.nowMs,
    preferences,
    refresh: async () => {
      state.refreshed++
      state.me = then
    },
    day: () => new Date(state.nowMs).toISOString().slice(0, 10),
    havePins: async () => {
      state.asked++
      return havePins
    },
  })
  return { gate, preferences, state }
}

test('a tablet without a PIN user acts as itself', async () => {
  const { gate, state } = bench('staff', null)
  assert.equal(await gate.act(async () => 'locked'), 'locked')
  assert.equal(gate.question, null)
  assert.equal(state.refreshed, 0)
})

test('a shared tablet asks for its user before the first action of a day, and may continue as itself', async () => {
  const { gate, state } = bench('staff', null)
  state.me = { ...state.me, user: { ...state.me.user, name: 'Shop' } }
  const first = gate.act(async () => 'locked')
  await new Promise(setImmediate)
  assert.deepEqual(gate.question, { reason: 'first', role: 'user' })
  gate.asTablet()
  assert.equal(await first, 'locked')
  assert.equal(await gate.act(async () => 'beeped'), 'beeped')
  assert.equal(state.asked, 1)
  state.nowMs += 86_400_000
  const next = gate.act(async () => 'locked')
  await new Promise(setImmediate)
  state.me = { ...me('staff', state.nowMs + 60_000), user: state.me.user }
  gate.done()
  assert.equal(await next, 'locked')
  assert.equal(await gate.act(async () => 'beeped'), 'beeped')
  assert.equal(state.asked, 2)
})

test('a shared tablet acts as itself while no user has a PIN', async () => {
  const { gate, state } = bench('staff', null, me('staff', null), false)
  state.me = { ...state.me, user: { ...state.me.user, name: 'Shop' } }
  for (const act of ['locked', 'beeped']) assert.equal(await gate.act(async () => act), act)
  assert.equal(state.asked, 1)
})

test('a user who was idle for too long must enter the PIN before any action', async () => {
  const { gate, preferences, state } = bench('staff', NOON_MS + 1_000)
  preferences.remember('jane')
  assert.equal(await gate.act(async () => 'locked'), 'locked')
  assert.equal(state.refreshed, 0, 'the person still acts')
  state.nowMs += 2_000
  let isDone = false
  const acted = gate.act(async () => {
    isDone = true
  })
  await new Promise(setImmediate)
  assert.deepEqual(gate.question, { reason: 'idle', role: 'user' })
  assert.equal(isDone, false)
  gate.done()
  await acted
  assert.ok(isDone)
  assert.equal(gate.question, null)
})

test('recent activity keeps the PIN user, without a prompt', async () => {
  const { gate, preferences, state } = bench('staff', NOON_MS - 1, me('staff', NOON_MS + 600_000))
  preferences.remember('jane')
  assert.equal(await gate.act(async () => 'locked'), 'locked')
  assert.equal(state.refreshed, 1)
})

test('an admin whose rights have ended gets the prompt, and then the action is done', async () => {
  const { gate } = bench('admin', null)
  let tries = 0
  const acted = gate.act(async () => {
    if (++tries === 1) throw refusal('admin_required')
    return tries
  })
  await new Promise(setImmediate)
  assert.deepEqual(gate.question, { reason: 'rights', role: 'admin' })
  gate.done()
  assert.equal(await acted, 2)
})

test('cancelling the prompt cancels the action', async () => {
  const { gate } = bench('admin', null)
  const acted = gate.act(() => Promise.reject(refusal('admin_required')))
  await new Promise(setImmediate)
  gate.cancel()
  await assert.rejects(acted, PinCancelled)
})

test('an action that the tablet can never do, or that a PIN cannot allow, is rejected', async () => {
  const { gate } = bench('staff', null)
  await assert.rejects(
    gate.act(() => Promise.reject(refusal('admin_required'))),
    { code: 'admin_required' },
  )
  const admin = bench('admin', null).gate
  await assert.rejects(
    admin.act(() => Promise.reject(refusal('cart_forbidden'))),
    { code: 'cart_forbidden' },
  )
  assert.equal(admin.question, null)
})

test('one PIN serves all waiting actions, and a prompt for more rights replaces it', async () => {
  const { gate } = bench('admin', null)
  const [one, other] = [gate.ask({ reason: 'rights', role: 'staff' }), gate.ask({ reason: 'idle', role: 'user' })]
  gate.done()
  await Promise.all([one, other])
  const idle = gate.ask({ reason: 'idle', role: 'user' })
  const rights = gate.ask({ reason: 'rights', role: 'admin' })
  await assert.rejects(idle, PinCancelled)
  gate.done()
  await rights
})

test('an admin has the rights of staff, and staff those of a user', () => {
  assert.ok(isAtLeast('admin', 'staff') && isAtLeast('staff', 'staff') && isAtLeast('staff', 'user'))
  assert.ok(!isAtLeast('user', 'staff') && !isAtLeast('staff', 'admin'))
})
