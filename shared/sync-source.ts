import type {
  AuditGroup,
  AuditKind,
  Intent,
  IntentResult,
  PartEncoding,
  SyncCursor,
  SyncCursors,
  SyncStream,
} from '#shared/wire/replication/sync.ts'

/** Batch of a replicated stream: everything after the requested position up to `to`. */
export interface StreamPart {
  readonly to: number
  /** Number of rows; 0 if nothing between the positions needs to be sent any more. */
  readonly count: number
  readonly encoding: PartEncoding
  readonly data: Uint8Array
  /** Time at which the oldest row was received, measured or changed; null if unknown. */
  readonly oldestMs: number | null
}

/** Maximum size of a batch; one row always fits. */
export interface PartLimits {
  readonly bytes: number
  readonly rows: number
}

/** Rows of a stream that are not sent yet. */
export interface StreamBacklog {
  readonly rows: number
  readonly oldestMs: number | null
}

/** Identity of this database for a hub. */
export interface SyncIdentity {
  readonly epoch: string
  /** Site as which it was replicated; null before the first time. */
  readonly site: string | null
  readonly forkedFrom: { readonly epoch: string; readonly reason: string } | null
}

/** Store of the gateway, as needed by the sync agent. A resolved promise means that the change is on disk. */
export interface SyncSourcePort {
  identity(): SyncIdentity
  /** Returns the last position ever assigned in each stream. */
  ends(): Record<SyncStream, number>
  /** Returns the last saved cursors of the hub. */
  cursors(): SyncCursors
  /** Reads in a reader thread. Null if there is no data after `after`, or none that can be sent yet. */
  nextPart(stream: SyncStream, after: number, limits: PartLimits, signal: AbortSignal): Promise<StreamPart | null>
  /** Records that the hub has everything up to these cursors. */
  acknowledge(cursors: Partial<Record<SyncStream, SyncCursor>>): Promise<void>
  /** Resets to the cursors of a hub that has less than it acknowledged, so that the streams continue there. */
  adopt(cursors: SyncCursors): Promise<void>
  /** Starts a new epoch, whose cursors begin at 0; acknowledged data stays acknowledged. */
  fork(reason: string): Promise<SyncIdentity>
  /** Stores the site of this database; only the first time. */
  claim(site: string): Promise<void>
  /** Adds everything that is queued in chunks to the streams immediately. */
  queueAll(): Promise<void>
  /** Returns the pending data; it may be some seconds old unless `isFresh`. */
  backlog(signal: AbortSignal, isFresh?: boolean): Promise<Record<SyncStream, StreamBacklog>>

  /** Returns the days (midnight, UTC, ms) with rows of a kind, oldest first; [null] for entities. */
  auditDays(kind: AuditKind, signal: AbortSignal): Promise<readonly (number | null)[]>
  /** Returns the groups of a day; each has the time of its newest row, except entities. */
  auditGroups(kind: AuditKind, dayMs: number | null, signal: AbortSignal): Promise<readonly AuditGroup[]>
  /** Returns all rows of a group of a day, in batches for `is_resend`; their `to` is 0. */
  resendParts(
    kind: AuditKind,
    dayMs: number | null,
    group: string,
    limits: PartLimits,
    signal: AbortSignal,
  ): AsyncIterable<StreamPart>
}

/** Application of the hub's intents, as needed by the sync agent. */
export interface IntentInboxPort {
  /** Returns the `seq` of the last received intent. */
  lastSeq(): number
  /**
   * Applies an intent once, even if received again; its result is a note. Never throws because of an invalid intent.
   */
  receive(intent: Intent): Promise<IntentResult>
}

/** Device states in the form of the gateway's API. */
export interface LatestStatesPort {
  /** Returns the hardware ids of devices whose state changed since the last call; null for all devices. */
  takeChanged(): ReadonlySet<string> | null
  /** Returns the body of `GET /devices/:id`; undefined for a deleted device. */
  deviceJson(hardwareId: string): Record<string, unknown> | undefined
  hardwareIds(): readonly string[]
}
