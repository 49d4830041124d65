import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'
import { eventually } from '#shared/testing/eventually.ts'
import { Mailbox } from '#testing/mailbox.ts'
import { ANSWERS, Receiver } from '#testing/receiver.ts'
import { fails, ok, scene } from '#testing/scene.ts'
import { startFor } from '#testing/start-gateway.ts'

const UNKNOWN_ID = '00000000-0000-4000-8000-000000000000'
const NTFY = { channel: 'ntfy', to: 'http://127.0.0.1:9/topic' }
const ends: (() => unknown)[] = []
const atEnd = { after: (end: () => unknown) => void ends.push(end) }
let mailbox: Mailbox
let telegram: Receiver

before(async () => {
  mailbox = await Mailbox.open(atEnd)
  telegram = await Receiver.open(atEnd)
})
const { g, onlyFor } = scene({
  isRealTime: true,
  settings: () => ({
    CARTBARN_SMTP_URL: mailbox.url.replace('//', '//barn:p%40ss@'),
    CARTBARN_SMTP_FROM: 'Golf carts <carts@club.example>',
    CARTBARN_TELEGRAM_URL: `${telegram.url}/api/`,
    CARTBARN_PUBLIC_URL: 'https://barn.club.example',
  }),
  inScope: [],
})
after(async () => {
  for (const end of ends) await end()
})

/** Creates a notifier that is removed after the test. */
async function notifier(t: TestContext, fields: object) {
  const answer = await g.post('/notifiers', fields)
  const id: string | undefined = answer.body.notifier?.notifier_id
  if (id !== undefined) t.after(() => g.remove(`/notifiers/${id}`))
  return { ...answer, id: id ?? '' }
}

const shown = async (id: string) =>
  (await g.get('/notifiers')).body.find((one: { notifier_id: string }) => one.notifier_id === id)

for (const [method, path, body] of [
  ['GET', '/notifiers'],
  ['POST', '/notifiers', NTFY],
  ['PATCH', `/notifiers/${UNKNOWN_ID}`, {}],
  ['DELETE', `/notifiers/${UNKNOWN_ID}`],
  ['POST', `/notifiers/${UNKNOWN_ID}/test`],
] as [string, string, object?][]) {
  onlyFor('admins', [method, path, body])
  if (path.includes(UNKNOWN_ID))
    test(`${method} ${path.replace(UNKNOWN_ID, ':id')}: an unknown notifier is 404`, () =>
      fails(g.request(method, path, { body }), 404, 'notifier_not_found'))
}

test('a notifier is created, listed without its token, changed and deleted', async (t) => {
  const made = await notifier(t, {
    channel: 'telegram',
    to: '-100200300',
    token: '123:S3CRET',
    kinds: ['outside'],
    between: ['20:00', '07:00'],
    after_unacknowledged_min: 0.5,
  })
  assert.equal(made.status, 201)
  const { created_at } = made.body.notifier
  const known = {
    notifier_id: made.id,
    channel: 'telegram',
    to: '-100200300',
    kinds: ['outside'],
    between: ['20:00', '07:00'],
    after_unacknowledged_min: 0.5,
    created_at,
    last_success_at: null,
    last_error: null,
    waiting: 0,
  }
  assert.deepEqual(made.body, { notifier: known })
  assert.deepEqual(await shown(made.id), known)
  const change = async (body: object) => (await g.patch(`/notifiers/${made.id}`, body)).body
  assert.deepEqual(await change({}), known)
  assert.deepEqual(await change({ to: '@club', kinds: ['disk', 'clock'] }), {
    ...known,
    to: '@club',
    kinds: ['disk', 'clock'],
  })
  const cleared = { ...known, to: '@club', kinds: null, between: null, after_unacknowledged_min: null }
  assert.deepEqual(
    await change({ kinds: null, between: null, after_unacknowledged_min: null, token: '9:NEWS3CRET' }),
    cleared,
  )
  assert.deepEqual(await change({ between: ['00:00', '24:00'] }), { ...cleared, between: ['00:00', '24:00'] })
  assert.deepEqual(await ok(g.remove(`/notifiers/${made.id}`)), { success: true, deleted: made.id })
  assert.equal(await shown(made.id), undefined)
  const { body: log } = await g.get('/audit-log?limit=1000')
  const entries: { action: string; target: string }[] = log.entries
  assert.deepEqual(entries.flatMap(({ action, target }) => (target === made.id ? [action] : [])).reverse(), [
    'notifier.created',
    'notifier.updated',
    'notifier.updated',
    'notifier.token_replaced',
    'notifier.updated',
    'notifier.deleted',
  ])
  assert.ok(!/S3CRET/.test(JSON.stringify(log)))
})

