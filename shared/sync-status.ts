import type { AuditKind, SyncStream, SyncWarning } from '#shared/wire/replication/sync.ts'

/** What the replication of a gateway can be in, in one word. */
export const SYNC_STATES = [
  'connecting',
  'in_sync',
  'quarantined',
  'comparing',
  'draining',
  'waiting',
  'refused',
  'other_site',
  'other_machine',
  'forked',
  'stuck',
  'part_refused',
  'hub_full',
  'unreadable',
  'two_gateways',
] as const
export type SyncState = (typeof SYNC_STATES)[number]

/** How the replication of a gateway is doing. Times are milliseconds since 1970. */
export interface SyncStatus {
  readonly state: SyncState
  /** For people: what it is, and what they are to do about it. */
  readonly explanation: string
  readonly host: string
  readonly site: string
  readonly epoch: string
  readonly forkedFrom: { readonly epoch: string; readonly reason: string } | null
  readonly lastContactMs: number | null
  readonly lastError: { readonly atMs: number; readonly detail: string } | null
  /** Milliseconds until the head office is tried again; null while connected. */
  readonly retryInMs: number | null
  readonly warnings: readonly (SyncWarning | 'clock')[]
  /** How far the clock here is ahead of that of the head office; null before it answered. */
  readonly clockOffsetMs: number | null
  readonly streams: readonly SyncStreamStatus[]
  /** Bytes of bodies and rows acknowledged since the start. */
  readonly sentBytes: number
  readonly ackedRows: number
  readonly rowsPerSecond: number
  /** How long the backlog will take at this rate; null when it is unknown or there is none. */
  readonly timeToGoMs: number | null
  readonly audit: SyncAuditStatus
}

export interface SyncStreamStatus {
  readonly stream: SyncStream
  /** The position up to which the head office has everything. */
  readonly ackedSeq: number
  readonly ackedRows: number
  /** Null when rows wait that were not counted yet. */
  readonly waitingRows: number | null
  readonly oldestMs: number | null
  /** Why it does not go on, in words; null while it does. */
  readonly trouble: string | null
}

export interface SyncAuditStatus {
  readonly state: 'idle' | 'wanted' | 'running'
  /** Rows that were compared and that the head office was not seen to have; null while they are not counted. */
  readonly unconfirmedRows: number | null
  readonly last: {
    readonly startedAtMs: number
    readonly endedAtMs: number
    readonly isEverything: boolean
    readonly counts: Readonly<Partial<Record<AuditKind, SyncAuditCount>>>
  } | null
}

/** Rows here, those of them the head office has, those that were sent again, and what only the head office has. */
export interface SyncAuditCount {
  readonly rows: number
  readonly confirmed: number
  readonly resent: number
  readonly extra: number
}
