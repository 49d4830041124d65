import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { DAY_MS } from '../../shared/time.ts'
import type { AgentRig } from '../testing/agent-rig.ts'
import { ManualClock } from '../testing/manual-clock.ts'
import { startRig } from '../testing/rigs.ts'
import { daysOfTonight, nightOf } from './audit-plan.ts'

const DAY = Date.UTC(2026, 3, 30)

/** A rig whose hub has everything: lock events of two carts, and telemetry of two days. */
async function startDrained(t: TestContext): Promise<AgentRig> {
  const rig = await startRig(t)
  rig.source.append('lock_events', 10, { group: 'cart-1', day: DAY })
  rig.source.append('lock_events', 5, { group: 'cart-2', day: DAY })
  rig.source.append('telemetry', 20, { group: 'cart-1', day: DAY })
  rig.source.append('telemetry', 20, { group: 'cart-1', day: DAY - DAY_MS })
  await rig.until(() => rig.isDrained, 'drained')
  await rig.step('monitor')
  return rig
}

function rowsAtHub(rig: AgentRig, stream: 'lock_events' | 'telemetry') {
  const stored = rig.hub.epochs.get(rig.source.identity().epoch)
  assert.ok(stored !== undefined)
  return stored.rows[stream]
}

test('an audit that is asked for compares everything and says how much was confirmed', async (t) => {
  const rig = await startDrained(t)
  await rig.agent.audit()
  assert.equal(rig.agent.status.audit.state, 'wanted')
  await rig.step('audit')
  const { state, last } = rig.agent.status.audit
  assert.equal(state, 'idle')
  assert.equal(last?.isEverything, true)
  assert.deepEqual(last?.counts.lock_events, { rows: 15, confirmed: 15, resent: 0, extra: 0 })
  assert.deepEqual(last?.counts.gps, { rows: 40, confirmed: 40, resent: 0, extra: 0 })
})

test('rows the hub lacks are sent again, and compared once more', async (t) => {
  const rig = await startDrained(t)
  rowsAtHub(rig, 'lock_events').splice(2, 3)
  rowsAtHub(rig, 'telemetry').splice(25, 1)
  await rig.agent.audit()
  await rig.step('audit')
  const { last } = rig.agent.status.audit
  assert.deepEqual(last?.counts.lock_events, { rows: 15, confirmed: 15, resent: 10, extra: 0 })
  assert.deepEqual(last?.counts.gps, { rows: 40, confirmed: 40, resent: 20, extra: 0 })
  assert.deepEqual([rowsAtHub(rig, 'lock_events').length, rowsAtHub(rig, 'telemetry').length], [15, 40])
  const resent = rig.hub.pushes.flatMap(({ parts }) => parts).filter(({ is_resend }) => is_resend === true)
  assert.ok(resent.every(({ from, to }) => from === 0 && to === 0))
  assert.equal(rig.hub.duplicates, 0)
})

test('what the hub does not keep although it is sent again stays unconfirmed', async (t) => {
  const rig = await startDrained(t)
  rowsAtHub(rig, 'lock_events').splice(0, 1)
  const rows = rowsAtHub(rig, 'lock_events')
  rows.push = () => 0
  await rig.agent.audit()
  await rig.step('audit')
  assert.deepEqual(rig.agent.status.audit.last?.counts.lock_events, {
    rows: 15,
    confirmed: 5,
    resent: 10,
    extra: 0,
  })
})

test('an audit waits until what is waiting has been sent', async (t) => {
  const rig = await startDrained(t)
  rig.source.append('history', 10)
  await rig.step('monitor')
  await rig.agent.audit()
  await rig.step('audit')
  assert.deepEqual([rig.hub.audits.length, rig.agent.status.audit.state], [0, 'wanted'])
  await rig.until(() => rig.isDrained, 'drained')
  await rig.step('monitor')
  await rig.step('audit')
  assert.ok(rig.hub.audits.length > 0)
})

