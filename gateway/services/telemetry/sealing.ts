import type { SerialQueue } from '#shared/budgets/serial-queue.ts'
import { describeError, UnavailableError } from '#shared/errors.ts'
import type { Component } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'
import type { Clock } from '#shared/time.ts'
import type { Store } from '#store/store.ts'
import type { BlockReplacement, LogDrop } from '#store/telemetry/blocks.ts'
import type { LogRange } from '#store/telemetry/log-samples.ts'
import type { SealPlan } from '#store/telemetry/seal-plan.ts'
import type { UnreadableBlock } from '#store/telemetry/unreadable-block.ts'
import type { Fleet } from '../fleet.ts'
import { MaintenanceThrottle } from './maintenance-throttle.ts'

interface SealingDeps {
  store: Pick<Store, 'read' | 'readers' | 'write'> & { queue: { waitingRows: number } }
  fleet: Pick<Fleet, 'size'>
  /** Serialises everything that changes blocks. */
  maintenance: SerialQueue
  /** Quarantines unreadable blocks that are damaged. Called while `maintenance` is held, so it must not wait for it. */
  onUnreadable: (blocks: readonly UnreadableBlock[]) => Promise<void>
  /** Called after a damaged row of the log was quarantined among the damaged blocks. */
  onQuarantined: () => void
  clock: Clock
  log: Log
  /** Number of samples in the log from which it is sealed. */
  minSamples: number
  /**
   * Returns the sequence number up to which a hub has the samples of the log; null without a hub. Later samples stay in
   * the log for a while, since they would be sent again as part of a block.
   */
  acknowledgedThrough: () => number | null
}

/** Value of `owner` for the reader jobs that make its plans. */
const OWNER = 'sealing'
/** Samples per device from which the log is sealed, if above `minSamples`: smaller portions are written too often. */
const SAMPLES_A_DEVICE = 128
const PASS_SAMPLES = 250_000
/** Multiple of the threshold at which the log is sealed even if the hub lacks it: the link may stay down for long. */
const UNREACHABLE_TIMES = 4
/** Most blocks that one transaction adds and drops. */
const STEP_BLOCKS = 64
const STEP_BYTES = 256 << 10
const STEP_ROWS = 2000
const CHECK_MS = 2000
const MAX_BACK_OFF_MS = 60_000

/**
 * Moves telemetry from a grown log into blocks, in small transactions between those of the devices' messages. An
 * interrupted pass is repeated, and skips work already done.
 */
export class Sealing implements Component {
  /** Totals since the start, including samples of removed devices. Seconds of planning and writing, without pauses. */
  readonly counts = { samples: 0, passes: 0, failures: 0, seconds: 0 }
  readonly #deps: SealingDeps
  readonly #pace: MaintenanceThrottle
  #timer: NodeJS.Timeout | undefined
  #isRunning = false
  #stopping = new AbortController()
  #sealing: Promise<boolean> | undefined
  #failuresInARow = 0
  /** Rows up to this sequence number have been planned; those still in the log must stay there. */
  #doneThroughSeq = 0

  constructor(deps: SealingDeps) {
    this.#deps = deps
    this.#pace = new MaintenanceThrottle(() => deps.store.queue.waitingRows)
  }

  async start(): Promise<void> {
    this.#isRunning = true
    this.#stopping = new AbortController()
    this.#pace.start()
    this.#checkIn(CHECK_MS)
  }

