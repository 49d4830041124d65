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
  /** Serialises everything that changes blocks. */
  maintenance: SerialQueue
  clock: Clock
  monotonic: MonotonicClock
  log: Log
}

/** Value of `owner` for jobs that read new rows; old rows have another, so that new ones never wait for them. */
const OWNER = 'sync'
const HISTORY_OWNER = 'history'
const BACKLOG_KEPT_MS = 15_000
/** Attempts to read a batch: damaged data is quarantined, then the rest is read. */
const MAX_ATTEMPTS = 3

/** Reads the data that a hub lacks, and keeps the cursors of the data it has. */
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

  /** Returns the last position assigned in each stream. */
  ends(): Record<SyncStream, number> {
    return this.#deps.store.read.syncEnds()
  }

  /** Returns the stored cursors: the hub had at least this much at the last acknowledgement. */
  cursors(): SyncCursors {
    return this.#deps.store.read.syncCursors()
  }

  /** Records that the hub has everything up to these cursors. */
  async acknowledge(cursors: Partial<Record<SyncStream, SyncCursor>>): Promise<void> {
    await this.#deps.store.write('acknowledge', { cursors })
  }

  /** Continues from the cursors of a hub that has less than it acknowledged. */
  async adopt(cursors: SyncCursors): Promise<void> {
    await this.#deps.store.write('adoptCursors', { cursors })
  }

  /** Starts a new epoch, with cursors at the beginning. */
  fork(reason: string): Promise<SyncIdentity> {
    return this.#deps.store.write('forkEpoch', { reason })
  }

  /** Sets the site as which this database is replicated; has an effect once. */
  async claim(site: string): Promise<void> {
    await this.#deps.store.write('claimSite', { site })
  }

  /** Adds everything that waits to be queued in chunks to the streams immediately. */
  async queueAll(): Promise<void> {
    await this.#deps.store.write('queueAllChunks', {})
  }

  /**
   * Returns the next batch of a stream after a position; null if none exists, or none may be sent before an erasure's
   * note is acknowledged. Quarantines damaged blocks and rows first, to record this before a cursor passes it.
   */
  async nextPart(
    stream: SyncStream,
    after: number,
    limits: PartLimits,
    signal: AbortSignal,
  ): Promise<StreamPart | null> {
    // old rows can wait, also for devices; new ones are read quickly
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

  /** Returns the backlog after the cursors; up to some seconds old unless `isFresh`. */
  async backlog(signal: AbortSignal, isFresh = false): Promise<Record<SyncStream, StreamBacklog>> {
    const nowMs = this.#deps.monotonic.monotonicMs()
    if (!isFresh && this.#counted !== undefined && nowMs - this.#counted.atMs < BACKLOG_KEPT_MS)
      return this.#counted.backlog
    const backlog = await this.#backlog.count(this.cursors(), signal)
    this.#counted = { atMs: nowMs, backlog }
    return backlog
  }

  auditDays(kind: AuditKind, signal: AbortSignal): Promise<readonly (number | null)[]> {
    return this.#audit.days(kind, signal)
  }

  auditGroups(kind: AuditKind, dayMs: number | null, signal: AbortSignal): Promise<readonly AuditGroup[]> {
    return this.#audit.groups(kind, dayMs, signal)
  }

  /** Returns all rows of a group on a day; their `to` is 0. */
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
      await this.#quarantineRow(damagedSeq)
    }
    throw new UnavailableError('quarantining a damaged row of the telemetry log failed')
  }

  async #nextHistoryPart(after: number, limits: PartLimits, options: JobOptions): Promise<StreamPart | null> {
    const { store, damage, maintenance } = this.#deps
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const { part, damaged, newer } = await store.readers.run('nextHistoryPart', { after, limits }, options)
      damage.report(newer)
      if (part !== null || damaged === null) return part
      await maintenance.take(() => damage.judge([damaged]))
    }
    throw new UnavailableError('quarantining a damaged telemetry block failed')
  }

  async #quarantineRow(firstSeq: number): Promise<void> {
    const { store, damage, maintenance, clock, log } = this.#deps
    await maintenance.take(async () => {
      if (!(await store.write('quarantineLogRow', { firstSeq, nowMs: clock.nowMs() }))) return
      log.error({ firstSeq }, 'quarantined a damaged row of the telemetry log; record counts may be too high')
      damage.load()
    })
  }
}
