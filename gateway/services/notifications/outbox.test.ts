import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdirSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { eventually } from '#shared/testing/eventually.ts'
import { DAY_MS, MINUTE_MS } from '#shared/time.ts'
import { migrate } from '#store/migrate.ts'
import { openForSetup } from '#store/writer/open.ts'
import { AlertDesk } from '#testing/course/alert-desk.ts'
import { Mailbox } from '#testing/mailbox.ts'
import { ANSWERS, Receiver } from '#testing/receiver.ts'
import type { NotifierFields } from '../notifiers.ts'

const EVERY = { kinds: null, secret: undefined }

async function webhook(desk: AlertDesk, receiver: Receiver, kinds: 'outside'[] | null = null) {
  return (await desk.webhooks.create({ ...EVERY, kinds, url: receiver.url })).webhook
}

function notifier(desk: AlertDesk, receiver: Receiver, fields: Partial<NotifierFields> = {}) {
  return desk.notifiers.create({
    channel: 'ntfy',
    recipient: receiver.url,
    token: null,
    kinds: null,
    hours: null,
    afterUnacknowledgedMin: null,
    ...fields,
  })
}

/** Advances time, then waits until nothing is due. */
async function pass(desk: AlertDesk, ms: number): Promise<void> {
  desk.clock.advance(ms)
  desk.outbox.check()
}

function rowsOf(desk: AlertDesk) {
  return desk.store.read.deliveries(0, 1000)
}

const texts = (receiver: Receiver) => receiver.received.map(({ text }) => text)

test('a webhook receives the opening, acknowledgement and closing of an alert in order', async (t) => {
  const [desk, receiver] = [await AlertDesk.open(t), await Receiver.open(t)]
  await desk.describe({ name: 'Pebble Creek' })
  await webhook(desk, receiver)
  const alert = await desk.open('outside', '17', { lat: 1, long: 2 })
  await desk.acknowledge(alert)
  await desk.acknowledge({ ...alert, note: 'on my way' })
  await desk.close({ ...alert, acknowledgedAtMs: 1 })
  await receiver.has(3)
  const shown = receiver.bodies.map(({ event, alert, site }) => [event, alert.alert_id, site.name])
  assert.deepEqual(
    shown,
    ['opened', 'acknowledged', 'closed'].map((event) => [event, alert.alertId, 'Pebble Creek']),
  )
  const [first] = receiver.bodies
  assert.deepEqual(first.alert, {
    alert_id: alert.alertId,
    kind: 'outside',
    cart: '17',
    hardware_id: '17',
    opened_at: new Date(alert.openedAtMs).toISOString(),
    closed_at: null,
    acknowledged_at: null,
    acknowledged_by: null,
    note: null,
    details: { lat: 1, long: 2 },
  })
  await eventually(() => rowsOf(desk).length === 0, 'nothing is left')
})

test('a webhook receives only its kinds, and nothing from before it was created', async (t) => {
  const [desk, receiver] = [await AlertDesk.open(t), await Receiver.open(t)]
  await desk.open('outside', '1')
  await webhook(desk, receiver, ['outside'])
  await desk.open('low_battery', '2')
  await desk.open('outside', '3')
  await receiver.has(1)
  const carts = receiver.bodies.map(({ alert }) => alert.cart)
  assert.deepEqual(carts, ['3'])
  assert.deepEqual(rowsOf(desk).length <= 1, true)
})

test('a retry for one of the first alerts delays no other alert', async (t) => {
  const desk = await AlertDesk.open(t)
  const receiver = await Receiver.open(t, (response) => {
    const isFirst = receiver.bodies.at(-1)?.alert.cart === '1'
    return isFirst ? ANSWERS.broken(response) : ANSWERS.ok(response)
  })
  await webhook(desk, receiver)
  const alert = await desk.open('outside', '1')
  await desk.open('outside', '2')
  await desk.close(alert)
  await receiver.has(2)
  receiver.answer = ANSWERS.ok
  await pass(desk, 1000)
  await receiver.has(4)
  const shown = receiver.bodies.slice(2).map(({ event, alert: { cart } }) => [event, cart])
  assert.deepEqual(shown, [
    ['opened', '1'],
    ['closed', '1'],
  ])
})