describe('rejected requests', () => {
  const email = (to: string) => ({ channel: 'email', to })
  for (const [what, body, code] of [
    ['no channel', { to: 'a@b.example' }, 'invalid_field'],
    ['an unknown channel', { channel: 'pigeon', to: 'a@b.example' }, 'invalid_field'],
    ['no address', { channel: 'email' }, 'missing_field'],
    ['an empty address', email(''), 'invalid_field'],
    ['no @', email('greenkeeper'), 'invalid_field'],
    ['two addresses', email('a@b.example,c@d.example'), 'invalid_field'],
    ['a name', email('Ann <a@b.example>'), 'invalid_field'],
    ['another header', email('a@b.example\r\nBcc: c@d.example'), 'invalid_field'],
    ['a long address', email(`${'x'.repeat(65)}@b.example`), 'invalid_field'],
    ['a token for e-mail', { ...email('a@b.example'), token: 'x' }, 'invalid_field'],
    ['no URL', { channel: 'ntfy', to: 'my-topic' }, 'invalid_url'],
    ['a user in the URL', { channel: 'ntfy', to: 'https://me:x@ntfy.example/t' }, 'invalid_url'],
    ['another protocol', { channel: 'ntfy', to: 'mailto:a@b.example' }, 'invalid_url'],
    ['a token that is not a header value', { ...NTFY, token: 'a\r\nb: c' }, 'invalid_field'],
    ['no token for Telegram', { channel: 'telegram', to: '1' }, 'missing_field'],
    ['null as token for Telegram', { channel: 'telegram', to: '1', token: null }, 'missing_field'],
    ['a token that is a path', { channel: 'telegram', to: '1', token: '1/../../x' }, 'invalid_field'],
    ['no chat', { channel: 'telegram', to: '', token: '1:x' }, 'invalid_field'],
    ['a chat that is a number', { channel: 'telegram', to: 7, token: '1:x' }, 'invalid_field'],
    ['an unknown kind', { ...NTFY, kinds: ['party'] }, 'invalid_field'],
    ['no kinds', { ...NTFY, kinds: [] }, 'invalid_field'],
    ['one time', { ...NTFY, between: ['20:00'] }, 'invalid_field'],
    ['the same time twice', { ...NTFY, between: ['20:00', '20:00'] }, 'invalid_field'],
    ['no time of the day', { ...NTFY, between: ['20:00', '25:00'] }, 'invalid_field'],
    ['minutes below 0', { ...NTFY, after_unacknowledged_min: -1 }, 'invalid_field'],
    ['more than a day', { ...NTFY, after_unacknowledged_min: 1440.1 }, 'invalid_field'],
    ['an unknown field', { ...NTFY, url: 'x' }, 'unknown_field'],
  ] as [string, object, string][])
    test(`${what}: ${code}`, () => fails(g.post('/notifiers', body), 400, code))

  for (const [body, code] of [
    [{ to: 'nowhere' }, 'invalid_url'],
    [{ to: null }, 'invalid_field'],
    [{ channel: 'email' }, 'unknown_field'],
    [{ between: ['1', '2'] }, 'invalid_field'],
    [{ kinds: ['party'] }, 'invalid_field'],
  ] as [object, string][])
    test(`a change to ${JSON.stringify(body)}: ${code}`, async (t) => {
      const { id } = await notifier(t, NTFY)
      await fails(g.patch(`/notifiers/${id}`, body), 400, code)
    })

  test('the token of a Telegram notifier cannot be removed', async (t) => {
    const { id } = await notifier(t, { channel: 'telegram', to: '1', token: '1:x' })
    assert.equal((await g.patch(`/notifiers/${id}`, { token: null })).status, 400)
  })

  test('a 21st notifier is rejected', async (t) => {
    const { body: known } = await g.get('/notifiers')
    const made = await Promise.all(Array.from({ length: 21 - known.length }, () => notifier(t, NTFY)))
    assert.deepEqual(
      made.filter(({ status }) => status !== 201).map(({ status, body }) => [status, body.code]),
      [[409, 'too_many_notifiers']],
    )
  })

  test('an e-mail notifier is rejected without a mail server', async (t) => {
    const own = await startFor(t)
    await fails(own.post('/notifiers', { channel: 'email', to: 'a@b.example' }), 409, 'no_smtp')
  })
})

