import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { describe, type TestContext, test } from 'node:test'
import { eventually } from '#shared/testing/eventually.ts'
import { ANSWERS, type Received, Receiver } from '#testing/receiver.ts'
import { fails, ok, scene } from '#testing/scene.ts'
import { metric, startFor } from '#testing/start-gateway.ts'

const UNKNOWN_ID = '00000000-0000-4000-8000-000000000000'
const { g, onlyFor } = scene({ isRealTime: true, inScope: [] })

/** Creates a webhook that is removed after the test. */
async function hook(t: TestContext, fields: object) {
  const answer = await g.post('/webhooks', fields)
  const id: string | undefined = answer.body.webhook?.webhook_id
  if (id !== undefined) t.after(() => g.remove(`/webhooks/${id}`))
  return { ...answer, id: id ?? '' }
}

const shown = async (id: string) =>
  (await g.get('/webhooks')).body.find((one: { webhook_id: string }) => one.webhook_id === id)

function isSigned({ headers, text }: Received, secret: string): boolean {
  const signed = `${headers['x-cartbarn-timestamp']}.${text}`
  return headers['x-cartbarn-signature'] === `sha256=${createHmac('sha256', secret).update(signed).digest('hex')}`
}

onlyFor('admins', ['GET', '/webhooks'], ['POST', '/webhooks', { url: 'http://127.0.0.1:9/' }])
onlyFor('admins', ['DELETE', `/webhooks/${UNKNOWN_ID}`], ['POST', `/webhooks/${UNKNOWN_ID}/test`])

test('a webhook is created, listed without its secret, tested and deleted', async (t) => {
  const receiver = await Receiver.open(t)
  const made = await hook(t, { url: `${receiver.url}/alerts?a=b`, kinds: ['outside', 'disk', 'outside'] })
  assert.equal(made.status, 201)
  const { webhook, secret } = made.body
  assert.match(secret, /^[\w-]{43}$/)
  assert.deepEqual(webhook, {
    webhook_id: made.id,
    url: `${receiver.url}/alerts?a=b`,
    kinds: ['outside', 'disk'],
    created_at: webhook.created_at,
    last_success_at: null,
    last_error: null,
    waiting: 0,
  })
  assert.deepEqual(await shown(made.id), webhook)
  const tested = await g.post(`/webhooks/${made.id}/test`)
  assert.equal(tested.status, 202)
  await receiver.has(1)
  const [got = assert.fail()] = receiver.received
  assert.deepEqual([got.path, got.headers['content-type']], ['/alerts?a=b', 'application/json'])
  assert.equal(got.headers['x-cartbarn-delivery'], tested.body.delivery_id)
  assert.ok(Math.abs(Number(got.headers['x-cartbarn-timestamp']) * 1000 - Date.now()) < 10_000)
  assert.ok(isSigned(got, secret))
  const [body] = receiver.bodies
  const site = { name: '', time_zone: 'UTC', units: 'metric', language: 'en' }
  assert.deepEqual(body, { event: 'test', alert: null, site, sent_at: body.sent_at })
  await eventually(async () => (await shown(made.id)).last_success_at !== null, 'a success')
  assert.equal((await shown(made.id)).waiting, 0)
  assert.deepEqual(await ok(g.remove(`/webhooks/${made.id}`)), { success: true, deleted: made.id })
  assert.equal(await shown(made.id), undefined)
  for (const [method, path] of [
    ['DELETE', `/webhooks/${made.id}`],
    ['POST', `/webhooks/${made.id}/test`],
  ] as const)
    await fails(g.request(method, path), 404, 'webhook_not_found')
})

test('a secret can be given, with any characters', async (t) => {
  const receiver = await Receiver.open(t)
  const secret = 'Schlüssel 🔑'
  const made = await hook(t, { url: receiver.url, kinds: null, secret })
  assert.deepEqual([made.body.secret, made.body.webhook.kinds], [secret, null])
  await g.post(`/webhooks/${made.id}/test`)
  await receiver.has(1)
  assert.ok(receiver.received.every((got) => isSigned(got, secret)))
})

