import type {
  AuditGroup,
  AuditKind,
  Intent,
  IntentResult,
  PartEncoding,
  SyncCursor,
  SyncCursors,
  SyncStream,
} from '#shared/wire/sync.ts'

/** A piece of a stream: all rows after the position asked for, up to `to`. */
export interface SourcePart {
  readonly to: number
  /** Rows; 0 when all rows between the positions have been deleted. */
  readonly count: number
  readonly encoding: PartEncoding
  readonly data: Uint8Array
  /** When the oldest row was received or measured; null when `count` is 0. */
  readonly oldestMs: number | null
}

/** The largest part; one row always fits. */
export interface PartLimits {
  readonly bytes: number
  readonly rows: number
}

/** Which database this is. */
export interface SyncIdentity {
  readonly epoch: string
  /** The site it was replicated as; null before the first time. */
  readonly site: string | null
  readonly forkedFrom: { readonly epoch: string; readonly reason: string } | null
}

/** The rows of a stream that are still to be sent. */
export interface StreamBacklog {
  readonly rows: number
  readonly oldestMs: number | null
}

/** What the agent needs of the gateway's store. When a promise resolves, the change is on the disk. */
export interface SyncSource {
  identity(): SyncIdentity
  /** The last position ever given in each stream. */
  ends(): Record<SyncStream, number>
  /** The cursors of the hub when they were last written. */
  cursors(): SyncCursors
  /** Reads in a reader thread. Null when there is no data after `after`, or none that can be sent yet. */
  nextPart(
    stream: SyncStream,
    after: number,
    limits: PartLimits,
    signal: AbortSignal,
  ): Promise<SourcePart | null>
  /** The hub has everything up to these cursors. */
  acknowledge(cursors: Partial<Record<SyncStream, SyncCursor>>): Promise<void>
  /** The hub has less than it acknowledged: takes its cursors, so that the streams continue there. */
  adopt(cursors: SyncCursors): Promise<void>
  /** Starts a new epoch: its cursors begin at 0; acknowledged data stays acknowledged. */
  fork(reason: string): Promise<SyncIdentity>
  /** Stores which site this database belongs to; for the first time only. */
  claim(site: string): Promise<void>
  backlog(signal: AbortSignal): Promise<Record<SyncStream, StreamBacklog>>

  /** Days (midnight, UTC, ms) of which there are rows of a kind, oldest first; [null] for entities. */
  auditDays(kind: AuditKind, signal: AbortSignal): Promise<readonly (number | null)[]>
  auditGroups(kind: AuditKind, dayMs: number | null, signal: AbortSignal): Promise<readonly AuditGroup[]>
  /** All rows of a group of a day, in parts for `is_resend`; their `to` is 0. */
  resendParts(
    kind: AuditKind,
    dayMs: number | null,
    group: string,
    limits: PartLimits,
    signal: AbortSignal,
  ): AsyncIterable<SourcePart>
}

/** What the agent needs to apply intents of the head office. */
export interface IntentInbox {
  /** The `seq` of the last one that was received. */
  lastSeq(): number
  /** Applies an intent once, however often it comes; its result is a note. Never throws because of a bad intent. */
  receive(intent: Intent): Promise<IntentResult>
}

/** The states of devices as the gateway's API tells them. */
export interface LatestStates {
  /** Hardware ids of devices whose state changed since the last call; null for all of them. */
  takeChanged(): ReadonlySet<string> | null
  /** As `GET /devices/:id`; undefined for one that is gone. */
  deviceJson(hardwareId: string): Record<string, unknown> | undefined
  hardwareIds(): readonly string[]
}
