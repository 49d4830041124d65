import { describeError } from '#shared/errors.ts'
import { AUDIT_KINDS, type AuditKind } from '#shared/wire/sync.ts'
import { DayAudit, type DayAuditDeps, InterruptedError } from './audit-day.ts'
import {
  type AuditCount,
  type AuditRecord,
  type AuditScope,
  auditRecordSchema,
  daysOfTonight,
  daysWanted,
  isEverything,
  nightOf,
  type ProvenGroups,
  withWanted,
} from './audit-plan.ts'
import { JsonFile } from './json-file.ts'
import type { AgentClock } from './link.ts'

interface AuditDeps extends DayAuditDeps {
  readonly clock: AgentClock
  readonly random: () => number
  readonly dataDir: string | undefined
  /** Whether the hub has all data except the newest. */
  readonly isDrained: () => boolean
}

const LOOK_MS = 15_000
const DRAIN_LOOK_MS = 1_000
/** Proofs that are kept that the hub lacks nothing of a group; without a proof the group is sent again. */
const MAX_PROVEN = 20_000

/**
 * Audits the sync: compares count and sum of the rows of each device and day with the hub, sends again what the hub lacks,
 * and compares once more. It audits the newest and some older days every night, and whatever is requested.
 */
export class Auditor {
  readonly #deps: AuditDeps
  readonly #day: DayAudit
  readonly #file: JsonFile<typeof auditRecordSchema>
  readonly #share: number
  #record: AuditRecord
  #isLoaded = false
  /** What the audit under way has compared, by kind and day: after an interruption it goes on there. */
  readonly #compared = new Map<string, AuditCount>()
  /** The scopes of the audit under way; null while there is none. */
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

  /** Whether a full audit is pending: until it ends the hub may lack data that it acknowledged. */
  get isEverythingWanted(): boolean {
    return this.#record.wanted.some(isEverything)
  }

  /** Loads pending audits and results of earlier runs. */
  async load(): Promise<void> {
    const { epoch } = this.#deps.source.identity()
    const record = await this.#file.read()
    const { wanted } = this.#record
    this.#record = record?.epoch === epoch ? record : emptyRecord(epoch)
    this.#isLoaded = true
    // asked for since the start
    for (const scope of wanted) await this.request(scope)
  }

  /** Requests an audit of `scope` once the backlog has been sent, even if it has just been compared. */
  async request(scope: AuditScope): Promise<void> {
    this.#compared.clear()
    // the audit under way may have passed this scope
    const running = this.#running ?? []
    const others = this.#record.wanted.filter((known) => !running.includes(known))
    // a request counts on its own, even if an equal one is under way
    this.#record = { ...this.#record, wanted: [...running, ...withWanted(others, { ...scope })] }
    if (this.#isLoaded) await this.#save()
  }

  /** Does the audit that is due, if one is. Returns in how many milliseconds to look again. */
  async step(signal: AbortSignal): Promise<number> {
    const { link, clock, source, isDrained } = this.#deps
    const { epoch } = source.identity()
    if (this.#record.epoch !== epoch) {
      this.#record = { ...emptyRecord(epoch), wanted: this.#record.wanted }
      this.#compared.clear()
    }
    const nowMs = clock.nowMs()
    const nightMs = clock.isTrusted ? nightOf(nowMs, this.#share) : null
    const isNight = nightMs !== null && nightMs !== this.#record.nightMs
    const { wanted } = this.#record
    if (wanted.length === 0 && !isNight) return LOOK_MS
    if (link.holdMs > 0) return Math.min(link.holdMs, LOOK_MS)
    // rows still to be sent would look missing, and be sent twice
    if (!isDrained()) return DRAIN_LOOK_MS
    this.#running = wanted
    try {
      await this.#compareAll(wanted, nowMs, signal)
    } catch (error) {
      if (!(error instanceof InterruptedError)) throw error
      return DRAIN_LOOK_MS
    } finally {
      this.#running = null
    }
    const isNightDone = isNight && (wanted.length === 0 || wanted.some(isEverything))
    if (isNightDone) this.#record = { ...this.#record, nightMs }
    this.#record = { ...this.#record, wanted: this.#record.wanted.filter((scope) => !wanted.includes(scope)) }
    await this.#save()
    return this.#record.wanted.length > 0 || (isNight && !isNightDone) ? DRAIN_LOOK_MS : LOOK_MS
  }

  /** Compares the requested scopes, or the days of the nightly audit if there are none. */
  async #compareAll(wanted: readonly AuditScope[], startedAtMs: number, signal: AbortSignal): Promise<void> {
    const { source, clock, log } = this.#deps
    const counts: Partial<Record<AuditKind, AuditCount>> = {}
    for (const kind of AUDIT_KINDS) {
      if (wanted.length > 0 && wanted.every((scope) => scope.kind !== null && scope.kind !== kind)) continue
      const all = await source.auditDays(kind, signal)
      this.#forgetOthers(kind, all)
      const days =
        wanted.length > 0
          ? daysWanted(wanted, kind, all)
          : daysOfTonight(all, this.#record.days[kind] ?? {}, startedAtMs)
      const total: AuditCount = { rows: 0, confirmed: 0, resent: 0, extra: 0 }
      for (const day of days) {
        const count = await this.#compareDay(kind, day, signal)
        total.rows += count.rows
        total.confirmed += count.confirmed
        total.resent += count.resent
        total.extra += count.extra
      }
      counts[kind] = total
      if (total.confirmed < total.rows)
        log.warn({ kind, ...total }, 'the audit sent rows again, but the hub still lacks some')
      // a hub that has more of a day, as after a purge here, asks for it once to be sure
      else if (total.resent > 0 && total.extra > 0)
        log.info(
          { kind, ...total },
          'the audit sent rows again because the hub has more rows than this gateway',
        )
      else if (total.resent > 0) log.warn({ kind, ...total }, 'the audit sent rows that the hub lacked')
    }
    this.#compared.clear()
    const last = { startedAtMs, endedAtMs: clock.nowMs(), isEverything: wanted.some(isEverything), counts }
    this.#record = { ...this.#record, last }
    log.info(counts, 'finished the audit of the sync')
  }

  async #compareDay(kind: AuditKind, day: number | null, signal: AbortSignal): Promise<AuditCount> {
    const name = nameOf(kind, day)
    const known = this.#compared.get(name)
    if (known !== undefined) return known
    const { count, proven } = await this.#day.compare(kind, day, this.#record.proven[name] ?? {}, signal)
    this.#compared.set(name, count)
    this.#keep(kind, day, proven, count.confirmed === count.rows)
    return count
  }

  #keep(kind: AuditKind, day: number | null, groups: ProvenGroups, isConfirmed: boolean): void {
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

  /** Forgets days whose rows retention has deleted. */
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
      this.#deps.log.warn({ reason: describeError(error) }, 'cannot write sync-audit.json')
    }
  }
}

function emptyRecord(epoch: string): AuditRecord {
  return { epoch, last: null, days: {}, nightMs: null, wanted: [], proven: {} }
}

function nameOf(kind: AuditKind, day: number | null): string {
  return `${kind}/${day}`
}
