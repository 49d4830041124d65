import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { eventually } from '#shared/testing/eventually.ts'
import { DAY_MS, MINUTE_MS, toIso } from '#shared/time.ts'
import type { AlertJson } from '#shared/wire/alerts.ts'
import { AlertCourse } from '#testing/course/alert-course.ts'
import { Receiver } from '#testing/receiver.ts'

/** Course with cart 17, whose lock and screen are connected; collects the messages of the screen. */
async function coursed(t: TestContext, options: Parameters<typeof AlertCourse.open>[2] = {}) {
  const course = await AlertCourse.open(t, undefined, options)
  const lock = await course.lock()
  const screen = await course.course.device('screen-17', { cart: '17', deviceType: 'cartcaddie', groupId: 7 })
  const shown: Record<string, unknown>[] = []
  screen.client.on('message', (_, payload) => {
    const { cmd, params } = JSON.parse(payload.toString())
    if (cmd === 'message') shown.push(params)
  })
  await screen.client.subscribeAsync('dev/screen-17/cmd', { qos: 1 })
  return { course, gateway: course.gateway, clock: course.clock, lock, screen, shown }
}

async function only(course: AlertCourse, query = '?kind=call'): Promise<AlertJson> {
  await eventually(async () => (await course.list(query)).length === 1, 'one call')
  const [alert] = await course.list(query)
  return alert ?? assert.fail()
}

async function detailIs(course: AlertCourse, name: string, value: unknown): Promise<AlertJson> {
  await eventually(async () => (await only(course)).details[name] === value, `${name} is ${value}`)
  return only(course)
}

test('a call opens an alert, is answered on the screen of its cart, and is closed', async (t) => {
  const { course, gateway, clock, lock, screen, shown } = await coursed(t)
  await lock.goTo('fairway')
  const live = await gateway.realtime()
  const program = await gateway.program()
  const retained: string[] = []
  program.on('message', (_, payload) => retained.push(payload.toString()))
  await program.subscribeAsync('alert/call/17', { qos: 1 })
  const ts = clock.nowMs() - MINUTE_MS
  await screen.send('call', { call: 'help', text: ' Flat\n tyre ', cid: '17-3', ts })
  const { event, alert } = await live.next('alert')
  assert.deepEqual([event, alert.kind, alert.cart, alert.opened_at], ['opened', 'call', '17', toIso(ts)])
  const details = { call: 'help', call_id: '17-3', text: 'Flat  tyre', count: 1, lat: 0.11, long: 0.1, hole: null }
  assert.deepEqual(alert.details, { ...details, is_late: false, escalated_at: null, reply: null })

  await screen.send('call', { call: 'help', text: 'Hurry', cid: '17-4' })
  const repeated = await live.next('alert')
  assert.deepEqual([repeated.event, repeated.alert.alert_id], ['repeated', alert.alert_id])
  assert.deepEqual([repeated.alert.details.count, repeated.alert.details.text], [2, 'Hurry'])

  const path = `/alerts/${alert.alert_id}`
  const staff = await gateway.createUser({ name: 'Ann', role: 'staff', allowed_hardware_ids: ['lock-17'] })
  const acknowledged = await gateway.request('POST', `${path}/acknowledge`, { key: staff.key })
  assert.equal(acknowledged.status, 200, JSON.stringify(acknowledged.body))
  const own = await gateway.request('POST', `${path}/acknowledge`, { body: { reply: 'Ben is coming.' } })
  assert.equal(own.body.details.reply, 'Ben is coming.')
  assert.equal(own.body.acknowledged_by.name, 'Ann')
  // nothing new: no message either
  await gateway.request('POST', `${path}/acknowledge`)
  await course.site({ language: 'de' })
  const closed = await gateway.request('POST', `${path}/close`)
  assert.notEqual(closed.body.closed_at, null)
  await eventually(() => shown.length === 3, 'three messages')
  assert.deepEqual(shown, [
    { text: 'We have seen your call.', call_id: '17-3', call_state: 'acknowledged' },
    { text: 'Ben is coming.', call_id: '17-3', call_state: 'acknowledged' },
    { text: 'Ihr Ruf ist erledigt.', call_id: '17-3', call_state: 'closed' },
  ])
  await eventually(() => retained.at(-1) === '', 'no retained message')
  const { entries } = (await gateway.request('GET', `/audit-log?user_id=${staff.userId}`)).body
  assert.deepEqual(entries.map((one: { action: string }) => one.action).slice(-1), ['alert.acknowledged'])
  assert.ok(!JSON.stringify(await gateway.request('GET', '/audit-log')).includes('Hurry'))

  await screen.send('call', { call: 'help', cid: '17-5' })
  await course.becomes(['-call', '+call'], '?kind=call')
})

