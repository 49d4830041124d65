import type { AuditKind, SyncStream, SyncWarning } from '#shared/wire/replication/sync.ts'

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

/** Replication status of a gateway. Times are milliseconds since 1970. */
export interface SyncStatus {
  readonly state: SyncState
  /** Describes the state for users, with the remedy. */
  readonly explanation: string
  readonly host: string
  readonly site: string
  readonly epoch: string
  readonly forkedFrom: { readonly epoch: string; readonly reason: string } | null
  readonly lastContactMs: number | null
  readonly lastError: { readonly atMs: number; readonly detail: string } | null
  /** Milliseconds until the next attempt to reach the hub; null while connected. */
  readonly retryInMs: number | null
  readonly warnings: readonly (SyncWarning | 'clock')[]
  /** Lead of the local clock over that of the hub; null before the first response. */
  readonly clockOffsetMs: number | null
  readonly streams: readonly SyncStreamStatus[]
  /** Bytes of bodies and rows acknowledged since the start. */
  readonly sentBytes: number
  readonly ackedRows: number
  readonly rowsPerSecond: number
  /** Estimated time for the backlog at this rate; null if unknown or empty. */
  readonly timeToGoMs: number | null
  readonly audit: SyncAuditStatus
}

export interface SyncStreamStatus {
  readonly stream: SyncStream
  /** Position up to which the hub has everything. */
  readonly ackedSeq: number
  readonly ackedRows: number
  /** Null while waiting rows have not been counted. */
  readonly waitingRows: number | null
  readonly oldestMs: number | null
  /** Reason why the replication is stopped; null while it runs. */
  readonly trouble: string | null
}

export interface SyncAuditStatus {
  readonly state: 'idle' | 'wanted' | 'running'
  /** Compared rows that the hub did not confirm; null until counted. */
  readonly unconfirmedRows: number | null
  readonly last: {
    readonly startedAtMs: number
    readonly endedAtMs: number
    readonly isEverything: boolean
    readonly counts: Readonly<Partial<Record<AuditKind, SyncAuditCount>>>
  } | null
}

/** Row counts of an audit: local ones, those that the hub has, those resent, and those that only the hub has. */
export interface SyncAuditCount {
  readonly rows: number
  readonly confirmed: number
  readonly resent: number
  readonly extra: number
}