test('a receiver that is gone for a day receives no older alerts when it returns', async (t) => {
  const desk = await AlertDesk.open(t)
  const receiver = await Receiver.open(t, ANSWERS.broken)
  const { webhookId } = await webhook(desk, receiver)
  const hasFailed = (count: number) => eventually(() => desk.outbox.failed.get('webhook') >= count, `${count} failures`)
  await desk.open('outside', 'old')
  await hasFailed(1)
  await pass(desk, DAY_MS / 2)
  await hasFailed(2)
  await desk.open('outside', 'young')
  await hasFailed(3)
  receiver.answer = ANSWERS.ok
  await pass(desk, DAY_MS / 2)
  await eventually(() => desk.outbox.statusOf(webhookId).waiting === 0, 'nothing waits')
  assert.equal(receiver.bodies.at(-1)?.alert.cart, 'young')
  assert.deepEqual([desk.outbox.dropped.get('webhook'), desk.outbox.delivered.get('webhook')], [1, 1])
  await eventually(() => rowsOf(desk).length === 0, 'nothing is left')
  const [known] = desk.webhooks.all()
  assert.deepEqual([known?.lastError, known?.lastSuccessAtMs], [null, desk.clock.nowMs()])
})

test('pending messages and their results survive a restart', async (t) => {
  const desk = await AlertDesk.open(t)
  const receiver = await Receiver.open(t, ANSWERS.broken)
  await webhook(desk, receiver)
  await desk.open('outside', '1')
  await receiver.has(1)
  await eventually(() => desk.webhooks.all()[0]?.lastError !== null, 'an error')
  await desk.restart()
  await receiver.has(2)
  receiver.answer = ANSWERS.ok
  await eventually(() => desk.outbox.failed.get('webhook') === 1, 'a failure')
  await pass(desk, 1000)
  await receiver.has(3)
  const [id, ...others] = receiver.received.map(({ headers }) => headers['x-cartbarn-delivery'])
  assert.ok(others.every((other) => other === id))
  await eventually(() => desk.webhooks.all()[0]?.waiting === 0, 'nothing waits')
  await desk.restart()
  const [known] = desk.webhooks.all()
  assert.deepEqual([known?.lastError, known?.lastSuccessAtMs], [null, desk.clock.nowMs()])
})

test('messages queued by the previous version are sent after the upgrade, in order and with their ids', async (t) => {
  const [desk, receiver, other] = [await AlertDesk.open(t), await Receiver.open(t), await Receiver.open(t)]
  await desk.stop()
  for (const name of readdirSync(desk.dataDir)) rmSync(join(desk.dataDir, name), { recursive: true })
  const old = openForSetup(join(desk.dataDir, 'cartbarn.db'))
  migrate(old, 30)
  for (const [id, { url }] of Object.entries({ receiver, other }))
    old.run("INSERT INTO webhook (webhook_id, url, secret, created_at_ms) VALUES (?, ?, 's', 1)", id, url)
  const queued = ['receiver opened', 'other opened', 'receiver closed', 'other closed']
  for (const delivery of queued) {
    const [target = '', event = ''] = delivery.split(' ')
    const sql = 'INSERT INTO delivery (delivery_id, target_id, alert_id, body, queued_at_ms) VALUES (?, ?, ?, ?, ?)'
    old.run(sql, `${delivery} 1`, target, 'alert-1', JSON.stringify({ event }), desk.clock.nowMs())
  }
  old.run("DELETE FROM delivery WHERE delivery_id = 'other closed 1'")
  old.close()
  await desk.start()
  await receiver.has(2)
  await other.has(1)
  const received = (by: Receiver) =>
    by.received.map(({ headers, text }) => [headers['x-cartbarn-delivery'], JSON.parse(text).event])
  assert.deepEqual(received(receiver), [
    ['receiver opened 1', 'opened'],
    ['receiver closed 1', 'closed'],
  ])
  assert.deepEqual(received(other), [['other opened 1', 'opened']])
  await eventually(() => rowsOf(desk).length === 0, 'nothing is left')
})

