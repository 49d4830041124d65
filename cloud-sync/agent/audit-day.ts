import { setTimeout as wait } from 'node:timers/promises'
import { describeError } from '#shared/errors.ts'
import type { Log } from '#shared/log.ts'
import { partHash } from '#shared/sync-hash.ts'
import type { StreamPart, SyncSourcePort } from '#shared/sync-source.ts'
import type { MonotonicClock } from '#shared/time.ts'
import { NO_CURSOR } from '#shared/wire/replication/replicated.ts'
import type { AuditGroup, AuditKind, SyncPart, SyncStream } from '#shared/wire/replication/sync.ts'
import type { AuditCount, VerifiedGroups } from './audit-plan.ts'
import type { Cursors } from './cursors.ts'
import type { Link } from './link.ts'
import type { Priorities } from './priorities.ts'
import type { RequestResult } from './request-result.ts'
import { toBase64 } from './stream-sender.ts'
import type { Upstream } from './upstream.ts'

export interface DayAuditDeps {
  readonly source: SyncSourcePort
  readonly upstream: Upstream
  readonly cursors: Cursors
  readonly link: Link
  readonly priorities: Priorities
  readonly clock: MonotonicClock
  readonly log: Log
  /** Sends all data up to now. */
  readonly flush: (signal: AbortSignal) => Promise<void>
}

/** Groups not yet confirmed to be complete at the hub, with their row counts. */
export type OpenGroups = ReadonlyMap<string, number>

/** Result of a day: rows, and the groups of which the hub has more rows and that need not be sent again. */
export interface ComparedDay {
  readonly count: AuditCount
  readonly proven: VerifiedGroups
  readonly open: OpenGroups
}

const PRIORITY = 4
const LONGEST_REST_MS = 2_000
const RESEND_ROWS = 20_000

/** The hub is unreachable, or the rows read have been erased meanwhile: the audit later continues where it stopped. */
export class InterruptedError extends Error {}

/** The hub refuses the request permanently. */
class RefusedError extends Error {}

interface Compared {
  readonly missing: ReadonlySet<string>
  /** Number of rows that only the hub has, by group. */
  readonly extra: ReadonlyMap<string, number>
}

/**
 * Compares one day with the hub, sends missing rows again, and compares once more. Each group is compared up to the
 * newest row that it had when it was counted, so that a device may continue to send. An older hub compares all its
 * rows, and entities change: in both cases, groups that changed meanwhile stay open.
 */
export class DayAudit {
  readonly #deps: DayAuditDeps

  constructor(deps: DayAuditDeps) {
    this.#deps = deps
  }

  /** `proven` is the result of the day's last comparison; only groups in `open` count, or all if it is missing. */
  async compare(
    kind: AuditKind,
    day: number | null,
    { proven, open }: { proven: VerifiedGroups; open: OpenGroups | undefined },
    signal: AbortSignal,
  ): Promise<ComparedDay> {
    const { clock, log } = this.#deps
    const startedAtMs = clock.monotonicMs()
    const groups = await this.#count(kind, day, signal)
    try {
      return await this.#compareGroups(kind, day, groups, { proven, open }, signal)
    } catch (error) {
      if (!(error instanceof RefusedError)) throw error
      // Retrying would permanently keep all other days from being compared.
      log.error({ kind, day, reason: describeError(error) }, 'the hub refused to compare a day; skipped in this audit')
      const count = { rows: sumOf(groups), confirmed: 0, resent: 0, extra: 0 }
      return { count, proven: {}, open: open ?? openOf(groups) }
    } finally {
      const restMs = Math.min(clock.monotonicMs() - startedAtMs, LONGEST_REST_MS)
      await wait(restMs, undefined, { signal }).catch(() => undefined)
    }
  }

