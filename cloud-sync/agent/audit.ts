import { describeError } from '#shared/errors.ts'
import { AUDIT_KINDS, type AuditKind } from '#shared/wire/replication/sync.ts'
import { DayAudit, type DayAuditDeps, InterruptedError, type OpenGroups } from './audit-day.ts'
import {
  type AuditCount,
  type AuditRecord,
  type AuditScope,
  addScope,
  auditRecordSchema,
  daysToAudit,
  FULL_SCOPE,
  isEverything,
  nightOf,
  requestedDays,
  type VerifiedGroups,
} from './audit-plan.ts'
import { JsonFile } from './json-file.ts'
import type { AgentClock } from './link.ts'

interface AuditDeps extends DayAuditDeps {
  readonly clock: AgentClock
  readonly random: () => number
  readonly dataDir: string | undefined
  /** True if the hub has all data except the newest. */
  readonly isDrained: () => boolean
}

const CHECK_MS = 15_000
const DRAIN_CHECK_MS = 1_000
/** Delay before unconfirmed rows are compared again: initial and maximum. */
const RETRY_MS = 5_000
const LONGEST_RETRY_MS = 3_600_000
/** Maximum number of stored proofs that the hub lacks no rows of a group; a group without a proof is sent again. */
const MAX_PROVEN = 20_000

/**
 * Audits the sync: compares count and sum of the rows of each device and day with the hub, sends missing rows again,
 * and compares once more. It audits the newest and some older days every night. A requested audit is repeated until
 * every row is confirmed to be at the hub.
 */
export class Auditor {
  readonly #deps: AuditDeps
  readonly #day: DayAudit
  readonly #file: JsonFile<typeof auditRecordSchema>
  readonly #share: number
  #record: AuditRecord
  #isLoaded = false
  /** Results of the running audit, by kind and day; after an interruption the audit continues from them. */
  readonly #compared = new Map<string, AuditCount>()
  /** Groups that the running audit did not confirm, by kind and day. */
  readonly #open = new Map<string, OpenGroups>()
  /** Number of rows sent again so far for each day that stayed open. */
  readonly #resent = new Map<string, number>()
  /** True if each day was compared since the last request. */
  #isCounted = false
  /** Number of the latest request: a comparison running when a request arrives counts only for earlier requests. */
  #generation = 0
  #attempts = 0
  #retryAtMs = Number.NEGATIVE_INFINITY
  /** Scopes of the running audit; null if none is running. */
  #running: readonly AuditScope[] | null = null

  constructor(deps: AuditDeps) {
    this.#deps = deps
    this.#day = new DayAudit(deps)
    this.#file = new JsonFile(deps.dataDir, 'sync-audit.json', auditRecordSchema)
    this.#share = deps.random()
    this.#record = emptyRecord('')
  }

  get last(): AuditRecord['last'] {
    return this.#record.last
  }

