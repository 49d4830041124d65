import type { BenchDevice } from '../gateway-api.ts'
import type { LatencySummary } from '../latency.ts'

/** Plan of a load generator: devices that send at an even rate, as real ones do. */
export interface LoadPlan {
  port: number
  clients: readonly BenchDevice[]
  perClientPerS: number
  /** `device`: with a last will, three subscriptions and an `st` message, as real ones connect. */
  session: 'bare' | 'device'
  /** Null: until `measure` is called. */
  warmupS: number | null
  /** Null: until `stop` is called. */
  durationS: number | null
  /** Lower bound of the samples' times: the devices may have sent newer ones before. */
  notBeforeMs: number
  /** True if the generator keeps the acknowledged messages. */
  keepsJournal: boolean
}

export interface LoadResult {
  /** Over the whole run, warm-up and draining included. */
  sent: number
  acknowledged: number
  resent: number
  /** Not made because a device's buffer was full. */
  skipped: number
  reconnects: number
  refusedSubscriptions: number
  newestSampleMs: number
  /** Over the measured time only. */
  measured: {
    durationS: number
    acknowledged: number
    /** CPU seconds of the generator itself. */
    cpuS: number
    /** Latency since the due time: a stall counts for all that waited, unacknowledged ones until the end. */
    sinceDue: LatencySummary
    /** Latency since the write to the socket. */
    sinceWrite: LatencySummary
  }
}

/** Times of acknowledged samples in milliseconds, by device. */
export type Journal = Record<string, number[]>
