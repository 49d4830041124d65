import type { SerialQueue } from '#shared/budgets/serial-queue.ts'
import { RowHashSum } from '#shared/sync-hash.ts'
import type { PartLimits, StreamPart } from '#shared/sync-source.ts'
import { DAY_MS } from '#shared/time.ts'
import { ENTITY_TABLES } from '#shared/wire/replication/replicated.ts'
import type { AuditGroup, AuditKind } from '#shared/wire/replication/sync.ts'
import type { JobOptions } from '#store/readers/pool.ts'
import type { AuditPage } from '#store/replication/audit.ts'
import type { DaysPortion } from '#store/replication/days.ts'
import type { EventPlace } from '#store/replication/events.ts'
import type { ResentPart } from '#store/replication/resend.ts'
import type { Store } from '#store/store.ts'

/** Value of `owner` for these reader jobs; separate from that of new rows, which would otherwise queue after them. */
const OWNER = 'audit'

/** Reads stored rows, day by day, for comparison with those of a hub. */
export class SyncAudit {
  readonly #readers: Store['readers']
  readonly #maintenance: SerialQueue

  constructor(readers: Store['readers'], maintenance: SerialQueue) {
    this.#readers = readers
    this.#maintenance = maintenance
  }

  /** Returns the days that may have rows of a kind, oldest first; [null] for entities. */
  async days(kind: AuditKind, signal: AbortSignal): Promise<readonly (number | null)[]> {
    if (kind === 'entities') return [null]
    const options = optionsOf(signal)
    const days = new Set<number>()
    if (kind === 'gps' || kind === 'battery') {
      // the log first: rows sealed meanwhile are found in a block
      await collectDays(days, 0, () => this.#readers.run('loggedDays', { stream: kind }, options))
      await collectDays(days, 0, (after) => this.#readers.run('blockDays', { stream: kind, after }, options))
    } else {
      await collectDays(days, Number.MIN_SAFE_INTEGER, (after) =>
        this.#readers.run('eventDays', { stream: kind, after }, options),
      )
    }
    return [...days].sort((a, b) => a - b)
  }

  /** Returns count, sum and time of the newest row of each group that has rows on a day; entities have no time. */
  async groups(kind: AuditKind, dayMs: number | null, signal: AbortSignal): Promise<readonly AuditGroup[]> {
    const options = optionsOf(signal)
    const groups = new Map<string, Collected>()
    if (kind === 'entities') {
      for (const table of ENTITY_TABLES) {
        await collectGroups(groups, 0, (after) => this.#readers.run('auditEntities', { table, after }, options))
      }
    } else if (kind === 'gps' || kind === 'battery') {
      await collectGroups(groups, 0, (after) =>
        this.#readers.run('auditTelemetry', { kind, dayMs: dayMs ?? 0, after }, options),
      )
    } else {
      await collectGroups<EventPlace | null>(groups, null, (after) =>
        this.#readers.run('auditEvents', { stream: kind, dayMs: dayMs ?? 0, after }, options),
      )
    }
    return [...groups].map(([group, { sum, through }]) => ({
      group,
      count: sum.count,
      sum: sum.toString(),
      ...through,
    }))
  }

  resend(
    kind: AuditKind,
    dayMs: number | null,
    group: string,
    limits: PartLimits,
    signal: AbortSignal,
  ): AsyncIterable<StreamPart> {
    const options = optionsOf(signal)
    const fromMs = dayMs ?? 0
    const toMs = fromMs + DAY_MS - 1
    if (kind === 'entities') {
      return partsOf('', (after) => this.#readers.run('resendEntities', { table: group, after, limits }, options))
    }
    if (kind === 'gps' || kind === 'battery') {
      const of = { kind, hardwareId: group, toMs, limits }
      // under the maintenance lock: rows must not be sent again in the middle of their erasure
      return partsOf(fromMs, (next) =>
        this.#maintenance.take(() => this.#readers.run('resendTelemetry', { ...of, fromMs: next }, options)),
      )
    }
    const of = { stream: kind, fromMs, toMs, group, limits }
    return partsOf<EventPlace | null>(null, (after) => this.#readers.run('resendEvents', { ...of, after }, options))
  }
}

/** Group whose rows came in several portions, oldest first. */
interface Collected {
  readonly sum: RowHashSum
  readonly through: Pick<AuditGroup, 'through_ms'>
}

function optionsOf(signal: AbortSignal): JobOptions {
  return { owner: OWNER, signal, isPartOfLongRead: true }
}

async function collectDays(
  days: Set<number>,
  first: number,
  read: (after: number) => Promise<DaysPortion>,
): Promise<void> {
  for (let after: number | null = first; after !== null; ) {
    const portion: DaysPortion = await read(after)
    for (const day of portion.days) days.add(day)
    after = portion.after
  }
}

async function collectGroups<Place>(
  groups: Map<string, Collected>,
  first: Place,
  read: (after: Place) => Promise<AuditPage<Place>>,
): Promise<void> {
  let after = first
  for (;;) {
    const portion = await read(after)
    for (const { group, count, sum, ...through } of portion.groups) {
      const all = groups.get(group)?.sum ?? new RowHashSum()
      all.add(BigInt(`0x${sum}`), count)
      groups.set(group, { sum: all, through })
    }
    if (portion.after === null) return
    after = portion.after
  }
}

async function* partsOf<Place>(
  first: Place,
  read: (next: Place) => Promise<ResentPart<Place>>,
): AsyncGenerator<StreamPart> {
  let next = first
  for (;;) {
    const found = await read(next)
    if (found.part !== null) yield found.part
    if (found.next === null) return
    next = found.next
  }
}