  get state(): 'idle' | 'wanted' | 'running' {
    if (this.#running !== null) return 'running'
    return this.#record.wanted.length > 0 ? 'wanted' : 'idle'
  }

  /** True while a full audit is pending: until it ends the hub may lack data that it acknowledged. */
  get isEverythingWanted(): boolean {
    return this.#record.wanted.some(isEverything)
  }

  /**
   * Rows not confirmed at the hub although an audit was requested. Null while unknown: before each day was compared,
   * and from the time nothing is open any more until the end of the audit, which still compares rows that arrived
   * since.
   */
  get unconfirmedRows(): number | null {
    if (this.#record.wanted.length === 0) return 0
    if (!this.#isCounted || this.#open.size === 0) return null
    const rows = [...this.#open.values()].flatMap((groups) => [...groups.values()])
    return rows.reduce((sum, count) => sum + count, 0)
  }

  /** Loads pending audits and results of earlier runs. */
  async load(): Promise<void> {
    const { epoch } = this.#deps.source.identity()
    const record = await this.#file.read()
    const { wanted } = this.#record
    // a comparison requested in another epoch is still pending
    this.#record = record?.epoch === epoch ? record : { ...emptyRecord(epoch), wanted: record?.wanted ?? [] }
    this.#isLoaded = true
    // requested since the start
    for (const scope of wanted) await this.request(scope)
  }

  /** Requests an audit of `scope` once the backlog has been sent, even if it has just been compared. */
  async request(scope: AuditScope): Promise<void> {
    this.#want(scope)
    if (this.#isLoaded) await this.#save()
  }

  /** Like `request`, for everything; rejects if the request could not be written to the disk. */
  async requestEverything(): Promise<void> {
    this.#want(FULL_SCOPE)
    await this.#file.write(this.#record)
  }

  #want(scope: AuditScope): void {
    this.#begin()
    this.#generation++
    // the running audit may have passed this scope
    const running = this.#running ?? []
    const others = this.#record.wanted.filter((known) => !running.includes(known))
    // each request counts, even if an equal one is running
    this.#record = { ...this.#record, wanted: [...running, ...addScope(others, { ...scope })] }
  }

  /** Resets the progress of the comparison. */
  #begin(): void {
    this.#compared.clear()
    this.#open.clear()
    this.#resent.clear()
    this.#isCounted = false
    this.#attempts = 0
    this.#retryAtMs = Number.NEGATIVE_INFINITY
  }

  /** Runs the audit that is due, if any. Returns the delay until the next step, in ms. */
  async step(signal: AbortSignal): Promise<number> {
    const { link, clock, source, isDrained } = this.#deps
    const { epoch } = source.identity()
    if (this.#record.epoch !== epoch) {
      this.#record = { ...emptyRecord(epoch), wanted: this.#record.wanted }
      this.#begin()
    }
    const nowMs = clock.nowMs()
    const nightMs = clock.isTrusted ? nightOf(nowMs, this.#share) : null
    const isNight = nightMs !== null && nightMs !== this.#record.nightMs
    const { wanted } = this.#record
    if (wanted.length === 0 && !isNight) return CHECK_MS
    const restMs = Math.max(link.holdMs, this.#retryAtMs - clock.monotonicMs())
    if (restMs > 0) return Math.min(restMs, CHECK_MS)
    // unsent rows would count as missing and be sent twice
    if (!isDrained()) return DRAIN_CHECK_MS
    const generation = this.#generation
    this.#running = wanted
    try {
      await this.#compareAll(wanted, nowMs, signal)
    } catch (error) {
      if (!(error instanceof InterruptedError)) throw error
      return DRAIN_CHECK_MS
    } finally {
      this.#running = null
    }
    const isNightDone = isNight && (wanted.length === 0 || wanted.some(isEverything))
    if (isNightDone) this.#record = { ...this.#record, nightMs }
    const isNew = generation !== this.#generation
    if (wanted.length > 0 && this.#open.size > 0) {
      if (!isNew) this.#retryLater()
    } else {
      const left = this.#record.wanted.filter((scope) => !wanted.includes(scope))
      this.#record = { ...this.#record, wanted: left }
      this.#begin()
    }
    await this.#save()
    return isNew || (isNight && !isNightDone) ? DRAIN_CHECK_MS : CHECK_MS
  }

  #retryLater(): void {
    const { clock, log } = this.#deps
    this.#isCounted = true
    const restMs = Math.min(LONGEST_RETRY_MS, RETRY_MS * 2 ** this.#attempts++)
    this.#retryAtMs = clock.monotonicMs() + restMs
    log.info({ rows: this.unconfirmedRows, restMs }, 'the audit continues: rows are not confirmed')
  }

  /** Compares the requested scopes, or else the days of the nightly audit. */
  async #compareAll(wanted: readonly AuditScope[], startedAtMs: number, signal: AbortSignal): Promise<void> {
    const { source, clock, log } = this.#deps
    const counts: Partial<Record<AuditKind, AuditCount>> = {}
    for (const kind of AUDIT_KINDS) {
      if (wanted.length > 0 && wanted.every((scope) => scope.kind !== null && scope.kind !== kind)) continue
      const all = await source.auditDays(kind, signal)
      this.#forgetOthers(kind, all)
      const days =
        wanted.length > 0
          ? requestedDays(wanted, kind, all)
          : daysToAudit(all, this.#record.days[kind] ?? {}, startedAtMs)
      this.#closeOthers(kind, days)
      const total: AuditCount = { rows: 0, confirmed: 0, resent: 0, extra: 0 }
      for (const day of days) {
        const count = await this.#compareDay(kind, day, signal)
        total.rows += count.rows
        total.confirmed += count.confirmed
        total.resent += count.resent
        total.extra += count.extra
      }
      counts[kind] = total
      if (total.confirmed < total.rows) log.warn({ kind, ...total }, 'the audit could not confirm all rows')
      // a hub that has more of a day, for example after a purge here, gets that day once more to be sure
      else if (total.resent > 0 && total.extra > 0)
        log.info({ kind, ...total }, 'the audit sent rows again because the hub has more rows than this gateway')
      else if (total.resent > 0) log.warn({ kind, ...total }, 'the audit sent rows that the hub lacked')
    }
    const last = { startedAtMs, endedAtMs: clock.nowMs(), isEverything: wanted.some(isEverything), counts }
    this.#record = { ...this.#record, last }
    log.info(counts, 'finished the audit of the sync')
  }

  async #compareDay(kind: AuditKind, day: number | null, signal: AbortSignal): Promise<AuditCount> {
    const name = nameOf(kind, day)
    const known = this.#compared.get(name)
    if (known !== undefined) return known
    const generation = this.#generation
    const before = { proven: this.#record.proven[name] ?? {}, open: this.#open.get(name) }
    const { count: counted, proven, open } = await this.#day.compare(kind, day, before, signal)
    const count = { ...counted, resent: counted.resent + (this.#resent.get(name) ?? 0) }
    this.#keep(kind, day, proven, count.confirmed === count.rows)
    // requested again meanwhile: rows read before the request do not count
    if (generation !== this.#generation) return count
    this.#resent.set(name, count.resent)
    if (open.size > 0) this.#open.set(name, open)
    else {
      this.#open.delete(name)
      this.#compared.set(name, count)
    }
    return count
  }

  /** Closes days that no longer have any rows: there is nothing left to confirm. */
  #closeOthers(kind: AuditKind, days: readonly (number | null)[]): void {
    const names = new Set(days.map((day) => nameOf(kind, day)))
    for (const name of this.#open.keys()) if (name.startsWith(`${kind}/`) && !names.has(name)) this.#open.delete(name)
  }

  #keep(kind: AuditKind, day: number | null, groups: VerifiedGroups, isConfirmed: boolean): void {
    const { days, proven } = this.#record
    const { [nameOf(kind, day)]: _, ...others } = proven
    const kept = Object.values(others).reduce((sum, of) => sum + Object.keys(of).length, 0)
    const hasAny = Object.keys(groups).length > 0 && kept + Object.keys(groups).length <= MAX_PROVEN
    this.#record = { ...this.#record, proven: hasAny ? { ...others, [nameOf(kind, day)]: groups } : others }
    if (day === null) return
    const { [day]: _before, ...otherDays } = days[kind] ?? {}
    // a day with missing rows is due first, like a day that was never compared
    const noted = isConfirmed ? { ...otherDays, [day]: this.#deps.clock.nowMs() } : otherDays
    this.#record = { ...this.#record, days: { ...days, [kind]: noted } }
  }

  /** Deletes the state of days whose rows retention has deleted. */
  #forgetOthers(kind: AuditKind, all: readonly (number | null)[]): void {
    const { days, proven } = this.#record
    const held = new Set(all.map((day) => nameOf(kind, day)))
    const noted = Object.entries(days[kind] ?? {}).filter(([day]) => held.has(`${kind}/${day}`))
    const kept = Object.entries(proven).filter(([name]) => !name.startsWith(`${kind}/`) || held.has(name))
    this.#record = {
      ...this.#record,
      days: { ...days, [kind]: Object.fromEntries(noted) },
      proven: Object.fromEntries(kept),
    }
  }

  async #save(): Promise<void> {
    try {
      await this.#file.write(this.#record)
    } catch (error) {
      this.#deps.log.warn({ reason: describeError(error) }, 'writing sync-audit.json failed')
    }
  }
}

function emptyRecord(epoch: string): AuditRecord {
  return { epoch, last: null, days: {}, nightMs: null, wanted: [], proven: {} }
}

function nameOf(kind: AuditKind, day: number | null): string {
  return `${kind}/${day}`
}
