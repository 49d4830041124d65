import type { PartEncoding } from '#shared/wire/replication/sync.ts'

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