test('a call is one, however often it is sent, also after a restart', async (t) => {
  const { course, gateway, clock, screen } = await coursed(t)
  const withId = { call: 'ranger', cid: '17-3' }
  const withoutId = { call: 'order', ts: clock.nowMs() }
  for (const call of [withId, withId, withoutId, withoutId]) await screen.send('call', call)
  await course.becomes(['+call', '+call'])
  await gateway.restart()
  await screen.leave()
  const { body } = await gateway.request('POST', '/devices/screen-17/rotate-mqtt-password')
  const again = await course.course.connect('screen-17', body.password ?? body.mqtt.password)
  for (const call of [withId, withoutId]) await again.send('call', call)
  await course.settle()
  assert.deepEqual(await course.story(), ['+call', '+call'])
  assert.deepEqual(
    (await course.list()).map(({ details }) => details.count),
    [1, 1],
  )
})

test('a cancel closes the call of its id without an answer', async (t) => {
  const { course, screen, shown } = await coursed(t)
  await screen.send('call', { call: 'help', cid: 'a' })
  await screen.send('call', { call: 'help', cid: 'b' })
  await screen.send('call', { call: 'cancel', cid: 'unknown' })
  await detailIs(course, 'count', 2)
  await screen.send('call', { call: 'cancel', cid: 'b' })
  const alert = await detailIs(course, 'reason', 'cancelled')
  assert.notEqual(alert.closed_at, null)
  assert.deepEqual(shown, [])
})

test('a call closes when its cart is parked and locked; one from a parked and locked cart stays', async (t) => {
  const { course, clock, lock, screen } = await coursed(t)
  await lock.goTo('fairway')
  await screen.send('call', { call: 'breakdown', cid: '1' })
  await course.becomes(['+call'])
  await lock.goTo('barn')
  await course.settle()
  await lock.send('evt', { eid: 'e1', event: 'lock', source: 'remote', ts: clock.nowMs() })
  await course.becomes(['-call'])
  clock.advance(MINUTE_MS)
  await lock.report('barn')
  await screen.send('call', { call: 'help', cid: '2' })
  await course.becomes(['-call', '+call'])
  await lock.report('barn')
  await course.settle()
  assert.deepEqual(await course.story(), ['-call', '+call'])
})

