import type { SerialQueue } from '#shared/budgets/serial-queue.ts'
import { UnavailableError } from '#shared/errors.ts'
import type { Log } from '#shared/log.ts'
import type { PartLimits, StreamBacklog, StreamPart, SyncIdentity, SyncSourcePort } from '#shared/sync-source.ts'
import type { Clock, MonotonicClock } from '#shared/time.ts'
import type { AuditGroup, AuditKind, SyncCursor, SyncCursors, SyncStream } from '#shared/wire/replication/sync.ts'
import type { JobOptions } from '#store/readers/pool.ts'
import type { Store } from '#store/store.ts'
import type { BlockDamage } from '../telemetry/block-damage.ts'
import { SyncAudit } from './audit.ts'
import { SyncBacklog } from './backlog.ts'

interface SyncSourceDeps {
  store: Pick<Store, 'read' | 'readers' | 'write'>
  damage: Pick<BlockDamage, 'judge' | 'report' | 'load'>
  /** Whatever changes blocks takes turns. */
  maintenance: SerialQueue
  clock: Clock
  monotonic: MonotonicClock
  log: Log
}

/** Owner of reader jobs that read new rows; old rows have an owner of their own, so new ones never wait for them. */
const OWNER = 'sync'
const HISTORY_OWNER = 'history'
const BACKLOG_KEPT_MS = 15_000
/** What is damaged is put aside, and then the rest is read. */
const MAX_ATTEMPTS = 3

/** What a head office is to get of the store, and what it has got. */
export class SyncSource implements SyncSourcePort {
  readonly #deps: SyncSourceDeps
  readonly #audit: SyncAudit
  readonly #backlog: SyncBacklog
  #counted: { atMs: number; backlog: Record<SyncStream, StreamBacklog> } | undefined

  constructor(deps: SyncSourceDeps) {
    this.#deps = deps
    this.#audit = new SyncAudit(deps.store.readers, deps.maintenance)
    this.#backlog = new SyncBacklog(deps.store.readers)
  }

  identity(): SyncIdentity {
    return this.#deps.store.read.syncIdentity()
  }

  /** The last position ever given in each stream. */
  ends(): Record<SyncStream, number> {
    return this.#deps.store.read.syncEnds()
  }

  /** What the head office was known to have when this was last written. */
  cursors(): SyncCursors {
    return this.#deps.store.read.syncCursors()
  }

  /** The head office has everything up to these cursors. */
  async acknowledge(cursors: Partial<Record<SyncStream, SyncCursor>>): Promise<void> {
    await this.#deps.store.write('acknowledge', { cursors })
  }

  /** The head office has less than was acknowledged: logs go on where it is. */
  async adopt(cursors: SyncCursors): Promise<void> {
    await this.#deps.store.write('adoptCursors', { cursors })
  }

  /** Becomes a new epoch: cursors begin at nothing. */
  fork(reason: string): Promise<SyncIdentity> {
    return this.#deps.store.write('forkEpoch', { reason })
  }

  /** Says as which site this database is replicated; for the first time only. */
  async claim(site: string): Promise<void> {
    await this.#deps.store.write('claimSite', { site })
  }

  /** What waits to be told piece by piece becomes part of the streams at once. */
  async queueAll(): Promise<void> {
    await this.#deps.store.write('queueAllChunks', {})
  }

  /**
   * The next part of a stream behind a position; null when there is nothing, or nothing that may be sent before the
   * note of an erasure is acknowledged. Damaged blocks and rows are moved into quarantine first, so that it is recorded
   * before a cursor passes it.
   */
  async nextPart(
    stream: SyncStream,
    after: number,
    limits: PartLimits,
    signal: AbortSignal,
  ): Promise<StreamPart | null> {
    // what is old can wait, also for devices; what is new is read in a moment
    if (stream === 'history')
      return await this.#nextHistoryPart(after, limits, {
        owner: HISTORY_OWNER,
        signal,
        isPartOfLongRead: true,
      })
    const options = { owner: OWNER, signal, isShort: true }
    if (stream === 'telemetry') return await this.#nextLogPart(after, limits, options)
    return await this.#deps.store.readers.run('nextRows', { stream, after, limits }, options)
  }

  /** What is behind the cursors; it may be some seconds old unless it is to be `isFresh`. */
  async backlog(signal: AbortSignal, isFresh = false): Promise<Record<SyncStream, StreamBacklog>> {
    const nowMs = this.#deps.monotonic.monotonicMs()
    if (!isFresh && this.#counted !== undefined && nowMs - this.#counted.atMs < BACKLOG_KEPT_MS)
      return this.#counted.backlog
    const backlog = await this.#backlog.count(this.cursors(), signal)
    this.#counted = { atMs: nowMs, backlog }
    return backlog
  }

  /** Days that may have rows of a kind, oldest first; [null] for entities. */
  auditDays(kind: AuditKind, signal: AbortSignal): Promise<readonly (number | null)[]> {
    return this.#audit.days(kind, signal)
  }

  /** Count and sum of each group of a day that has rows. */
  auditGroups(kind: AuditKind, dayMs: number | null, signal: AbortSignal): Promise<readonly AuditGroup[]> {
    return this.#audit.groups(kind, dayMs, signal)
  }

  /** All rows of a group of a day; their `to` is 0. */
  resendParts(
    kind: AuditKind,
    dayMs: number | null,
    group: string,
    limits: PartLimits,
    signal: AbortSignal,
  ): AsyncIterable<StreamPart> {
    return this.#audit.resend(kind, dayMs, group, limits, signal)
  }

  async #nextLogPart(after: number, limits: PartLimits, options: JobOptions): Promise<StreamPart | null> {
    const { store } = this.#deps
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const { part, damagedSeq } = await store.readers.run('nextLogPart', { after, limits }, options)
      if (damagedSeq === null) return part
      await this.#setAsideRow(damagedSeq)
    }
    throw new UnavailableError('a damaged row of the telemetry log could not be moved into quarantine')
  }

  async #nextHistoryPart(after: number, limits: PartLimits, options: JobOptions): Promise<StreamPart | null> {
    const { store, damage, maintenance } = this.#deps
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const { part, damaged, newer } = await store.readers.run('nextHistoryPart', { after, limits }, options)
      damage.report(newer)
      if (part !== null || damaged === null) return part
      await maintenance.take(() => damage.judge([damaged]))
    }
    throw new UnavailableError('a damaged telemetry block could not be moved into quarantine')
  }

  async #setAsideRow(firstSeq: number): Promise<void> {
    const { store, damage, maintenance, clock, log } = this.#deps
    await maintenance.take(async () => {
      if (!(await store.write('quarantineLogRow', { firstSeq, nowMs: clock.nowMs() }))) return
      log.error({ firstSeq }, 'put a damaged row of the telemetry log into quarantine; record counts may be too high')
      damage.load()
    })
  }
}
