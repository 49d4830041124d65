import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { describeError } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import { partHash } from '../../shared/sync-hash.ts'
import {
  AUDIT_KINDS,
  type AuditGroup,
  type AuditKind,
  NO_CURSOR,
  type SyncPart,
  type SyncStream,
} from '../../shared/wire/sync.ts'
import { type AuditCount, type AuditRecord, auditRecordSchema, daysOfTonight, nightOf } from './audit-plan.ts'
import type { Cursors } from './cursors.ts'
import { JsonFile } from './json-file.ts'
import type { AgentClock, Link } from './link.ts'
import type { Outcome } from './outcome.ts'
import type { Priorities } from './priorities.ts'
import type { SourcePart, SyncSource } from './source.ts'
import { toBase64 } from './stream-sender.ts'
import type { Upstream } from './upstream.ts'

interface AuditDeps {
  readonly source: SyncSource
  readonly upstream: Upstream
  readonly cursors: Cursors
  readonly link: Link
  readonly priorities: Priorities
  readonly clock: AgentClock
  readonly random: () => number
  readonly dataDir: string
  readonly log: Log
  /** Whether everything but the newest is at the hub. */
  readonly isDrained: () => boolean
  /** Sends what has come so far. */
  readonly flush: (signal: AbortSignal) => Promise<void>
}

const PRIORITY = 4
const LOOK_MS = 15_000
const DRAIN_LOOK_MS = 1_000
const LONGEST_REST_MS = 2_000
const RESEND_ROWS = 20_000

/** The hub could not be asked now: the audit goes on later where it is. */
class InterruptedError extends Error {}

/**
 * Compares what is here with what the hub has: count and sum of the rows of each device and day. What the hub lacks is
 * sent again, and compared once more. Every night the newest days and some older ones; everything when asked to.
 */
export class Auditor {
  readonly #deps: AuditDeps
  readonly #file: JsonFile<typeof auditRecordSchema>
  readonly #share: number
  #record: AuditRecord
  /** What the audit under way has compared, by kind and day: after an interruption it goes on there. */
  readonly #compared = new Map<string, AuditCount>()
  #isRunning = false

  constructor(deps: AuditDeps) {
    this.#deps = deps
    this.#file = new JsonFile(join(deps.dataDir, 'sync-audit.json'), auditRecordSchema)
    this.#share = deps.random()
    this.#record = emptyRecord('')
  }

  get last(): AuditRecord['last'] {
    return this.#record.last
  }