test('a device at work is neither a loss nor proof', async (t) => {
  const rig = await startDrained(t)
  rig.hub.faultOf = (path) => {
    if (path === 'audit') rig.source.append('telemetry', 1, { group: 'cart-1', day: DAY })
    return null
  }
  rowsAtHub(rig, 'telemetry').splice(0, 1)
  await rig.agent.audit()
  await rig.step('audit')
  const { rows = 0, confirmed = 0, resent } = rig.agent.status.audit.last?.counts.gps ?? {}
  assert.deepEqual([rows, confirmed, resent], [20, 20, 0])
})

test('an audit that is cut goes on where it was', async (t) => {
  const rig = await startDrained(t)
  await rig.agent.audit()
  rig.hub.faultOf = (path) => (path === 'audit' && rig.hub.audits.length === 2 ? 'cut_before' : null)
  await rig.step('audit')
  assert.deepEqual([rig.hub.audits.length, rig.agent.status.audit.last], [2, null])
  rig.hub.faultOf = () => null
  await rig.until(() => rig.agent.status.state === 'in_sync', 'up again')
  await rig.step('audit')
  assert.equal(rig.hub.audits.length, 3)
  assert.equal(rig.agent.status.audit.last?.counts.gps?.confirmed, 40)
})

test('the last audit, and one that is wanted, are known after a restart', async (t) => {
  const rig = await startDrained(t)
  await rig.agent.audit()
  await rig.step('audit')
  const { last } = rig.agent.status.audit
  await rig.agent.audit()
  await rig.restart()
  await rig.step('link')
  assert.deepEqual(rig.agent.status.audit, { state: 'wanted', last })
})

test('at night the newest days are compared by themselves, once', async (t) => {
  const clock = new ManualClock(new Date(2026, 4, 1, 4, 30).getTime())
  const rig = await startRig(t, { clock })
  rig.source.append('lock_events', 3, { day: DAY })
  await rig.until(() => rig.isDrained, 'drained')
  await rig.step('monitor')
  await rig.step('audit')
  assert.equal(rig.agent.status.audit.last?.isEverything, false)
  const asked = rig.hub.audits.length
  await rig.step('audit')
  assert.equal(rig.hub.audits.length, asked)
  clock.advance(DAY_MS)
  await rig.until(() => rig.agent.status.state === 'in_sync', 'heard')
  await rig.step('audit')
  assert.ok(rig.hub.audits.length > asked)
})

test('a clock that is not set decides on no night', async (t) => {
  const clock = new ManualClock(new Date(2026, 4, 1, 4, 30).getTime())
  clock.isTrusted = false
  const rig = await startRig(t, { clock })
  rig.source.append('lock_events', 3, { day: DAY })
  await rig.until(() => rig.isDrained, 'drained')
  await rig.step('audit')
  assert.equal(rig.hub.audits.length, 0)
})

test('nights begin between two and four, and end at five', () => {
  const at = (hour: number, minute = 0) => new Date(2026, 4, 1, hour, minute).getTime()
  assert.equal(nightOf(at(1, 59), 0), null)
  assert.equal(nightOf(at(2), 0), at(0))
  assert.equal(nightOf(at(2, 30), 0.5), null)
  assert.equal(nightOf(at(3), 0.5), at(0))
  assert.equal(nightOf(at(4, 59), 1), at(0))
  assert.equal(nightOf(at(5), 0), null)
})

test('in thirty nights every day has had its turn, and the newest had it every night', () => {
  const today = Date.UTC(2026, 4, 1)
  const auditedAtMs: Record<string, number> = { [today - 20 * DAY_MS]: today + 900 * DAY_MS }
  const days = Array.from({ length: 400 }, (_, n) => today - (399 - n) * DAY_MS)
  const turns = new Map<number, number>()
  for (let night = 0; night < 30; night++) {
    const nowMs = today + night * DAY_MS
    const tonight = daysOfTonight(days, auditedAtMs, nowMs)
    assert.ok(tonight.length < 30)
    for (const day of tonight) {
      if (day === null) continue
      auditedAtMs[day] = nowMs
      turns.set(day, (turns.get(day) ?? 0) + 1)
    }
  }
  assert.equal(turns.size, 400)
  assert.ok((turns.get(today) ?? 0) >= 8)
})