test('the receiver in docs/alerts.md accepts only recent requests with a valid signature', async (t) => {
  const page = readFileSync(new URL('../../docs/alerts.md', import.meta.url), 'utf8')
  const [, code] = /```js\n(.*?)```/s.exec(page) ?? []
  const module = `data:text/javascript,${encodeURIComponent(`${code}\nexport { isFromCartbarn }`)}`
  const { isFromCartbarn } = await import(module)
  const receiver = await Receiver.open(t)
  const made = await hook(t, { url: receiver.url })
  const { secret } = made.body
  await g.post(`/webhooks/${made.id}/test`)
  await receiver.has(1)
  const [{ headers, text } = assert.fail()] = receiver.received
  assert.ok(isFromCartbarn(headers, text, secret))
  assert.ok(!isFromCartbarn(headers, `${text} `, secret))
  assert.ok(!isFromCartbarn(headers, text, `${secret}x`))
  assert.ok(!isFromCartbarn({}, text, secret))
  const timestamp = String(Number(headers['x-cartbarn-timestamp']) - 301)
  const signature = `sha256=${createHmac('sha256', secret).update(`${timestamp}.${text}`).digest('hex')}`
  const old = { 'x-cartbarn-timestamp': timestamp, 'x-cartbarn-signature': signature }
  assert.ok(!isFromCartbarn(old, text, secret))
})

describe('rejected requests', () => {
  for (const [what, body, code] of [
    ['ftp', { url: 'ftp://host/' }, 'invalid_url'],
    ['a file', { url: 'file:///etc/passwd' }, 'invalid_url'],
    ['javascript', { url: 'javascript:alert(1)' }, 'invalid_url'],
    ['a user', { url: 'http://me@host/' }, 'invalid_url'],
    ['a password', { url: 'http://:secret@host/' }, 'invalid_url'],
    ['no host', { url: 'http://' }, 'invalid_url'],
    ['a path alone', { url: '/alerts' }, 'invalid_url'],
    ['nothing', { url: '' }, 'invalid_url'],
    ['a line break', { url: 'http://host/\r\nx: y' }, 'invalid_url'],
    ['a long one', { url: `http://host/${'x'.repeat(2000)}` }, 'invalid_url'],
    ['a number', { url: 7 }, 'invalid_field'],
    ['no url', {}, 'missing_field'],
    ['an unknown kind', { url: 'http://host/', kinds: ['outside', 'party'] }, 'invalid_field'],
    ['no kind', { url: 'http://host/', kinds: [] }, 'invalid_field'],
    ['an empty secret', { url: 'http://host/', secret: '' }, 'invalid_field'],
    ['a huge secret', { url: 'http://host/', secret: 'x'.repeat(257) }, 'invalid_field'],
    ['an unknown field', { url: 'http://host/', event: 'opened' }, 'unknown_field'],
  ] as [string, object, string][])
    test(`${what}: ${code}`, () => fails(g.post('/webhooks', body), 400, code))

  test('a 21st webhook is rejected', async (t) => {
    const { body: known } = await g.get('/webhooks')
    const made = await Promise.all(
      Array.from({ length: 21 - known.length }, () => hook(t, { url: 'http://127.0.0.1:9/' })),
    )
    const refused = made.filter(({ status }) => status !== 201)
    assert.deepEqual(
      refused.map(({ status, body }) => [status, body.code]),
      [[409, 'too_many_webhooks']],
    )
  })
})