  get state(): 'idle' | 'wanted' | 'running' {
    if (this.#isRunning) return 'running'
    return this.#record.isWanted ? 'wanted' : 'idle'
  }

  /** What earlier starts have left. */
  async load(): Promise<void> {
    const { epoch } = this.#deps.source.identity()
    const record = await this.#file.read()
    this.#record = record?.epoch === epoch ? record : emptyRecord(epoch)
  }

  /** Compares everything as soon as what is waiting has been sent. */
  async request(): Promise<void> {
    this.#record = { ...this.#record, isWanted: true }
    await this.#save()
  }

  /** Does the audit that is due, if one is. Returns in how many milliseconds to look again. */
  async step(signal: AbortSignal): Promise<number> {
    const { link, clock, source, isDrained } = this.#deps
    const { epoch } = source.identity()
    if (this.#record.epoch !== epoch) {
      this.#record = { ...emptyRecord(epoch), isWanted: this.#record.isWanted }
      this.#compared.clear()
    }
    const nowMs = clock.nowMs()
    const nightMs = clock.isTrusted ? nightOf(nowMs, this.#share) : null
    const isNight = nightMs !== null && nightMs !== this.#record.nightMs
    if (!this.#record.isWanted && !isNight) return LOOK_MS
    if (link.holdMs > 0) return Math.min(link.holdMs, LOOK_MS)
    // what is still to be sent would be missing, and be sent twice
    if (!isDrained()) return DRAIN_LOOK_MS
    const isEverything = this.#record.isWanted
    this.#isRunning = true
    try {
      await this.#compareAll(isEverything, nowMs, signal)
    } catch (error) {
      if (!(error instanceof InterruptedError)) throw error
      return DRAIN_LOOK_MS
    } finally {
      this.#isRunning = false
    }
    if (isNight) this.#record = { ...this.#record, nightMs }
    if (isEverything) this.#record = { ...this.#record, isWanted: false }
    await this.#save()
    return LOOK_MS
  }

  async #compareAll(isEverything: boolean, startedAtMs: number, signal: AbortSignal): Promise<void> {
    const { source, clock, log } = this.#deps
    const counts: Partial<Record<AuditKind, AuditCount>> = {}
    for (const kind of AUDIT_KINDS) {
      const all = await source.auditDays(kind, signal)
      const auditedAtMs = this.#record.days[kind] ?? {}
      const kept = all.filter((day) => day !== null).flatMap((day) => timeOf(auditedAtMs, day))
      const noted = { ...this.#record.days, [kind]: Object.fromEntries(kept) }
      this.#record = { ...this.#record, days: noted }
      const days = isEverything ? all : daysOfTonight(all, auditedAtMs, startedAtMs)
      const total: AuditCount = { rows: 0, confirmed: 0, resent: 0, extra: 0 }
      for (const day of days) {
        const name = `${kind}/${day}`
        const count = this.#compared.get(name) ?? (await this.#compareDay(kind, day, signal))
        this.#compared.set(name, count)
        total.rows += count.rows
        total.confirmed += count.confirmed
        total.resent += count.resent
        total.extra += count.extra
        if (day !== null) noted[kind] = { ...noted[kind], [day]: clock.nowMs() }
      }
      counts[kind] = total
      if (total.confirmed < total.rows)
        log.warn({ kind, ...total }, 'rows are still missing at the head office')
      else if (total.resent > 0) log.warn({ kind, ...total }, 'rows were missing at the head office')
    }
    this.#compared.clear()
    const last = { startedAtMs, endedAtMs: clock.nowMs(), isEverything, counts }
    this.#record = { ...this.#record, last }
    log.info(counts, 'everything was compared with the head office')
  }

  async #compareDay(kind: AuditKind, day: number | null, signal: AbortSignal): Promise<AuditCount> {
    const { source, flush, clock } = this.#deps
    const startedAtMs = clock.monotonicMs()
    let groups = await source.auditGroups(kind, day, signal)
    // what these counts include is to be there before they are compared
    await flush(signal)
    let moving: ReadonlySet<string> = new Set()
    let { missing, extra } = await this.#compare(kind, day, groups, signal)
    let resent = 0
    if (missing.size > 0) {
      const before = groups
      groups = await source.auditGroups(kind, day, signal)
      // what changed meanwhile is a device at work, not a loss: another audit will see
      const settled = groups.filter((group) => missing.has(group.group) && isUnchanged(group, before))
      for (const { group } of settled) resent += await this.#resend(kind, day, group, signal)
      await flush(signal)
      groups = await source.auditGroups(kind, day, signal)
      await flush(signal)
      moving = new Set(groups.filter((group) => !isUnchanged(group, before)).map(({ group }) => group))
      const again = await this.#compare(kind, day, groups, signal)
      missing = again.missing
      extra = again.extra
    }
    const restMs = Math.min(clock.monotonicMs() - startedAtMs, LONGEST_REST_MS)
    await wait(restMs, undefined, { signal }).catch(() => undefined)
    const judged = groups.filter(({ group }) => !(missing.has(group) && moving.has(group)))
    const confirmed = judged.filter(({ group }) => !missing.has(group))
    return { rows: sumOf(judged), confirmed: sumOf(confirmed), resent, extra }
  }

  async #compare(kind: AuditKind, day: number | null, groups: readonly AuditGroup[], signal: AbortSignal) {
    const { source, upstream, link } = this.#deps
    const { epoch } = source.identity()
    const body = { epoch, instance: link.instance, kind, day_ms: day, groups: [...groups] }
    const { resend, extra } = await this.#ask(() => upstream.audit(body, signal), signal)
    return { missing: new Set(resend), extra: extra.reduce((sum, { count }) => sum + count, 0) }
  }

  async #resend(kind: AuditKind, day: number | null, group: string, signal: AbortSignal): Promise<number> {
    const { source, upstream, link } = this.#deps
    const { part_bytes, body_bytes } = link.limits
    const limits = { bytes: Math.min(part_bytes, Math.floor(body_bytes / 2)), rows: RESEND_ROWS }
    let rows = 0
    for await (const part of source.resendParts(kind, day, group, limits, signal)) {
      const { epoch } = source.identity()
      const push = { epoch, instance: link.instance, parts: [toResentPart(kind, part)] }
      await this.#ask(() => upstream.push(push, signal), signal)
      rows += part.count
    }
    return rows
  }

  async #ask<Answer>(request: () => Promise<Outcome<Answer>>, signal: AbortSignal): Promise<Answer> {
    const { cursors, link, priorities } = this.#deps
    const asked = cursors.known
    const outcome = await priorities.run(PRIORITY, signal, request)
    if (signal.aborted) throw new InterruptedError()
    if (outcome.kind === 'ok') {
      link.succeeded({})
      return outcome.answer
    }
    await link.failed(outcome, asked)
    // what the hub cannot take would stop all audits for ever
    if (outcome.kind === 'rejected' || outcome.kind === 'too_large') throw new Error(outcome.detail)
    throw new InterruptedError()
  }

  async #save(): Promise<void> {
    try {
      await this.#file.write(this.#record)
    } catch (error) {
      this.#deps.log.warn({ reason: describeError(error) }, 'sync-audit.json could not be written')
    }
  }
}

function emptyRecord(epoch: string): AuditRecord {
  return { epoch, last: null, days: {}, nightMs: null, isWanted: false }
}

function timeOf(auditedAtMs: Readonly<Record<string, number>>, day: number): [string, number][] {
  const atMs = auditedAtMs[day]
  return atMs === undefined ? [] : [[String(day), atMs]]
}

function sumOf(groups: readonly AuditGroup[]): number {
  return groups.reduce((sum, { count }) => sum + count, 0)
}

function isUnchanged({ group, count, sum }: AuditGroup, before: readonly AuditGroup[]): boolean {
  return before.some((other) => other.group === group && other.count === count && other.sum === sum)
}

/** Resent parts say no position; their stream tells what they are. */
function toResentPart(kind: AuditKind, { count, encoding, data }: SourcePart): SyncPart {
  const head = {
    stream: streamOf(kind, encoding),
    from: 0,
    to: 0,
    count,
    prev_hash: NO_CURSOR.hash,
    encoding,
  }
  return { ...head, hash: partHash(head, data), data: toBase64(data), is_resend: true }
}

function streamOf(kind: AuditKind, encoding: SourcePart['encoding']): SyncStream {
  if (kind !== 'gps' && kind !== 'battery') return kind
  return encoding === 'blocks-1' ? 'history' : 'telemetry'
}
