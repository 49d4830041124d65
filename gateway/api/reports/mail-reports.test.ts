import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { FakeClock } from '#shared/testing/clocks.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '#shared/time.ts'
import type { MailReportJson } from '#shared/wire/notifiers.ts'
import { Mailbox } from '#testing/mailbox.ts'
import { fails, ok } from '#testing/scene.ts'
import { startGateway, TICK_MS } from '#testing/start-gateway.ts'

const HOURS = Object.fromEntries(['mon', 'tue', 'wed', 'thu', 'fri', 'sat'].map((day) => [day, ['07:00', '20:00']]))

/** Gateway in Berlin with a mail server, on Friday, 1 May 2026, 12:00, closed on Sundays. */
async function started(t: TestContext, { isConfirmed = true } = {}) {
  const mailbox = await Mailbox.open(t)
  const clock = new FakeClock(Date.parse('2026-05-01T10:00:00Z'))
  let isSynchronized = isConfirmed
  const mail = { CARTBARN_SMTP_URL: mailbox.url, CARTBARN_SMTP_FROM: 'barn@club.example' }
  const g = await startGateway(mail, { clock, isTimeSynchronized: () => isSynchronized })
  t.after(() => g.stop())
  await ok(g.patch('/site', { name: 'Pine <Hills>', time_zone: 'Europe/Berlin', opening_hours: HOURS }))
  const make = async (body: object): Promise<MailReportJson> => (await ok(g.post('/mail-reports', body), 201)).report
  const shown = async (): Promise<MailReportJson[]> => ok(g.request('GET', '/mail-reports'))
  const to = (iso: string) => clock.advance(Date.parse(iso) - clock.nowMs())
  /** Lets the gateway evaluate twice. */
  const settle = () => new Promise((resolve) => setTimeout(resolve, 6 * TICK_MS))
  const subjects = () => mailbox.mails.map(({ text }) => /^Subject: (.*)$/m.exec(text)?.[1]?.trim())
  const confirm = () => {
    isSynchronized = true
  }
  return { g, clock, mailbox, make, shown, to, settle, subjects, confirm }
}

test('a day is sent the next morning, once, as text, HTML and table', async (t) => {
  const { g, mailbox, make, shown, to, settle, subjects } = await started(t)
  const report = await make({ to: 'boss@club.example', report: 'day' })
  const { report_id, created_at, ...others } = report
  assert.deepEqual(others, {
    to: 'boss@club.example',
    report: 'day',
    at: '06:00',
    language: 'en',
    last_sent_at: null,
    last_for: null,
    last_error: null,
    next_at: '2026-05-02T04:00:00.000Z',
  })
  to('2026-05-02T03:59:59Z')
  await settle()
  assert.equal(mailbox.mails.length, 0)
  to('2026-05-02T04:00:00Z')
  await mailbox.has(1)
  const [mail] = mailbox.mails
  assert.deepEqual(subjects(), ['Pine <Hills>: Fri 1 May 2026'])
  for (const part of [
    'Auto-Submitted: auto-generated',
    'Content-Type: multipart/',
    'cartbarn-2026-05-01.csv',
    'Pine &lt;Hills&gt;',
  ])
    assert.ok(mail?.text.includes(part), `${part} of ${mail?.text}`)
  assert.ok(!/https?:|<script|<img/i.test(mail?.text ?? ''))
  await eventually(async () => (await shown())[0]?.last_for === '2026-05-01', 'it is noted')
  await g.restart()
  to('2026-05-02T04:10:00Z')
  await settle()
  assert.equal(mailbox.mails.length, 1)
  assert.equal((await shown())[0]?.next_at, '2026-05-03T04:00:00.000Z')
  await ok(g.request('DELETE', `/mail-reports/${report_id}`))
  await fails(g.request('DELETE', `/mail-reports/${report_id}`), 404, 'report_not_found')
})

test('a month is sent on the first, a day at closing half an hour after it, and none for a closed day', async (t) => {
  const { make, to, settle, subjects, mailbox } = await started(t)
  await make({ to: 'm@club.example', report: 'month', at: '07:30', language: 'de' })
  await make({ to: 'c@club.example', report: 'day', at: 'closing' })
  await make({ to: 'd@club.example', report: 'day', at: '05:00' })
  to('2026-05-01T18:29:00Z')
  await settle()
  assert.equal(mailbox.mails.length, 0)
  to('2026-05-01T18:30:00Z')
  await mailbox.has(1)
  to('2026-05-02T03:00:00Z')
  await mailbox.has(2)
  to('2026-05-02T18:30:00Z')
  await mailbox.has(3)
  to('2026-05-03T03:00:00Z')
  await mailbox.has(4)
  // Sunday, closed
  to('2026-05-04T03:10:00Z')
  await settle()
  assert.deepEqual(
    subjects(),
    ['Fri 1 May 2026', 'Fri 1 May 2026', 'Sat 2 May 2026', 'Sat 2 May 2026'].map((day) => `Pine <Hills>: ${day}`),
  )
  // a stop of a month: the newest of each
  to('2026-06-01T05:30:00Z')
  await mailbox.has(6)
  await settle()
  assert.deepEqual(subjects().slice(4).sort(), ['Late: Pine <Hills>: Sat 30 May 2026', 'Pine <Hills>: Mai 2026'])
})