test('a failed delivery is retried under the same id, and shown in /webhooks and /metrics', async (t) => {
  let requests = 0
  const receiver = await Receiver.open(t, (response) =>
    ++requests < 3 ? ANSWERS.broken(response) : ANSWERS.ok(response),
  )
  const failed = await metric(g, 'cartbarn_notifications_failed_total', 'webhook')
  const made = await hook(t, { url: receiver.url, secret: 'x' })
  await g.post(`/webhooks/${made.id}/test`)
  await eventually(async () => (await shown(made.id)).last_error === 'answered 503', 'an error')
  assert.equal((await shown(made.id)).waiting, 1)
  assert.equal(await metric(g, 'cartbarn_notifications_waiting', 'webhook'), 1)
  await receiver.has(3)
  const [first, second, third] = receiver.received
  assert.ok(first !== undefined && second !== undefined && third !== undefined)
  const waits = [second.atMs - first.atMs, third.atMs - second.atMs]
  assert.ok((waits[0] ?? 0) > 700 && (waits[1] ?? 0) > 1500, `${waits}`)
  for (const { headers, text } of receiver.received) {
    assert.equal(headers['x-cartbarn-delivery'], first.headers['x-cartbarn-delivery'])
    assert.equal(text, first.text)
  }
  assert.ok(receiver.received.every((got) => isSigned(got, 'x')))
  await eventually(async () => (await shown(made.id)).waiting === 0, 'nothing waits')
  assert.equal((await shown(made.id)).last_error, null)
  assert.equal(await metric(g, 'cartbarn_notifications_failed_total', 'webhook'), failed + 2)
})

test('a webhook that hangs delays no other webhook', async (t) => {
  const [hanging, other] = [await Receiver.open(t, ANSWERS.hang), await Receiver.open(t)]
  const slow = await hook(t, { url: hanging.url })
  const quick = await hook(t, { url: other.url })
  for (let i = 0; i < 20; i++) await g.post(`/webhooks/${slow.id}/test`)
  await hanging.has(4)
  await g.post(`/webhooks/${quick.id}/test`)
  await other.has(1)
  assert.equal((await shown(slow.id)).waiting, 20)
  // a delivery in progress ends immediately
  await g.remove(`/webhooks/${slow.id}`)
})

test('a deleted webhook receives nothing more', async (t) => {
  const receiver = await Receiver.open(t, ANSWERS.broken)
  const made = await hook(t, { url: receiver.url })
  await g.post(`/webhooks/${made.id}/test`)
  await receiver.has(1)
  await g.remove(`/webhooks/${made.id}`)
  const other = await hook(t, { url: receiver.url })
  await g.post(`/webhooks/${other.id}/test`)
  // a later retry of the second webhook has arrived, and none of the first
  await receiver.has(4)
  const ids = new Set(receiver.received.slice(1).map(({ headers }) => headers['x-cartbarn-delivery']))
  assert.equal(ids.size, 1)
})

test('pending deliveries survive a restart with their ids, and the audit log has no secrets', async (t) => {
  const own = await startFor(t)
  const receiver = await Receiver.open(t, ANSWERS.broken)
  const url = `${receiver.url}/T0P-SECRET`
  const { body } = await own.post('/webhooks', { url, secret: 'S3CRET' })
  const id = body.webhook.webhook_id
  await own.post(`/webhooks/${id}/test`)
  await receiver.has(1)
  await eventually(async () => (await own.get('/webhooks')).body[0].last_error !== null, 'an error')
  await own.restart(() => {
    receiver.answer = ANSWERS.ok
  })
  await receiver.has(2)
  const [first, second] = receiver.received
  assert.equal(second?.headers['x-cartbarn-delivery'], first?.headers['x-cartbarn-delivery'])
  assert.equal(second?.text, first?.text)
  assert.ok(second !== undefined && isSigned(second, 'S3CRET'))
  await own.remove(`/webhooks/${id}`)
  const { body: log } = await own.get('/audit-log')
  const entries: { action: string; target: string }[] = log.entries
  assert.deepEqual(
    entries.flatMap(({ action, target }) => (target === id ? [action] : [])),
    ['webhook.deleted', 'webhook.tested', 'webhook.created'],
  )
  assert.ok(!/S3CRET/.test(JSON.stringify(log)))
})
