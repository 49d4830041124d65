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

/** A piece of a replicated stream: everything behind the position asked for up to `to`. */
export interface StreamPart {
  readonly to: number
  /** Rows; 0 when nothing between the positions is to be sent any more. */
  readonly count: number
  readonly encoding: PartEncoding
  readonly data: Uint8Array
  /** When the oldest of it was received, measured or changed; null when that is not known. */
  readonly oldestMs: number | null
}

/** What a part may be at most; one row always fits. */
export interface PartLimits {
  readonly bytes: number
  readonly rows: number
}

/** Rows of a stream that are still to be sent. */
export interface StreamBacklog {
  readonly rows: number
  readonly oldestMs: number | null
}

/** Which database this is to a head office. */
export interface SyncIdentity {
  readonly epoch: string
  /** The site it was replicated as; null before the first time. */
  readonly site: string | null
  readonly forkedFrom: { readonly epoch: string; readonly reason: string } | null
}

/** What the agent needs of the gateway's store. When a promise resolves, the change is on the disk. */
export interface SyncSourcePort {
  identity(): SyncIdentity
  /** The last position ever given in each stream. */
  ends(): Record<SyncStream, number>
  /** The cursors of the hub when they were last written. */
  cursors(): SyncCursors
  /** Reads in a reader thread. Null when there is no data after `after`, or none that can be sent yet. */
  nextPart(stream: SyncStream, after: number, limits: PartLimits, signal: AbortSignal): Promise<StreamPart | null>
  /** The hub has everything up to these cursors. */
  acknowledge(cursors: Partial<Record<SyncStream, SyncCursor>>): Promise<void>
  /** The hub has less than it acknowledged: takes its cursors, so that the streams continue there. */
  adopt(cursors: SyncCursors): Promise<void>
  /** Starts a new epoch: its cursors begin at 0; acknowledged data stays acknowledged. */
  fork(reason: string): Promise<SyncIdentity>
  /** Stores which site this database belongs to; for the first time only. */
  claim(site: string): Promise<void>
  /** Puts what the streams get piece by piece into them at once. */
  queueAll(): Promise<void>
  /** What waits; it may be some seconds old unless it is to be `isFresh`. */
  backlog(signal: AbortSignal, isFresh?: boolean): Promise<Record<SyncStream, StreamBacklog>>

  /** Days (midnight, UTC, ms) of which there are rows of a kind, oldest first; [null] for entities. */
  auditDays(kind: AuditKind, signal: AbortSignal): Promise<readonly (number | null)[]>
  /** Each with the time of its newest row, except entities. */
  auditGroups(kind: AuditKind, dayMs: number | null, signal: AbortSignal): Promise<readonly AuditGroup[]>
  /** All rows of a group of a day, in parts for `is_resend`; their `to` is 0. */
  resendParts(
    kind: AuditKind,
    dayMs: number | null,
    group: string,
    limits: PartLimits,
    signal: AbortSignal,
  ): AsyncIterable<StreamPart>
}

/** What the agent needs to apply intents of the head office. */
export interface IntentInboxPort {
  /** The `seq` of the last one that was received. */
  lastSeq(): number
  /** Applies an intent once, however often it comes; its result is a note. Never throws because of a bad intent. */
  receive(intent: Intent): Promise<IntentResult>
}

/** The states of devices as the gateway's API tells them. */
export interface LatestStatesPort {
  /** Hardware ids of devices whose state changed since the last call; null for all of them. */
  takeChanged(): ReadonlySet<string> | null
  /** As `GET /devices/:id`; undefined for one that is gone. */
  deviceJson(hardwareId: string): Record<string, unknown> | undefined
  hardwareIds(): readonly string[]
}