describe('a test message', () => {
  test('is sent by e-mail, with user and password', async (t) => {
    const { id } = await notifier(t, { channel: 'email', to: 'ann@club.example' })
    await ok(g.post(`/notifiers/${id}/test`), 202)
    await mailbox.has(1)
    const [{ from, to, text } = assert.fail()] = mailbox.mails.splice(0)
    assert.deepEqual([from, to], ['carts@club.example', ['ann@club.example']])
    for (const line of [/^From: Golf carts <carts@club\.example>/m, /^To: ann@club\.example/m]) assert.match(text, line)
    assert.match(text, /^Subject: cartbarn: Test\r?$/m)
    assert.match(text, /This is a test/)
    await eventually(async () => (await shown(id)).last_success_at !== null, 'a success')
  })

  test('is sent by ntfy, with a token', async (t) => {
    const receiver = await Receiver.open(t)
    const { id } = await notifier(t, { channel: 'ntfy', to: `${receiver.url}/carts`, token: 'tk_S3CRET' })
    await g.post(`/notifiers/${id}/test`)
    await receiver.has(1)
    const [{ path, headers, text } = assert.fail()] = receiver.received
    assert.equal(path, '/carts')
    assert.deepEqual(
      [headers.title, headers.priority, headers.authorization, headers.click],
      ['cartbarn: Test', 'high', 'Bearer tk_S3CRET', 'https://barn.club.example/app/'],
    )
    assert.match(text, /^This is a test/)
  })

  test('is sent by Telegram, in the language of the site', async (t) => {
    await g.patch('/site', { language: 'de', name: 'Grünau' })
    t.after(() => g.patch('/site', { language: null, name: null }))
    const { id } = await notifier(t, { channel: 'telegram', to: '-42', token: '1:x' })
    await g.post(`/notifiers/${id}/test`)
    await telegram.has(1)
    const [{ path } = assert.fail()] = telegram.received
    const [{ chat_id, text }] = telegram.bodies
    assert.deepEqual([path, chat_id], ['/api/bot1:x/sendMessage', '-42'])
    assert.match(text, /^Dies ist ein Test/)
  })

  test('has letters beyond ASCII encoded in its title', async (t) => {
    await g.patch('/site', { name: 'Grünau' })
    t.after(() => g.patch('/site', { name: null }))
    const receiver = await Receiver.open(t)
    const { id } = await notifier(t, { channel: 'ntfy', to: receiver.url })
    await g.post(`/notifiers/${id}/test`)
    await receiver.has(1)
    const title = `=?UTF-8?B?${Buffer.from('Grünau: Test').toString('base64')}?=`
    assert.equal(receiver.received[0]?.headers.title, title)
  })

  test('is sent while other targets hang, is retried when rejected, and reports the reason', async (t) => {
    const receiver = await Receiver.open(t, ANSWERS.hang)
    const slow = await notifier(t, { channel: 'ntfy', to: receiver.url })
    for (let i = 0; i < 5; i++) await g.post(`/notifiers/${slow.id}/test`)
    mailbox.refusal = 'greylisted'
    const { id } = await notifier(t, { channel: 'email', to: 'ann@club.example' })
    await g.post(`/notifiers/${id}/test`)
    await eventually(async () => /greylisted/.test((await shown(id)).last_error), 'the reason')
    assert.equal((await shown(id)).waiting, 1)
    mailbox.refusal = null
    await mailbox.has(1)
    mailbox.mails.splice(0)
  })
})