test('the message about an alert is one row until its last target has received it', async (t) => {
  const desk = await AlertDesk.open(t)
  const [well, broken] = [await Receiver.open(t), await Receiver.open(t, ANSWERS.broken)]
  const ids = [(await webhook(desk, well)).webhookId, (await webhook(desk, broken)).webhookId]
  await desk.open('outside', '1')
  const [row, ...others] = rowsOf(desk)
  assert.deepEqual(others, [])
  assert.ok(row?.targetIds.every((id) => ids.includes(id)))
  await eventually(() => rowsOf(desk)[0]?.targetIds.length === 1, 'one was notified')
  assert.deepEqual(rowsOf(desk)[0]?.targetIds, ids.slice(1))
  await desk.restart()
  broken.answer = ANSWERS.ok
  await pass(desk, 1000)
  await eventually(() => rowsOf(desk).length === 0, 'nothing is left')
  assert.equal(well.received.length, 1)
  const [own, other] = [well, broken].map(({ received }) => received[0]?.headers['x-cartbarn-delivery'])
  assert.notEqual(own, other)
})

test('twenty webhooks of which half hang: the others receive 500 alerts immediately', async (t) => {
  const desk = await AlertDesk.open(t)
  const hanging = await Receiver.open(t, ANSWERS.hang)
  const well = await Receiver.open(t)
  for (let i = 0; i < 10; i++) {
    await webhook(desk, hanging)
    await webhook(desk, well)
  }
  const alerts = Array.from({ length: 500 }, (_, i) => desk.alert('outside', `${i}`))
  const startedAtMs = performance.now()
  await desk.save('opened', ...alerts)
  const savedMs = performance.now() - startedAtMs
  // no step blocks the event loop for long
  let [longestMs, lastMs] = [0, performance.now()]
  const watch = setInterval(() => {
    longestMs = Math.max(longestMs, performance.now() - lastMs)
    lastMs = performance.now()
  }, 5)
  await well.has(5000, 110_000)
  clearInterval(watch)
  t.diagnostic(`saved in ${savedMs.toFixed()} ms, delivered in ${(performance.now() - startedAtMs).toFixed()} ms`)
  t.diagnostic(`longest turn ${longestMs.toFixed()} ms`)
  assert.ok(longestMs < 3000, `${longestMs}`)
  assert.ok(hanging.received.length >= 40)
  const left = () => desk.store.read.deliveries(0, 1000).flatMap(({ targetIds }) => targetIds)
  await eventually(() => left().length === 5000, 'those of ten are left')
})