  /** Stops a pass after the transaction in progress. */
  async stop(): Promise<void> {
    this.#isRunning = false
    clearTimeout(this.#timer)
    this.#stopping.abort()
    this.#pace.stop()
    // does not wait for the maintenance lock, which may take long
    await this.#sealing
  }

  /** Seals until the log is below the threshold; never throws. */
  async runOnce(): Promise<void> {
    try {
      let isSealing = this.#isRunning
      while (isSealing && this.#isRunning) {
        const throughSeq = this.#dueThrough()
        if (throughSeq === null) break
        isSealing = await this.#deps.maintenance.take(() => this.#seal(this.#doneThroughSeq + 1, throughSeq, 1))
      }
      if (this.#failuresInARow > 0) this.#deps.log.info({}, 'sealing of telemetry recovered')
      this.#failuresInARow = 0
    } catch (error) {
      if (this.#isRunning) this.#fail(error)
    }
  }

  /**
   * Seals everything in the log at the time of the call. The caller must hold the maintenance lock. Throws when the
   * store cannot be used, and `store_unavailable` when the gateway stops.
   */
  async sealNow(): Promise<void> {
    await this.#seal(0, this.#lastSeq(), Number.POSITIVE_INFINITY)
  }

  #checkIn(ms: number): void {
    this.#timer = setTimeout(() => {
      void this.runOnce().then(() => {
        if (this.#isRunning) this.#checkIn(Math.min(CHECK_MS * 2 ** this.#failuresInARow, MAX_BACK_OFF_MS))
      })
    }, ms)
  }

  /** Returns the last row of the log to seal; null if none is due. */
  #dueThrough(): number | null {
    const { store, minSamples, fleet, acknowledgedThrough } = this.#deps
    const ends = store.read.logEnds()
    if (ends === null) return null
    const threshold = Math.max(minSamples, SAMPLES_A_DEVICE * fleet.size)
    const fromSeq = Math.max(ends.firstSeq, this.#doneThroughSeq + 1)
    const acknowledged = acknowledgedThrough()
    const isWaiting = acknowledged !== null && ends.lastSeq - fromSeq < threshold * UNREACHABLE_TIMES
    const throughSeq = isWaiting ? Math.min(ends.lastSeq, acknowledged) : ends.lastSeq
    return throughSeq - fromSeq >= threshold ? throughSeq : null
  }

  #lastSeq(): number {
    return this.#deps.store.read.logEnds()?.lastSeq ?? 0
  }