test('a mail is tried for a day, then given up; the next day is sent', async (t) => {
  const { clock, mailbox, make, shown, to, settle, subjects } = await started(t)
  mailbox.refusal = 'quota exceeded'
  await make({ to: 'boss@club.example', report: 'day' })
  to('2026-05-02T04:00:00Z')
  await eventually(async () => /quota/.test((await shown())[0]?.last_error ?? ''), 'the error')
  for (let i = 0; i < 2; i++) {
    clock.advance(11 * HOUR_MS)
    await settle()
  }
  assert.equal((await shown())[0]?.last_for, null)
  mailbox.refusal = null
  to('2026-05-03T04:00:00Z')
  await mailbox.has(1)
  assert.deepEqual(subjects(), ['Pine <Hills>: Sat 2 May 2026'])
  await eventually(async () => (await shown())[0]?.last_error === null, 'no error')
})

test('a report that is deleted while its mail is tried is not sent', async (t) => {
  const { g, clock, mailbox, make, shown, to, settle } = await started(t)
  mailbox.refusal = 'quota exceeded'
  const { report_id: id } = await make({ to: 'boss@club.example', report: 'day' })
  to('2026-05-02T04:00:00Z')
  await eventually(async () => (await shown())[0]?.last_error !== null, 'the error')
  await ok(g.request('DELETE', `/mail-reports/${id}`))
  mailbox.refusal = null
  clock.advance(HOUR_MS)
  await settle()
  assert.equal(mailbox.mails.length, 0)
})

test('nothing is sent while the clock is not confirmed; then what is due, late', async (t) => {
  const { mailbox, make, to, settle, subjects, confirm } = await started(t, { isConfirmed: false })
  await make({ to: 'boss@club.example', report: 'day' })
  to('2026-05-02T05:01:00Z')
  await settle()
  assert.equal(mailbox.mails.length, 0)
  confirm()
  await mailbox.has(1)
  assert.deepEqual(subjects(), ['Late: Pine <Hills>: Fri 1 May 2026'])
})

test('a test is sent at once, also after a restart, and changes nothing of the schedule', async (t) => {
  const { g, mailbox, make, shown, subjects } = await started(t)
  const { report_id: id } = await make({ to: 'boss@club.example', report: 'month', at: '08:00' })
  mailbox.refusal = 'not now'
  await ok(g.post(`/mail-reports/${id}/test`), 202)
  await eventually(async () => (await shown())[0]?.last_error !== null, 'refused')
  await g.restart()
  mailbox.refusal = null
  await mailbox.has(1, 10_000)
  assert.deepEqual(subjects(), ['Pine <Hills>: Apr 2026'])
  await eventually(async () => (await shown())[0]?.last_sent_at !== null, 'it is noted')
  const [report] = await shown()
  assert.deepEqual([report?.last_for, report?.next_at], [null, '2026-06-01T06:00:00.000Z'])
})

test('a report that is moved within a day does not come twice; bad fields are refused', async (t) => {
  const { g, mailbox, make, to, settle } = await started(t)
  const { report_id: id } = await make({ to: 'boss@club.example', report: 'day', at: '06:00' })
  to('2026-05-02T04:00:00Z')
  await mailbox.has(1)
  await ok(g.patch(`/mail-reports/${id}`, { at: '07:00', language: 'de' }))
  to('2026-05-02T05:30:00Z')
  await settle()
  assert.equal(mailbox.mails.length, 1)
  to('2026-05-03T05:00:00Z')
  await mailbox.has(2)
  for (const body of [
    { to: 'a@b.example, c@d.example', report: 'day' },
    { to: 'a@b.example', report: 'week' },
    { to: 'a@b.example', report: 'day', at: '24:00' },
    { to: 'a@b.example', report: 'month', at: 'closing' },
    { to: 'a@b.example', report: 'day', language: 'fr' },
  ])
    await fails(g.post('/mail-reports', body), 400, 'invalid_field')
  await fails(g.patch(`/mail-reports/${id}`, { report: 'month', at: 'closing' }), 400, 'invalid_field')
  for (let i = 1; i < 20; i++) await make({ to: `a${i}@b.example`, report: 'day' })
  await fails(g.post('/mail-reports', { to: 'a@b.example', report: 'day' }), 409, 'too_many_reports')
})

test('an erasure of the address deletes the report', async (t) => {
  const { g, make, shown } = await started(t)
  await make({ to: 'Boss@club.example', report: 'day' })
  await make({ to: 'other@club.example', report: 'day' })
  await ok(g.post('/erasures', { person: 'boss@club.example' }))
  await eventually(async () => (await shown()).length === 1, 'one is left')
  await g.restart()
  assert.deepEqual(
    (await shown()).map(({ to }) => to),
    ['other@club.example'],
  )
})

test('without a mail server a report is refused', async (t) => {
  const g = await startGateway()
  t.after(() => g.stop())
  await fails(g.post('/mail-reports', { to: 'a@b.example', report: 'day' }), 409, 'no_smtp')
})

for (const [name, waitMs] of [
  ['a minute', MINUTE_MS],
  ['a day', DAY_MS],
  ['a year', 365 * DAY_MS],
] as const)
  test(`after a stop of ${name} at most the newest day is sent`, async (t) => {
    const { clock, mailbox, make, settle } = await started(t)
    await make({ to: 'boss@club.example', report: 'day' })
    clock.advance(waitMs)
    await settle()
    if (waitMs >= DAY_MS) await mailbox.has(1)
    await settle()
    assert.equal(mailbox.mails.length, waitMs >= DAY_MS ? 1 : 0)
  })