test('a notifier sends 30 seconds after the first alert', async (t) => {
  const [desk, receiver] = [await AlertDesk.open(t), await Receiver.open(t)]
  desk.places.set('1', { player: null, zones: ['Hole 3'], position: { lat: 1, long: 2 } })
  await notifier(desk, receiver)
  const alert = await desk.open('outside', '1')
  await pass(desk, 20_000)
  await desk.open('low_battery', '2')
  // it does not matter that the alert is closed by now
  await desk.close(alert)
  await pass(desk, 10_000)
  await receiver.has(1)
  const [text = ''] = texts(receiver)
  assert.deepEqual(text.match(/^Cart.*$/gm), ['Cart 1: off course', 'Cart 2: low battery'])
  assert.match(text, /^Where: Hole 3 \(1\.00000, 2\.00000\)$/m)
  assert.match(text, /^Since: 1 May 2026, 12:00$/m)
  assert.match(text, /^https:\/\/barn\.example\/app\/#cart=1$/m)
  await eventually(() => rowsOf(desk).length === 0, 'nothing is left')
})

test('a notifier sends only within its hours, in the time zone of the site', async (t) => {
  const [desk, receiver] = [await AlertDesk.open(t), await Receiver.open(t)]
  // 12:00 UTC is 08:00 there
  await desk.describe({ timeZone: 'America/New_York' })
  await notifier(desk, receiver, { hours: [20 * 60, 7 * 60] })
  await desk.open('outside', 'by day')
  desk.clock.advance(12 * 60 * MINUTE_MS)
  await desk.open('outside', 'at night')
  await pass(desk, 30_000)
  await receiver.has(1)
  assert.deepEqual(texts(receiver)[0]?.match(/^Cart.*$/gm), ['Cart at night: off course'])
})

test('a notifier sends only alerts that were not acknowledged in time', async (t: TestContext) => {
  const [desk, receiver] = [await AlertDesk.open(t), await Receiver.open(t)]
  const { notifierId } = await notifier(desk, receiver, { afterUnacknowledgedMin: 1.5 })
  const [a, b, c] = [await desk.open('outside', 'a'), await desk.open('outside', 'b'), await desk.open('outside', 'c')]
  desk.clock.advance(60_000)
  await desk.acknowledge(a)
  await desk.close(b)
  await eventually(() => desk.outbox.statusOf(notifierId).waiting === 1, 'one waits')
  await pass(desk, 30_000)
  await receiver.has(1)
  await desk.acknowledge(c)
  assert.deepEqual(texts(receiver)[0]?.match(/^Cart.*$/gm), ['Cart c: off course'])
  assert.equal(receiver.received.length, 1)
})

test('a notification due before the acknowledgement is sent, marked as late', async (t) => {
  const desk = await AlertDesk.open(t)
  const receiver = await Receiver.open(t, ANSWERS.broken)
  await notifier(desk, receiver, { afterUnacknowledgedMin: 1 })
  const alert = await desk.open('outside', 'a')
  await pass(desk, MINUTE_MS)
  await receiver.has(1)
  await eventually(() => desk.outbox.failed.get('ntfy') === 1, 'a failure')
  desk.clock.advance(5 * MINUTE_MS + 1)
  receiver.answer = ANSWERS.ok
  await desk.acknowledge(alert)
  await receiver.has(2)
  assert.match(texts(receiver)[1] ?? '', /^Late: /)
})

test('an e-mail waits for its server, also over a restart, and is marked as late', async (t) => {
  const first = await Mailbox.open(t)
  const { port } = first
  await first.close()
  const desk = await AlertDesk.open(t, { url: `smtp://127.0.0.1:${port}`, from: 'carts@club.example' })
  await desk.describe({ language: 'de', timeZone: 'Europe/Berlin' })
  const fields = { channel: 'email', recipient: 'ann@club.example' } as const
  await desk.notifiers.create({ ...fields, token: null, kinds: null, hours: null, afterUnacknowledgedMin: null })
  await desk.open('moved_after_hours', '17')
  await pass(desk, 30_000)
  await eventually(() => desk.outbox.failed.get('email') === 1, 'a failure')
  assert.match(desk.notifiers.all()[0]?.lastError ?? '', /ECONNREFUSED/)
  await desk.stop()
  desk.clock.advance(6 * MINUTE_MS)
  const mailbox = await Mailbox.open(t, port)
  await desk.start()
  await mailbox.has(1)
  const [{ to, text } = assert.fail()] = mailbox.mails
  assert.deepEqual(to, ['ann@club.example'])
  assert.match(text, /^Subject: Verspätet: cartbarn: Cart 17: nach Betriebsschluss bewegt\r?$/m)
  assert.match(text, /\n\nVerspätet: /)
  assert.match(text, /^Seit: 01\.05\.2026, 14:00\r?$/m)
})

test('a silent mail server delays no other message and does not keep the gateway from stopping', async (t) => {
  const silent = createServer()
  silent.listen(0, '127.0.0.1')
  await once(silent, 'listening')
  t.after(() => silent.close())
  // a listening TCP server has an address and a port
  const { port } = silent.address() as AddressInfo
  const desk = await AlertDesk.open(t, { url: `smtp://127.0.0.1:${port}`, from: 'carts@club.example' })
  const receiver = await Receiver.open(t)
  const mail = { channel: 'email', recipient: 'ann@club.example' } as const
  const waiting = await Promise.all(Array.from({ length: 10 }, () => notifier(desk, receiver, mail)))
  await notifier(desk, receiver)
  const connected = once(silent, 'connection')
  await desk.open('outside', '17')
  await pass(desk, 30_000)
  await connected
  await receiver.has(1)
  const startedAtMs = performance.now()
  await desk.stop()
  // the timeout of an attempt is ten seconds
  assert.ok(performance.now() - startedAtMs < 9_500)
  assert.equal(desk.outbox.waitingByChannel().find(([channel]) => channel === 'email')?.[1], waiting.length)
  await desk.start()
})

test('a pending message goes to the new address of a changed notifier, and not to a deleted one', async (t) => {
  const desk = await AlertDesk.open(t)
  const [before, now] = [await Receiver.open(t), await Receiver.open(t)]
  const { notifierId } = await notifier(desk, before)
  const other = await notifier(desk, before)
  await desk.open('outside', '1')
  await desk.notifiers.change(notifierId, { recipient: `${now.url}/x` })
  await desk.notifiers.delete(other.notifierId)
  await pass(desk, 30_000)
  await now.has(1)
  assert.equal(before.received.length, 0)
  await eventually(() => rowsOf(desk).length === 0, 'nothing is left')
})