  #fail(error: unknown): void {
    this.counts.failures++
    this.#failuresInARow++
    const { log } = this.#deps
    const level = this.#failuresInARow === 1 ? 'error' : 'debug'
    log[level]({ reason: describeError(error) }, 'sealing of telemetry failed; it stays in the log until a retry')
  }

  /** Makes at most `passes` passes over a range of the log. Returns false if there was nothing to seal. */
  async #seal(fromSeq: number, toSeq: number, passes: number): Promise<boolean> {
    const sealing = this.#makePasses(fromSeq, toSeq, passes)
    this.#sealing = sealing.catch(() => false)
    return await sealing
  }

  async #makePasses(fromSeq: number, toSeq: number, passes: number): Promise<boolean> {
    let next = fromSeq
    let passed = 0
    let isAcknowledged = true
    while (passed < passes && next <= toSeq) {
      // a pass with any unacknowledged row is sent whole: acknowledged rows get passes of their own while there are any
      const acknowledged = this.#deps.acknowledgedThrough() ?? 0
      isAcknowledged &&= acknowledged >= next
      const throughSeq = await this.#pass(next, toSeq, isAcknowledged ? acknowledged : undefined)
      if (throughSeq === null) {
        if (!isAcknowledged) break
        isAcknowledged = false
        continue
      }
      passed++
      next = throughSeq + 1
      this.#doneThroughSeq = Math.max(this.#doneThroughSeq, throughSeq)
    }
    return passed > 0
  }

  /** Returns the last sequence number sealed; null if there was nothing. */
  async #pass(fromSeq: number, toSeq: number, endSeq = Number.POSITIVE_INFINITY): Promise<number | null> {
    const keptSeqs = new Set<number>()
    let part = await this.#plan({ fromSeq, throughSeq: toSeq, endSeq }, null)
    const { throughSeq, sampleCount } = part
    if (throughSeq === null) return null
    for (;;) {
      for (const seq of part.keptSeqs) keptSeqs.add(seq)
      await this.#replace(part.replacements, throughSeq)
      if (part.lastDeviceId === null) break
      part = await this.#plan({ fromSeq, throughSeq, endSeq }, part.lastDeviceId)
    }
    if (keptSeqs.size > 0) {
      this.#deps.log.warn(
        { rows: keptSeqs.size },
        'left rows in the telemetry log: their block was written by a newer version',
      )
    }
    await this.#drop({ fromSeq, throughSeq, keptSeqs: [...keptSeqs], limit: STEP_ROWS })
    this.counts.passes++
    this.counts.samples += sampleCount
    return throughSeq
  }

  /** Makes a plan, again after each quarantine of damaged blocks or rows. */
  async #plan(range: Omit<LogRange, 'maxSamples'>, afterDeviceId: number | null): Promise<SealPlan> {
    const { store, onUnreadable } = this.#deps
    const request = { ...range, maxSamples: PASS_SAMPLES, afterDeviceId }
    const obstacles = new Set<number>()
    for (;;) {
      this.#requireRunning()
      const { signal } = this.#stopping
      const plan = await store.readers.run('planSealing', request, { owner: OWNER, signal })
      const { unreadable, damagedSeq, tookMs } = plan
      this.counts.seconds += tookMs / 1000
      if (unreadable.length > 0) await onUnreadable(unreadable)
      const damaged = unreadable.filter(({ reason }) => reason !== 'newer_version')
      if (damaged.length === 0 && damagedSeq === null) return plan
      // numbered as in the quarantine: rows of the log are negative
      for (const number of [...damaged.map(({ blockId }) => blockId), ...(damagedSeq === null ? [] : [-damagedSeq])]) {
        if (obstacles.has(number)) throw new Error('cannot seal: quarantining damaged telemetry failed')
        obstacles.add(number)
      }
      if (damagedSeq !== null) await this.#quarantineRow(damagedSeq)
    }
  }

  async #quarantineRow(firstSeq: number): Promise<void> {
    const { store, onQuarantined, clock, log } = this.#deps
    this.#requireRunning()
    if (!(await store.write('quarantineLogRow', { firstSeq, nowMs: clock.nowMs() }))) return
    log.error({ firstSeq }, 'quarantined a damaged row of the telemetry log; record counts may be too high')
    onQuarantined()
  }

  async #replace(replacements: readonly BlockReplacement[], throughSeq: number): Promise<void> {
    for (const step of stepsOf(replacements)) {
      await this.#step(() => this.#deps.store.write('replaceBlocks', { replacements: step, throughSeq }))
    }
  }

  async #drop(drop: LogDrop): Promise<void> {
    for (;;) {
      const { isDone } = await this.#step(() => this.#deps.store.write('dropLog', drop))
      if (isDone) return
    }
  }

  async #step<Result>(write: () => Promise<Result>): Promise<Result> {
    this.#requireRunning()
    return await this.#pace.take(async () => {
      const startedAtMs = performance.now()
      const result = await write()
      this.counts.seconds += (performance.now() - startedAtMs) / 1000
      return result
    })
  }

  #requireRunning(): void {
    if (!this.#isRunning) throw new UnavailableError('the gateway is stopping')
  }
}

/** Divides replacements into portions of one transaction each; never splits one replacement. */
function* stepsOf(replacements: readonly BlockReplacement[]): Generator<BlockReplacement[]> {
  let step: BlockReplacement[] = []
  let blocks = 0
  let bytes = 0
  for (const replacement of replacements) {
    step.push(replacement)
    blocks += replacement.adds.length + replacement.removes.length
    for (const { records } of replacement.adds) bytes += records.length
    if (blocks < STEP_BLOCKS && bytes < STEP_BYTES) continue
    yield step
    step = []
    blocks = 0
    bytes = 0
  }
  if (step.length > 0) yield step
}
