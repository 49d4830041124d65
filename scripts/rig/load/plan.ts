import type { BenchDevice } from '../gateway-api.ts'
import type { LatencySummary } from '../latency.ts'

/** What a load generator does: devices that send at an even pace, as real ones do. */
export interface LoadPlan {
  port: number
  clients: readonly BenchDevice[]
  perClientPerS: number
  /** `device`: with a last will, three subscriptions and an `st` message, as real ones connect. */
  session: 'bare' | 'device'
  /** null: until `measure` is called. */
  warmupS: number | null
  /** null: until `stop` is called. */
  durationS: number | null
  /** No sample is older than this: the devices may have sent newer ones before. */
  notBeforeMs: number
  /** Whether it remembers the acknowledged messages. */
  keepsJournal: boolean
}

/** What the load generator found. */
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
    /**
     * Measured from when the message was due, so that a stall counts for all messages that waited. What is not
     * acknowledged at the end counts as long as it has waited.
     */
    sinceDue: LatencySummary
    /** From the write to the socket. */
    sinceWrite: LatencySummary
  }
}

/** Acknowledged samples by device: times in milliseconds. */
export type Journal = Record<string, number[]>
