import type { Events } from '#gateway/events.ts'
import { SerialQueue } from '#shared/budgets/serial-queue.ts'
import { ConflictError, describeError, InvalidRequestError, NotFoundError } from '#shared/errors.ts'
import { newUuid } from '#shared/ids.ts'
import type { Component } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'
import { dateAfter } from '#shared/site/time-zone.ts'
import { type Clock, DAY_MS, HOUR_MS, type MonotonicClock } from '#shared/time.ts'
import { ALERT_KINDS, isSiteKind } from '#shared/wire/alert-kinds.ts'
import type { MailReportFields } from '#shared/wire/notifiers.ts'
import type { MailReportRow } from '#store/mail-reports/mail-reports.ts'
import type { Store } from '#store/store.ts'
import type { Carts } from '../carts/carts.ts'
import { MAIL_MS, type Mailer } from '../notifications/mailer.ts'
import { retryMs, UnknownOutcome } from '../notifications/retries.ts'
import type { Site } from '../site.ts'
import type { Summaries } from '../summaries/summaries.ts'
import { lastDue, nextDueMs } from './due.ts'
import { reportMail } from './report-mail.ts'

interface MailReportsDeps {
  store: Pick<Store, 'read' | 'write'>
  summaries: Pick<Summaries, 'of'>
  mailer: Pick<Mailer, 'isConfigured' | 'send'>
  carts: Pick<Carts, 'allNow'>
  site: Pick<Site, 'settings' | 'timeZone' | 'calendar'>
  clockConfirmation: { readonly isConfirmed: boolean }
  events: Pick<Events, 'on'>
  clock: Clock & MonotonicClock
  /** Between 0 and 1. */
  random: () => number
  log: Log
}

/** Report with the time of its next mail. */
export type MailReport = MailReportRow & { nextAtMs: number | null }

/** Mail that is due, or the test of a report. */
interface Job {
  period: string
  dueMs: number
  /** Null for a mail that is due. */
  testId: string | null
}

/** Attempts to send one mail, by the monotonic clock. */
interface Attempts {
  readonly key: string
  readonly sinceMs: number
  failures: number
  nextMs: number
}

/** Time for which a mail is tried. */
const TRIED_MS = DAY_MS
/** Delay from which a mail counts as late. */
const LATE_MS = HOUR_MS
const OWNER = 'mail-reports'

/**
 * Reports by e-mail. After every evaluation of the carts each due report is sent once, with retries for a day; of
 * several that became due during a stop only the newest. A mail that was sent just before a power cut is sent again
 * with the same id.
 */
export class MailReports implements Component {
  readonly #deps: MailReportsDeps
  readonly #turns = new SerialQueue()
  readonly #byId = new Map<string, MailReportRow>()
  readonly #attempts = new Map<string, Attempts>()
  readonly #sending = new Map<string, Promise<void>>()
  #stopping = new AbortController()

  constructor(deps: MailReportsDeps) {
    this.#deps = deps
    deps.events.on('cartsEvaluated', ({ nowMs }) => this.#evaluate(nowMs))
    deps.events.on('erased', ({ table }) => {
      if (table === 'mail_report') this.load()
    })
  }

  load(): void {
    this.#byId.clear()
    for (const row of this.#deps.store.read.mailReports()) this.#byId.set(row.reportId, row)
  }

  async start(): Promise<void> {
    this.#stopping = new AbortController()
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await Promise.all(this.#sending.values())
  }

  /** Returns the reports in the order of their creation. */
  all(): MailReport[] {
    return [...this.#byId.values()].map((row) => this.#shown(row))
  }

  /** Throws `no_smtp` and `too_many_reports`. */
  async create(fields: MailReportFields): Promise<MailReport> {
    const { store, clock, site } = this.#deps
    this.#requireMail()
    const nowMs = clock.nowMs()
    const row: MailReportRow = {
      ...fields,
      reportId: newUuid(),
      createdAtMs: nowMs,
      doneFor: lastDue(fields, site, nowMs)?.period ?? '',
      lastSentAtMs: null,
      lastFor: null,
      lastError: null,
      testId: null,
    }
    await store.write('createMailReport', row, () => this.#byId.set(row.reportId, row))
    return this.#shown(row)
  }

  /** Throws `report_not_found`, and `invalid_field` for a month at closing. */
  change(reportId: string, patch: Partial<MailReportFields>): Promise<MailReport> {
    return this.#turns.take(async () => {
      const { store, clock, site } = this.#deps
      const before = this.#require(reportId)
      const changed = { ...before, ...patch }
      if (changed.report === 'month' && changed.at === 'closing') {
        const detail = 'closing is for a day'
        throw new InvalidRequestError('invalid_field', `at: ${detail}`, [
          { in: 'body', name: 'at', code: 'invalid_field', detail },
        ])
      }
      const due = lastDue(changed, site, clock.nowMs())?.period ?? ''
      const doneFor = changed.report === before.report && before.doneFor > due ? before.doneFor : due
      const row = changed.at === before.at && changed.report === before.report ? changed : { ...changed, doneFor }
      await store.write('updateMailReport', row, () => this.#byId.set(reportId, row))
      return this.#shown(row)
    })
  }

  /** Throws `report_not_found`. */
  delete(reportId: string): Promise<void> {
    return this.#turns.take(async () => {
      this.#require(reportId)
      await this.#deps.store.write('deleteMailReport', { reportId }, () => {
        this.#byId.delete(reportId)
        this.#attempts.delete(reportId)
      })
    })
  }

