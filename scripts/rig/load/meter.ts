import { createHistogram } from 'node:perf_hooks'
import { recordMs, summarise } from '../latency.ts'
import { ownCpuSeconds } from '../process-usage.ts'
import type { LoadResult } from './plan.ts'

/** Counters of all clients of one load generator. */
export class LoadMeter {
  readonly #sinceDue = createHistogram()
  readonly #sinceWrite = createHistogram()
  sent = 0
  acknowledged = 0
  resent = 0
  skipped = 0
  reconnects = 0
  refusedSubscriptions = 0
  newestSampleMs = 0
  #isMeasuring = false
  #startedAtMs = 0
  #durationS = 0
  #acknowledgedBefore = 0
  #acknowledgedMeasured = 0
  #cpuBeforeS = ownCpuSeconds()
  #cpuS = 0

  startMeasuring(): void {
    this.#isMeasuring = true
    this.#startedAtMs = performance.now()
    this.#acknowledgedBefore = this.acknowledged
    this.#cpuBeforeS = ownCpuSeconds()
  }

  stopMeasuring(): void {
    this.#isMeasuring = false
    this.#durationS = (performance.now() - this.#startedAtMs) / 1000
    this.#acknowledgedMeasured = this.acknowledged - this.#acknowledgedBefore
    this.#cpuS = ownCpuSeconds() - this.#cpuBeforeS
  }

  /** Records a message that was acknowledged now; all times are `performance.now()`. */
  recordAcknowledged(nowMs: number, dueAtMs: number, writtenAtMs: number): void {
    this.acknowledged++
    if (this.#isMeasuring) this.recordWaited(nowMs, dueAtMs, writtenAtMs)
  }

  /** Records a message that has waited until now, acknowledged or not. */
  recordWaited(nowMs: number, dueAtMs: number, writtenAtMs: number): void {
    recordMs(this.#sinceDue, nowMs - dueAtMs)
    recordMs(this.#sinceWrite, nowMs - writtenAtMs)
  }

  result(): LoadResult {
    return {
      sent: this.sent,
      acknowledged: this.acknowledged,
      resent: this.resent,
      skipped: this.skipped,
      reconnects: this.reconnects,
      refusedSubscriptions: this.refusedSubscriptions,
      newestSampleMs: this.newestSampleMs,
      measured: {
        durationS: this.#durationS,
        acknowledged: this.#acknowledgedMeasured,
        cpuS: this.#cpuS,
        sinceDue: summarise(this.#sinceDue),
        sinceWrite: summarise(this.#sinceWrite),
      },
    }
  }
}