for (const [wait, ms] of [
  ['a minute', MINUTE_MS],
  ['a day', DAY_MS],
  ['a year', 365 * DAY_MS],
] as const)
  test(`an unacknowledged call escalates once, ${wait} after it came, with an unconfirmed clock`, async (t) => {
    const { course, gateway, clock, screen } = await coursed(t, {
      site: { call_escalate_min: Math.min(1_440, ms / MINUTE_MS) },
      isTimeSynchronized: () => false,
    })
    const people = await Receiver.open(t)
    const hours = { between: ['00:00', '00:01'], after_unacknowledged_min: 1_440 }
    await gateway.request('POST', '/notifiers', {
      body: { channel: 'ntfy', to: people.url, kinds: ['call'], ...hours },
    })
    // an order and a seen call never escalate
    await screen.send('call', { call: 'order', cid: 'o' })
    await screen.send('call', { call: 'ranger', cid: 'r' })
    await course.becomes(['+call', '+call'])
    const [ranger] = (await course.list('?kind=call')).filter(({ details }) => details.call === 'ranger')
    await gateway.request('POST', `/alerts/${ranger?.alert_id}/acknowledge`)
    await screen.send('call', { call: 'help', cid: 'h', ts: clock.nowMs() - DAY_MS })
    await course.becomes(['+call', '+call', '+call'])
    clock.advance(Math.min(DAY_MS, ms) - 1_000)
    await course.settle()
    assert.ok((await course.list('?kind=call')).every(({ details }) => details.escalated_at === null))
    await gateway.restart()
    clock.advance(ms)
    const escalated = async () =>
      (await course.list('?kind=call')).filter(({ details }) => details.escalated_at !== null)
    await eventually(async () => (await escalated()).length === 1, 'it escalates')
    const [help] = await escalated()
    assert.deepEqual([help?.details.call, help?.details.is_late], ['help', true])
    await people.has(1)
    assert.match(people.received[0]?.text ?? '', /Cart 17: calls for help \(not answered by/)
    await course.settle()
    assert.equal(people.received.length, 1)
  })

test('what is no call is acknowledged, counted and kept in the quarantine', async (t) => {
  const { course, gateway, screen } = await coursed(t)
  const bad = [
    [],
    null,
    'help',
    {},
    { call: 'police' },
    { call: 'cancel' },
    { call: 'help', cid: '' },
    { call: 'help', cid: 'x'.repeat(65) },
    { call: 'help', cid: 7 },
    { call: 'help', text: { a: 1 } },
    [{ call: 'help' }],
  ]
  for (const call of bad) await screen.send('call', call)
  await screen.client.publishAsync('dev/screen-17/call', Buffer.from([0xff, 0xfe]), { qos: 1 })
  await screen.client.publishAsync('dev/screen-17/call', '{', { qos: 1 })
  const { body } = await gateway.request('GET', '/mqtt/quarantine')
  const reasons = body.map(({ reason }: { reason: string }) => reason)
  assert.equal(reasons.filter((reason: string) => reason === 'invalid_call').length, bad.length)
  assert.deepEqual(await course.story(), [])
  const text = `${'🙂'.repeat(99)} end ${'x'.repeat(60_000)}`
  await screen.send('call', { call: 'help', text, cid: '\u0000\ud800', __proto__: 1, ts: 'never' })
  const alert = await only(course)
  assert.equal(String(alert.details.text).length, 200)
})

test('over six calls a minute are dropped, but not the first call for help', async (t) => {
  const { course, gateway, clock, screen } = await coursed(t)
  for (let i = 0; i < 8; i++) await screen.send('call', { call: 'order', cid: `o${i}` })
  await screen.send('call', { call: 'help', cid: 'h1' })
  await screen.send('call', { call: 'help', cid: 'h2' })
  await course.becomes(['+call', '+call'])
  const counts = async () => (await course.list()).map(({ details }) => [details.call, details.count])
  await eventually(async () => JSON.stringify(await counts()).includes('["order",6]'), 'six orders')
  assert.ok(JSON.stringify(await counts()).includes('["help",1]'))
  const { body } = await gateway.request('GET', '/devices/screen-17/details')
  assert.equal(body.dropped.too_many_calls, 3)
  clock.advance(MINUTE_MS)
  await screen.send('call', { call: 'help', cid: 'h3' })
  await eventually(async () => JSON.stringify(await counts()).includes('["help",2]'), 'two calls for help')
})

test('reply is for calls alone; calls of a vehicle kind open an alert as its rule says', async (t) => {
  const { course, gateway, lock, screen } = await coursed(t)
  await lock.goTo('fairway')
  await lock.goTo('road')
  await course.becomes(['+outside'])
  const [outside] = await course.list()
  const refused = await gateway.request('POST', `/alerts/${outside?.alert_id}/close`, { body: { reply: 'x' } })
  assert.deepEqual([refused.status, refused.body.code, refused.body.errors[0].name], [400, 'invalid_field', 'reply'])
  const long = await gateway.request('POST', `/alerts/${outside?.alert_id}/close`, { body: { reply: 'x'.repeat(201) } })
  assert.deepEqual([long.status, long.body.code], [400, 'invalid_field'])
  await gateway.request('PATCH', '/carts/17', { body: { kind: 'ranger', out_of_service: { why: 'tyre' } } })
  await screen.send('call', { call: 'help', cid: '1' })
  await course.becomes(['+call'], '?kind=call')
  await course.site({ vehicle_kinds: { ranger: { alerts: [] } } })
  await course.becomes(['-call'], '?kind=call')
  await screen.send('call', { call: 'help', cid: '2' })
  await course.settle()
  assert.deepEqual(await course.story('?kind=call'), ['-call'])
})

test('programs read calls as they read events; the text is blanked after the nights that names are kept', async (t) => {
  const { course, gateway, clock, screen } = await coursed(t, { site: { names_kept_days: 1 } })
  const seer = await gateway.createUser({ allowed_hardware_ids: ['screen-17'] })
  const program = await gateway.program({}, seer)
  const read: string[] = []
  program.on('message', (topic) => read.push(topic))
  await program.subscribeAsync('dev/screen-17/call', { qos: 1 })
  await screen.send('call', { call: 'help', cid: '1', text: 'Miller broke a leg' })
  await eventually(() => read.length === 1, 'the program reads it')
  await detailIs(course, 'text', 'Miller broke a leg')
  // 1 May 12:00 to 2 May 03:59, then 04:01
  clock.advance(16 * 60 * MINUTE_MS - MINUTE_MS)
  await course.settle()
  assert.equal((await only(course)).details.text, 'Miller broke a leg')
  clock.advance(2 * MINUTE_MS)
  const alert = await detailIs(course, 'text', null)
  assert.equal(alert.details.call, 'help')
  let kept = 'Miller'
  program.on('message', (_, payload) => {
    kept = payload.toString()
  })
  await program.subscribeAsync('alert/call/17', { qos: 1 })
  await eventually(() => !kept.includes('Miller'), 'the retained message is without it')
})

test('an erasure finds the text of a call', async (t) => {
  const { course, gateway, screen } = await coursed(t)
  await screen.send('call', { call: 'help', cid: '1', text: 'Miller' })
  await detailIs(course, 'text', 'Miller')
  const { body } = await gateway.request('POST', '/erasures', { body: { person: 'miller' } })
  assert.equal(body.other, 1, JSON.stringify(body))
  await detailIs(course, 'text', '')
})