  /** Sends the last complete day or month; returns the id of the mail. Throws `report_not_found` and `no_smtp`. */
  test(reportId: string): Promise<string> {
    return this.#turns.take(async () => {
      const row = this.#require(reportId)
      this.#requireMail()
      const testId = newUuid()
      await this.#deps.store.write('testMailReport', { reportId, testId }, () =>
        this.#byId.set(reportId, { ...row, testId }),
      )
      return testId
    })
  }

  #evaluate(nowMs: number): void {
    if (this.#stopping.signal.aborted || !this.#deps.clockConfirmation.isConfirmed) return
    for (const row of this.#byId.values()) {
      const job = this.#jobOf(row, nowMs)
      if (job === null || this.#sending.has(row.reportId) || !this.#mayTry(row, job)) continue
      const sending = this.#handle(row, job, nowMs).finally(() => this.#sending.delete(row.reportId))
      this.#sending.set(row.reportId, sending)
    }
  }

  #jobOf(row: MailReportRow, nowMs: number): Job | null {
    const { site } = this.#deps
    if (row.testId !== null) {
      const { date } = site.timeZone.local(nowMs)
      const period = row.report === 'day' ? dateAfter(date, -1) : dateAfter(`${date.slice(0, 7)}-01`, -1).slice(0, 7)
      return { period, dueMs: nowMs, testId: row.testId }
    }
    const due = lastDue(row, site, nowMs)
    return due === null || due.period <= row.doneFor ? null : { ...due, testId: null }
  }

  #mayTry({ reportId }: MailReportRow, job: Job): boolean {
    const attempts = this.#attempts.get(reportId)
    return attempts === undefined || attempts.key !== keyOf(job) || attempts.nextMs <= this.#deps.clock.monotonicMs()
  }

  async #handle(row: MailReportRow, job: Job, nowMs: number): Promise<void> {
    const { clock, log } = this.#deps
    const { reportId } = row
    try {
      const isSent = await this.#send(row, job, nowMs)
      const sent = isSent
        ? { lastSentAtMs: clock.nowMs(), lastError: null, ...(job.testId === null && { lastFor: job.period }) }
        : {}
      await this.#note(reportId, job, sent)
      this.#attempts.delete(reportId)
    } catch (error) {
      if (this.#stopping.signal.aborted) return
      const lastError = describeError(error)
      const hasGivenUp = this.#failed(reportId, job, error)
      log.warn(
        { reportId, reason: lastError },
        hasGivenUp ? 'gave up sending a report' : 'sending a report failed; will retry',
      )
      await this.#note(reportId, hasGivenUp ? job : null, { lastError }).catch(() => undefined)
    }
  }

  /** Returns false if nothing was sent: the course was closed and no cart was out, or the report was deleted. */
  async #send(row: MailReportRow, { period, dueMs, testId }: Job, nowMs: number): Promise<boolean> {
    const { summaries, carts, site, mailer } = this.#deps
    const scope = { carts: carts.allNow(), siteKinds: ALERT_KINDS.filter(isSiteKind) }
    const summary = await summaries.of(period, scope, { owner: OWNER, signal: this.#stopping.signal })
    if (testId === null && row.report === 'day' && summary.carts.used === 0 && !this.#isOpenOn(period)) return false
    // the address may have been changed or erased meanwhile
    const recipient = this.#byId.get(row.reportId)?.recipient
    if (recipient === undefined) return false
    const { settings } = site
    const mail = reportMail(summary, {
      period,
      settings,
      language: row.language ?? settings.language,
      isLate: nowMs > dueMs + LATE_MS,
    })
    const id = testId ?? `${row.reportId}-${period}`
    const signal = AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(MAIL_MS)])
    await mailer.send({ to: recipient, id, signal, ...mail })
    return true
  }

  #isOpenOn(date: string): boolean {
    const { calendar, timeZone, settings } = this.#deps.site
    if (settings.openingHours === null) return true
    return calendar.nextOpening(timeZone.day(date).fromMs - 1)?.date === date
  }

  /** Returns true if the mail is not tried again. */
  #failed(reportId: string, job: Job, error: unknown): boolean {
    const { clock, random } = this.#deps
    const nowMs = clock.monotonicMs()
    const known = this.#attempts.get(reportId)
    const attempts = known?.key === keyOf(job) ? known : { key: keyOf(job), sinceMs: nowMs, failures: 0, nextMs: 0 }
    attempts.failures++
    attempts.nextMs = nowMs + retryMs(attempts.failures, random(), error instanceof UnknownOutcome)
    this.#attempts.set(reportId, attempts)
    return nowMs - attempts.sinceMs >= TRIED_MS
  }

  /** Writes what became of a mail; with `done` it needs no further attempt. */
  #note(reportId: string, done: Job | null, more: Partial<MailReportRow>): Promise<unknown> {
    return this.#turns.take(async () => {
      const row = this.#byId.get(reportId)
      if (row === undefined) return
      const doneFor = done === null || done.testId !== null || done.period < row.doneFor ? row.doneFor : done.period
      const testId = done?.testId === row.testId ? null : row.testId
      const noted = { ...row, ...more, doneFor, testId }
      await this.#deps.store.write('noteMailReport', noted, () => this.#byId.set(reportId, noted))
    })
  }

  #shown(row: MailReportRow): MailReport {
    return { ...row, nextAtMs: nextDueMs(row, this.#deps.site, this.#deps.clock.nowMs()) }
  }

  #require(reportId: string): MailReportRow {
    const row = this.#byId.get(reportId)
    if (row !== undefined) return row
    throw new NotFoundError('report_not_found', `there is no report by e-mail ${reportId}`)
  }

  #requireMail(): void {
    if (this.#deps.mailer.isConfigured) return
    throw new ConflictError('no_smtp', 'no mail server is configured; set CARTBARN_SMTP_URL and CARTBARN_SMTP_FROM')
  }
}

function keyOf({ period, testId }: Job): string {
  return testId ?? period
}