  async #compareGroups(
    kind: AuditKind,
    day: number | null,
    before: readonly AuditGroup[],
    { proven, open }: { proven: VerifiedGroups; open: OpenGroups | undefined },
    signal: AbortSignal,
  ): Promise<ComparedDay> {
    const { flush } = this.#deps
    // the hub must have all counted rows before they are compared
    await flush(signal)
    const first = within(open, await this.#ask(kind, day, before, signal))
    if (first.missing.size + first.extra.size === 0)
      return judged({ before, groups: before, first, last: first, resent: 0 })
    const recount = async () => (isFixed(before) ? before : await this.#count(kind, day, signal))
    const groups = await recount()
    // A group that changed meanwhile belongs to a working device and is not a loss: the next comparison decides.
    const settled = groups.filter((group) => isUnchanged(group, before))
    // A hub with more rows may also lack some, which the counts do not show.
    const doubtful = settled.filter((group) => isDoubtful(group, first, proven))
    const missing = settled.filter(({ group }) => first.missing.has(group))
    let resent = 0
    for (const { group } of missing) resent += await this.#resend(kind, day, group, signal)
    for (const { group } of doubtful) await this.#resend(kind, day, group, signal)
    if (missing.length + doubtful.length === 0) return judged({ before, groups, first, last: first, resent: 0 })
    await flush(signal)
    const again = await recount()
    await flush(signal)
    const second = within(open, await this.#ask(kind, day, again, signal))
    for (const { group } of doubtful) {
      // The hub's increase since the first comparison is the number of rows that were missing.
      resent += Math.max(0, (second.extra.get(group) ?? 0) - (first.extra.get(group) ?? 0))
    }
    return judged({ before, groups: again, first, last: second, resent })
  }

  /** Counts the groups, up to their newest rows if the hub can compare up to there. */
  async #count(kind: AuditKind, day: number | null, signal: AbortSignal): Promise<readonly AuditGroup[]> {
    const { source, link } = this.#deps
    const groups = await source.auditGroups(kind, day, signal)
    return link.auditsThrough ? groups : groups.map(({ through_ms: _, ...group }) => group)
  }

  async #ask(
    kind: AuditKind,
    day: number | null,
    groups: readonly AuditGroup[],
    signal: AbortSignal,
  ): Promise<Compared> {
    const { source, upstream, link } = this.#deps
    const { epoch } = source.identity()
    const body = { epoch, instance: link.instance, kind, day_ms: day, groups: [...groups] }
    const { resend, extra } = await this.#request(() => upstream.audit(body, signal), signal)
    return {
      missing: new Set(resend),
      extra: new Map(extra.map(({ group, count }) => [group, count])),
    }
  }

  /** Returns the number of rows sent. */
  async #resend(kind: AuditKind, day: number | null, group: string, signal: AbortSignal): Promise<number> {
    const { source, upstream, link } = this.#deps
    const { part_bytes, body_bytes } = link.limits
    const limits = { bytes: Math.min(part_bytes, Math.floor(body_bytes / 2)), rows: RESEND_ROWS }
    const { notes } = source.ends()
    let rows = 0
    for await (const part of source.resendParts(kind, day, group, limits, signal)) {
      // a row that was erased since it was read would reappear after the note of its erasure
      if (source.ends().notes !== notes) throw new InterruptedError()
      const { epoch } = source.identity()
      const push = { epoch, instance: link.instance, parts: [toResentPart(kind, part)] }
      await wait(link.recordsHoldMs, undefined, { signal }).catch(() => undefined)
      link.spendRecords(part.count)
      await this.#request(() => upstream.push(push, signal), signal)
      rows += part.count
    }
    return rows
  }

  async #request<Answer>(request: () => Promise<RequestResult<Answer>>, signal: AbortSignal): Promise<Answer> {
    const { cursors, link, priorities } = this.#deps
    const asked = cursors.known
    const outcome = await priorities.run(PRIORITY, signal, request)
    if (signal.aborted) throw new InterruptedError()
    if (outcome.kind === 'ok') {
      link.succeeded({})
      return outcome.answer
    }
    await link.failed(outcome, asked)
    if (outcome.kind === 'rejected' || outcome.kind === 'too_large') throw new RefusedError(outcome.detail)
    throw new InterruptedError()
  }
}

/** Counts before and after, the hub's first and last comparison, and the number of rows sent again. */
interface Course {
  readonly before: readonly AuditGroup[]
  readonly groups: readonly AuditGroup[]
  readonly first: Compared
  readonly last: Compared
  readonly resent: number
}

function judged({ before, groups, first, last, resent }: Course): ComparedDay {
  const isMoving = (group: AuditGroup) => !isUnchanged(group, before)
  const counted = groups.filter((group) => !(last.missing.has(group.group) && isMoving(group)))
  const confirmed = counted.filter(({ group }) => !last.missing.has(group))
  const moving = new Set(groups.filter(isMoving).map(({ group }) => group))
  let extra = 0
  // For a working device, the surplus is rows that arrived after the count.
  for (const [group, count] of last.extra) if (!moving.has(group)) extra += count
  const proven = groups.flatMap((group): [string, string][] =>
    !isMoving(group) && first.extra.has(group.group) && last.extra.has(group.group)
      ? [[group.group, proofOf(group, last)]]
      : [],
  )
  return {
    count: { rows: sumOf(counted), confirmed: sumOf(confirmed), resent, extra },
    proven: Object.fromEntries(proven),
    open: openOf(groups.filter(({ group }) => last.missing.has(group))),
  }
}

function openOf(groups: readonly AuditGroup[]): OpenGroups {
  return new Map(groups.map(({ group, count }) => [group, count]))
}

/** Ignores groups confirmed before: rows that arrived late are not rows that the hub has lost. */
function within(open: OpenGroups | undefined, { missing, extra }: Compared): Compared {
  return { missing: new Set([...missing].filter((group) => open?.has(group) ?? true)), extra }
}

/** True if these counts cannot change: rows up to a time are immutable. */
function isFixed(groups: readonly AuditGroup[]): boolean {
  return groups.every(({ through_ms }) => through_ms !== undefined)
}

function isDoubtful(group: AuditGroup, compared: Compared, proven: VerifiedGroups): boolean {
  return compared.extra.has(group.group) && proven[group.group] !== proofOf(group, compared)
}

/** A proof holds while the rows here and the number of rows at the hub stay the same. */
function proofOf({ group, count, sum }: AuditGroup, { extra }: Compared): string {
  return `${count} ${sum} ${extra.get(group) ?? 0}`
}

function sumOf(groups: readonly AuditGroup[]): number {
  return groups.reduce((sum, { count }) => sum + count, 0)
}

function isUnchanged({ group, count, sum }: AuditGroup, before: readonly AuditGroup[]): boolean {
  return before.some((other) => other.group === group && other.count === count && other.sum === sum)
}

/** Resent parts have no position; their stream defines the kind of their rows. */
function toResentPart(kind: AuditKind, { count, encoding, data }: StreamPart): SyncPart {
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

function streamOf(kind: AuditKind, encoding: StreamPart['encoding']): SyncStream {
  if (kind !== 'gps' && kind !== 'battery') return kind
  return encoding === 'blocks-1' ? 'history' : 'telemetry'
}
