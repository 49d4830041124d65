import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { FakeClock } from '#shared/testing/clocks.ts'
import { DAY_MS } from '#shared/time.ts'
import type { Audit } from '#shared/wire/replication/sync.ts'
import { type AgentRig, startRig } from '#sync-testing/agent-rig.ts'
import { daysToAudit, nightOf } from './audit-plan.ts'

const DAY = Date.UTC(2026, 3, 30)

/** Starts a rig whose hub has everything: lock events of two carts, and telemetry of two days. */
async function startDrained(t: TestContext): Promise<AgentRig> {
  const rig = await startRig(t)
  rig.source.append('lock_events', 10, { group: 'cart-1', day: DAY })
  rig.source.append('lock_events', 5, { group: 'cart-2', day: DAY })
  rig.source.append('telemetry', 20, { group: 'cart-1', day: DAY })
  rig.source.append('telemetry', 20, { group: 'cart-1', day: DAY - DAY_MS })
  await rig.drain()
  await rig.step('monitor')
  return rig
}

function rowsAtHub(rig: AgentRig, stream: 'lock_events' | 'telemetry') {
  const stored = rig.hub.epochs.get(rig.source.identity().epoch)
  assert.ok(stored !== undefined)
  return stored.rows[stream]
}

test('a requested audit compares all rows and reports how many were confirmed', async (t) => {
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

test('the agent sends rows that the hub lacks again and compares them once more', async (t) => {
  const rig = await startDrained(t)
  rowsAtHub(rig, 'lock_events').splice(2, 3)
  rowsAtHub(rig, 'telemetry').splice(25, 1)
  await rig.audit()
  const { last } = rig.agent.status.audit
  assert.deepEqual(last?.counts.lock_events, { rows: 15, confirmed: 15, resent: 10, extra: 0 })
  assert.deepEqual(last?.counts.gps, { rows: 40, confirmed: 40, resent: 20, extra: 0 })
  assert.deepEqual([rowsAtHub(rig, 'lock_events').length, rowsAtHub(rig, 'telemetry').length], [15, 40])
  const resent = rig.hub.pushes.flatMap(({ parts }) => parts).filter(({ is_resend }) => is_resend === true)
  assert.ok(resent.every(({ from, to }) => from === 0 && to === 0))
  assert.equal(rig.hub.duplicates, 0)
})

test('rows that the hub does not keep after a resend stay unconfirmed', async (t) => {
  const rig = await startDrained(t)
  rowsAtHub(rig, 'lock_events').splice(0, 1)
  const rows = rowsAtHub(rig, 'lock_events')
  rows.push = () => 0
  await rig.audit()
  assert.deepEqual(rig.agent.status.audit.last?.counts.lock_events, { rows: 15, confirmed: 5, resent: 10, extra: 0 })
})

test('an audit waits until the backlog has been sent', async (t) => {
  const rig = await startDrained(t)
  rig.source.append('history', 10)
  await rig.step('monitor')
  await rig.audit()
  assert.deepEqual([rig.hub.audits.length, rig.agent.status.audit.state], [0, 'wanted'])
  await rig.drain()
  await rig.step('monitor', 'audit')
  assert.ok(rig.hub.audits.length > 0)
})

test('with an older hub, an audit skips the day of a device that is still sending', async (t) => {
  const rig = await startRig(t)
  rig.hub.isOld = true
  rig.source.append('telemetry', 20, { group: 'cart-1', day: DAY })
  rig.source.append('telemetry', 20, { group: 'cart-1', day: DAY - DAY_MS })
  await rig.drain()
  await rig.step('monitor')
  rig.hub.faultOf = (path) => {
    if (path === 'audit') rig.source.append('telemetry', 1, { group: 'cart-1', day: DAY })
    return null
  }
  rowsAtHub(rig, 'telemetry').splice(0, 1)
  await rig.audit()
  const { rows = 0, confirmed = 0, resent } = rig.agent.status.audit.last?.counts.gps ?? {}
  assert.deepEqual([rows, confirmed, resent], [20, 20, 0])
})

test('an interrupted audit continues where it stopped', async (t) => {
  const rig = await startDrained(t)
  await rig.agent.audit()
  rig.hub.faultOf = (path) => (path === 'audit' && rig.hub.audits.length === 2 ? 'cut_before' : null)
  await rig.step('audit')
  assert.deepEqual([rig.hub.audits.length, rig.agent.status.audit.last], [2, null])
  rig.hub.faultOf = () => null
  await rig.until(() => rig.agent.status.state === 'comparing', 'up again')
  await rig.step('audit')
  assert.equal(rig.hub.audits.length, 3)
  assert.equal(rig.agent.status.audit.last?.counts.gps?.confirmed, 40)
})

test('the last audit and a requested audit are known after a restart', async (t) => {
  const rig = await startDrained(t)
  await rig.audit()
  const { last } = rig.agent.status.audit
  await rig.agent.audit()
  await rig.restart()
  await rig.step('link')
  assert.deepEqual(rig.agent.status.audit, { state: 'wanted', unconfirmedRows: null, last })
})

test('at night the agent compares the newest days once, without a request', async (t) => {
  const clock = new FakeClock(new Date(2026, 4, 1, 4, 30).getTime())
  const rig = await startRig(t, { clock })
  rig.source.append('lock_events', 3, { day: DAY })
  await rig.drain()
  await rig.step('monitor', 'audit')
  assert.equal(rig.agent.status.audit.last?.isEverything, false)
  const asked = rig.hub.audits.length
  await rig.step('audit')
  assert.equal(rig.hub.audits.length, asked)
  clock.advance(DAY_MS)
  await rig.until(() => rig.agent.status.state === 'in_sync', 'heard')
  await rig.step('audit')
  assert.ok(rig.hub.audits.length > asked)
})

test('the agent starts no nightly audit while its clock is not set', async (t) => {
  const clock = new FakeClock(new Date(2026, 4, 1, 4, 30).getTime())
  clock.isTrusted = false
  const rig = await startRig(t, { clock })
  rig.source.append('lock_events', 3, { day: DAY })
  await rig.drain()
  await rig.step('audit')
  assert.equal(rig.hub.audits.length, 0)
})

test('nightly audits start between two and four and end at five', () => {
  const at = (hour: number, minute = 0) => new Date(2026, 4, 1, hour, minute).getTime()
  assert.equal(nightOf(at(1, 59), 0), null)
  assert.equal(nightOf(at(2), 0), at(0))
  assert.equal(nightOf(at(2, 30), 0.5), null)
  assert.equal(nightOf(at(3), 0.5), at(0))
  assert.equal(nightOf(at(4, 59), 1), at(0))
  assert.equal(nightOf(at(5), 0), null)
})

test('within thirty nights every day is compared once, and the newest days every night', () => {
  const today = Date.UTC(2026, 4, 1)
  const auditedAtMs: Record<string, number> = { [today - 20 * DAY_MS]: today + 900 * DAY_MS }
  const days = Array.from({ length: 400 }, (_, n) => today - (399 - n) * DAY_MS)
  const turns = new Map<number, number>()
  for (let night = 0; night < 30; night++) {
    const nowMs = today + night * DAY_MS
    const tonight = daysToAudit(days, auditedAtMs, nowMs)
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

test('an audit ends although devices never stop sending', async (t) => {
  const rig = await startDrained(t)
  let pushes = 0
  rig.hub.faultOf = (path) => {
    // far more often than any audit needs to send the rows from before it
    if (path === 'push' && ++pushes < 500) rig.source.append('telemetry', 1, { group: 'cart-2', day: DAY })
    return null
  }
  rig.source.append('telemetry', 1, { group: 'cart-2', day: DAY })
  await rig.audit()
  assert.equal(rig.agent.status.audit.state, 'idle')
  assert.ok(pushes < 100, `${pushes} pushes`)
})

test('rows that were compared before the hub lost them are compared again', async (t) => {
  const rig = await startDrained(t)
  await rig.agent.audit()
  rig.hub.faultOf = (path) => (path === 'audit' && rig.hub.audits.length === 2 ? 'cut_before' : null)
  await rig.step('audit')
  assert.equal(rig.hub.audits.length, 2)
  const [compared] = rig.hub.audits
  rowsAtHub(rig, 'telemetry').splice(0, 40)
  rig.hub.faultOf = () => null
  await rig.until(() => rig.agent.status.state === 'comparing', 'up again')
  // as when the cursors of the hub went back
  await rig.audit()
  assert.ok(rig.hub.audits.slice(2).some(({ kind, day_ms }) => kind === compared?.kind && day_ms === compared.day_ms))
  assert.equal(rowsAtHub(rig, 'telemetry').length, 40)
})

test('an audit that is requested during another one runs after it', async (t) => {
  const rig = await startDrained(t)
  await rig.agent.audit()
  let again: Promise<void> | undefined
  rig.hub.faultOf = (path) => {
    if (path === 'audit' && rig.hub.audits.length === 2) again = rig.agent.audit()
    return null
  }
  await rig.step('audit')
  await again
  assert.equal(rig.agent.status.audit.state, 'wanted')
  const asked = rig.hub.audits.length
  await rig.step('audit')
  assert.deepEqual([rig.agent.status.audit.state, rig.hub.audits.length > asked], ['idle', true])
})

test('the agent compares only the kinds and days that the head office requests', async (t) => {
  const rig = await startDrained(t)
  await rig.agent.audit({ kind: 'gps', dayMs: DAY })
  await rig.agent.audit({ kind: 'lock_events', dayMs: null })
  await rig.agent.audit({ kind: 'lock_events', dayMs: null })
  await rig.step('audit')
  assert.deepEqual(rig.hub.audits.map(({ kind, day_ms }) => `${kind} ${day_ms}`).sort(), [
    `gps ${DAY}`,
    `lock_events ${DAY}`,
  ])
  const { state, last } = rig.agent.status.audit
  assert.deepEqual([state, last?.isEverything], ['idle', false])
  assert.deepEqual(Object.keys(last?.counts ?? {}).sort(), ['gps', 'lock_events'])
})

test('a requested day is known after a restart', async (t) => {
  const rig = await startDrained(t)
  await rig.agent.audit({ kind: null, dayMs: DAY - DAY_MS })
  await rig.restart()
  await rig.until(() => rig.agent.status.state === 'in_sync', 'up again')
  await rig.step('monitor', 'audit')
  const shown = rig.hub.audits.map(({ kind, day_ms }) => [kind, day_ms])
  assert.deepEqual(shown, [['gps', DAY - DAY_MS]])
})

test('a group with more rows at the hub is sent again once, because the hub may also lack rows', async (t) => {
  const rig = await startDrained(t)
  rowsAtHub(rig, 'lock_events').splice(2, 1)
  for (const id of ['a', 'b', 'c']) rowsAtHub(rig, 'lock_events').push({ seq: 0, id, group: 'cart-1', day: DAY })
  await rig.audit()
  assert.equal(rowsAtHub(rig, 'lock_events').length, 18)
  assert.deepEqual(rig.agent.status.audit.last?.counts.lock_events, { rows: 15, confirmed: 15, resent: 1, extra: 3 })
  const pushes = rig.hub.pushes.length
  await rig.audit()
  assert.equal(rig.hub.pushes.length, pushes, 'not again')
  assert.deepEqual(rig.agent.status.audit.last?.counts.lock_events?.extra, 3)
  rowsAtHub(rig, 'lock_events').splice(3, 1)
  await rig.audit()
  assert.equal(rowsAtHub(rig, 'lock_events').length, 18)
})

test('an erasure cancels a resend in progress, and the rows are compared again', async (t) => {
  const rig = await startDrained(t)
  rowsAtHub(rig, 'telemetry').splice(0, 40)
  const { source } = rig
  const read = source.resendParts.bind(source)
  let erasures = 0
  source.resendParts = async function* (...of) {
    for await (const part of read(...of)) {
      if (erasures++ === 0) source.append('notes')
      yield part
    }
  }
  await rig.audit()
  const resent = () => rig.hub.pushes.flatMap(({ parts }) => parts).filter(({ is_resend }) => is_resend === true)
  assert.deepEqual([resent().length, rig.agent.status.audit.state], [0, 'wanted'])
  await rig.until(() => rig.isDrained, 'the note')
  await rig.step('monitor', 'audit')
  assert.equal(rowsAtHub(rig, 'telemetry').length, 40)
})

test('a group that the hub cannot compare stays unconfirmed and does not block the others', async (t) => {
  const rig = await startDrained(t)
  rig.hub.faultOf = (path, body) =>
    path === 'audit' && (body as Audit).day_ms === DAY - DAY_MS ? { status: 400, code: 'invalid_body' } : null
  await rig.audit()
  const { state, unconfirmedRows, last } = rig.agent.status.audit
  assert.deepEqual([state, unconfirmedRows], ['wanted', 20])
  assert.deepEqual(last?.counts.gps, { rows: 40, confirmed: 20, resent: 0, extra: 0 })
  assert.deepEqual(last?.counts.lock_events?.confirmed, 15)
})

test('a day with missing rows is compared again the next night, before other days', async (t) => {
  const clock = new FakeClock(new Date(2026, 4, 1, 4, 30).getTime())
  const rig = await startRig(t, { clock })
  const days = Array.from({ length: 20 }, (_, n) => DAY - (20 + n) * DAY_MS)
  for (const day of days) rig.source.append('lock_events', 2, { day })
  await rig.drain()
  await rig.step('monitor')
  const rows = rowsAtHub(rig, 'lock_events')
  // the oldest, which is due
  const lost = days.at(-1) ?? 0
  rows.splice(
    rows.findIndex(({ day }) => day === lost),
    1,
  )
  const { push } = rows
  rows.push = () => 0
  await rig.step('audit')
  const { rows: compared, confirmed } = rig.agent.status.audit.last?.counts.lock_events ?? {}
  assert.deepEqual([compared, confirmed], [2, 0])
  rows.push = push
  for (let night = 0; night < 2; night++) {
    clock.advance(DAY_MS)
    await rig.until(() => rig.agent.status.state === 'in_sync', 'heard')
    rig.hub.audits.length = 0
    await rig.step('audit')
    const [first] = rig.hub.audits.filter(({ kind }) => kind === 'lock_events')
    assert.equal(first?.day_ms === lost, night === 0)
  }
  assert.equal(rows.length, 40)
})

/** Lets every cart send something with each request to the hub. */
function keepSending(rig: AgentRig, stream: 'telemetry' | 'lock_events' = 'telemetry'): void {
  rig.hub.faultOf = (path) => {
    if (path !== 'push' && path !== 'audit') return null
    for (const group of ['cart-1', 'cart-2']) rig.source.append(stream, 1, { group, day: DAY })
    return null
  }
}

test('rows that a hub lost are restored while devices keep sending, and the sync is behind until then', async (t) => {
  const rig = await startDrained(t)
  rowsAtHub(rig, 'telemetry').splice(3, 30)
  keepSending(rig)
  await rig.agent.audit()
  await rig.round()
  const { state, explanation } = rig.agent.status
  assert.equal(state, 'comparing')
  assert.match(explanation, /comparing .* head office/)
  await rig.step('audit')
  rig.hub.faultOf = () => null
  await rig.drain()
  assert.equal(rowsAtHub(rig, 'telemetry').length, rig.source.rows.telemetry.length)
  assert.deepEqual([rig.agent.status.audit.state, rig.agent.status.state], ['idle', 'in_sync'])
})

/** Advances the clock until no audit is requested. */
async function compareAll(rig: AgentRig): Promise<void> {
  for (let n = 0; n < 20 && rig.agent.status.audit.state !== 'idle'; n++) {
    await rig.round(60_000)
    await rig.step('audit')
  }
}

test('unconfirmed rows are compared again until they are confirmed, also after a restart', async (t) => {
  const rig = await startDrained(t)
  const rows = rowsAtHub(rig, 'lock_events')
  rows.splice(0, 1)
  const { push } = rows
  rows.push = () => 0
  await rig.audit()
  assert.deepEqual([rig.agent.status.state, rig.agent.mayLack], ['comparing', true])
  assert.match(rig.agent.status.explanation, /10 rows are not confirmed/)
  assert.equal(rig.agent.status.audit.unconfirmedRows, 10)
  await rig.restart()
  await rig.until(() => rig.agent.status.state === 'comparing', 'up again')
  assert.equal(rig.agent.mayLack, true)
  await rig.step('monitor', 'audit')
  assert.deepEqual([rig.agent.status.state, rig.agent.mayLack], ['comparing', true])
  rows.push = push
  await compareAll(rig)
  assert.equal(rows.length, 15)
  assert.equal(rig.agent.status.audit.last?.counts.lock_events?.resent, 20, 'of both attempts since the start')
  assert.deepEqual([rig.agent.status.state, rig.agent.mayLack], ['in_sync', false])
})

test('the sync is not in sync before the whole comparison has ended, even if all rows are restored', async (t) => {
  const rig = await startDrained(t)
  const rows = rowsAtHub(rig, 'lock_events')
  rows.splice(0, 1)
  const { push } = rows
  rows.push = () => 0
  await rig.audit()
  assert.equal(rig.agent.status.audit.unconfirmedRows, 10)
  rows.push = push
  rig.source.append('lock_events', 10, { group: 'cart-1', day: DAY + DAY_MS })
  await rig.drain()
  const states: string[] = []
  rig.hub.faultOf = (path) => {
    if (path === 'audit') states.push(rig.agent.status.state)
    return null
  }
  await compareAll(rig)
  assert.equal(rig.agent.status.state, 'in_sync')
  // the day that was missing, once more when it was sent, and the day that has come since
  assert.deepEqual(states, ['comparing', 'comparing', 'comparing'])
})

test('with an older hub, a device that is still sending is compared once it stops', async (t) => {
  const rig = await startRig(t)
  rig.hub.isOld = true
  rig.source.append('telemetry', 20, { group: 'cart-1', day: DAY })
  await rig.drain()
  await rig.step('monitor')
  rowsAtHub(rig, 'telemetry').splice(0, 5)
  keepSending(rig)
  await rig.audit()
  assert.equal(rig.agent.status.audit.state, 'wanted')
  assert.equal(rig.agent.mayLack, true)
  rig.hub.faultOf = () => null
  await compareAll(rig)
  assert.equal(rowsAtHub(rig, 'telemetry').length, rig.source.rows.telemetry.length)
  assert.equal(rig.agent.status.state, 'in_sync')
})
