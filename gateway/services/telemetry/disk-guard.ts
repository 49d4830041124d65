import type { SerialQueue } from '#shared/budgets/serial-queue.ts'
import { describeError } from '#shared/errors.ts'
import type { Component } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'
import { DAY_MS, MINUTE_MS } from '#shared/time.ts'
import type { Store } from '#store/store.ts'
import type { BlockStream, DeletedRecords } from '#store/telemetry/deletion.ts'
import type { GatewayClock } from '../clock/gateway-clock.ts'
import { type FolderSpace, folderSpace } from './disk-space.ts'
import { MaintenanceThrottle } from './maintenance-throttle.ts'

/** Limit of the data folder. */
export type DiskBudget = { kind: 'bytes'; bytes: number } | { kind: 'share'; percent: number }

/** Use of the budget. `low` is a warning; at `critical`, telemetry existing nowhere else is at risk or being lost. */
export interface DiskUse {
  state: 'ok' | 'low' | 'critical'
  usedBytes: number
  budgetBytes: number
}

interface DiskGuardDeps {
  store: Pick<Store, 'read' | 'readers' | 'write'> & { queue: { waitingRows: number } }
  /** Serialises everything that changes blocks. */
  maintenance: SerialQueue
  clock: Pick<GatewayClock, 'nowMs'>
  log: Log
  dataDir: string
  budget: DiskBudget
  /** True with a hub that has, or will have, the data. */
  hasUpstream: boolean
  /** True if the hub may lack data that it acknowledged: it has lost data, and the comparison is not complete. */
  mayLack?: () => boolean
  /** Replaces the reading of the file system in tests. */
  measure?: (dataDir: string) => Promise<FolderSpace>
}

// Shares of the budget. Each threshold has a lower one at which its state ends, so that the state does not alternate.
const LOW = { from: 0.8, below: 0.78 }
const DELETE_SENT = { from: 0.9, below: 0.85 }
const DROP_UNSENT = { from: 0.98, below: 0.95 }

const EVERY_MS = MINUTE_MS
/** Interval after a pass over all blocks that did not free enough. */
const FRUITLESS_MS = 10 * MINUTE_MS
/** Share of the volume kept free for other programs: 2 %, but at most 256 MB. */
const RESERVED_SHARE = 0.02
const MAX_RESERVED_BYTES = 256 << 20
/** Blocks per transaction: deleted, and dropped unsent. */
const DELETED_A_STEP = 64
const GIVEN_UP_A_STEP = 1024
/** Value of `owner` for the reader jobs that find blocks. */
const OWNER = 'disk guard'

/**
 * Keeps the data folder within its budget. Deletes telemetry that the hub has first, oldest first by the times of the
 * records; only then, day by day, telemetry that the hub lacks, and records that as a gap. Events are never dropped,
 * nor the newest hours of any device. Without a hub the gateway has the only copy, and the guard only warns.
 */
export class DiskGuard implements Component {
  /** Records deleted before the hub had them, and records that it had. */
  readonly counts = { droppedUnsent: 0, deletedSent: 0 }
  readonly #deps: DiskGuardDeps
  readonly #pace: MaintenanceThrottle
  readonly #measure: (dataDir: string) => Promise<FolderSpace>
  #use: DiskUse = { state: 'ok', usedBytes: 0, budgetBytes: 0 }
  #folder: FolderSpace | undefined
  #isFruitless = false
  #stopping = new AbortController()
  #timer: NodeJS.Timeout | undefined
  #running: Promise<unknown> = Promise.resolve()

  constructor(deps: DiskGuardDeps) {
    this.#deps = deps
    this.#measure = deps.measure ?? folderSpace
    this.#pace = new MaintenanceThrottle(() => deps.store.queue.waitingRows)
  }

  async start(): Promise<void> {
    this.#stopping = new AbortController()
    this.#pace.start()
    this.#runIn(0)
  }

  /** Stops a pass after the transaction in progress. */
  async stop(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#stopping.abort()
    this.#pace.stop()
    await this.#running
  }

  get use(): DiskUse {
    return this.#use
  }

  /** Message for staff; null while the use is within limits. */
  get detail(): string | null {
    const { state, usedBytes, budgetBytes } = this.#use
    if (state === 'ok') return null
    const percent = Math.min(999, Math.floor((100 * usedBytes) / budgetBytes))
    const full = `${percent} % of the disk budget is used`
    if (!this.#deps.hasUpstream)
      return (
        `${full}; the gateway deletes nothing, because no hub has the data: free disk space, shorten the retention, ` +
        'or raise the budget'
      )
    if (state === 'low')
      return `${full}; from ${DELETE_SENT.from * 100} % on, the gateway deletes history that the hub has, oldest first`
    return `${full}; the gateway deletes telemetry that the hub does not have, oldest first`
  }

  /** Checks the use, and frees space if necessary. Never throws. */
  async runOnce(): Promise<DiskUse> {
    const { log, dataDir, hasUpstream, mayLack } = this.#deps
    this.#isFruitless = false
    try {
      this.#folder = await this.#measure(dataDir)
      // the gateway may have the only copy, and keeps it while there is room
      const deletesFrom = mayLack?.() === true ? DROP_UNSENT.from : DELETE_SENT.from
      if (hasUpstream && this.#level() >= deletesFrom) await this.#deleteSent(DELETE_SENT.below)
      if (hasUpstream && this.#level() >= DROP_UNSENT.from) await this.#dropUnsent()
      this.#isFruitless = this.#level() >= DELETE_SENT.from && hasUpstream
    } catch (error) {
      if (!this.#stopping.signal.aborted)
        log.warn({ reason: describeError(error) }, 'checking the disk budget failed; will retry at the next check')
    }
    return this.#use
  }

  #runIn(ms: number): void {
    this.#timer = setTimeout(() => {
      this.#running = this.runOnce().then(() => {
        if (!this.#stopping.signal.aborted) this.#runIn(this.#isFruitless ? FRUITLESS_MS : EVERY_MS)
      })
    }, ms)
  }

  /** Returns the share of the budget in use; free pages of the database count as free. */
  #level(): number {
    const { store, budget } = this.#deps
    if (this.#folder === undefined) return 0
    const { otherBytes, volumeBytes, volumeFreeBytes } = this.#folder
    const database = store.read.space()
    const usedBytes = database.usedBytes + otherBytes
    const reservedBytes = Math.min(MAX_RESERVED_BYTES, volumeBytes * RESERVED_SHARE)
    // other programs also use the volume
    const leftBytes = usedBytes + database.freeBytes + volumeFreeBytes - reservedBytes
    const budgetBytes =
      budget.kind === 'bytes' ? budget.bytes : Math.min((volumeBytes * budget.percent) / 100, leftBytes)
    const level = usedBytes / Math.max(1, budgetBytes)
    this.#judge(level, { usedBytes, budgetBytes: Math.max(1, Math.floor(budgetBytes)) })
    return level
  }

  #judge(level: number, bytes: Omit<DiskUse, 'state'>): void {
    const was = this.#use.state
    const isCritical = level >= (was === 'critical' ? DROP_UNSENT.below : DROP_UNSENT.from)
    const isLow = level >= (was === 'ok' ? LOW.from : LOW.below)
    const state = isCritical ? 'critical' : isLow ? 'low' : 'ok'
    this.#use = { state, ...bytes }
    if (state === was) return
    const { log } = this.#deps
    if (state === 'ok') log.info(bytes, 'disk use is within the budget again')
    else
      log[state === 'critical' ? 'error' : 'warn']({ ...bytes, detail: this.detail }, 'disk use is close to the budget')
  }

  /** Deletes blocks the hub has, oldest first, until less than `below` of the budget is used. */
  async #deleteSent(below: number): Promise<void> {
    const deleted = { gps: 0, battery: 0 }
    for await (const { blockIds } of this.#blocks(false)) {
      await this.#delete(blockIds, below, deleted)
      if (this.#level() < below) break
    }
    this.counts.deletedSent += deleted.gps + deleted.battery
    if (deleted.gps + deleted.battery > 0)
      this.#deps.log.info(deleted, 'deleted telemetry that the hub already has: the disk budget was nearly used')
  }

  /** Deletes blocks the hub does not have, day by day, and records them as a gap. */
  async #dropUnsent(): Promise<void> {
    const { store, clock, maintenance, log } = this.#deps
    const dropped = { gps: 0, battery: 0 }
    for await (const { blockIds } of this.#blocks(true)) {
      for (let from = 0; from < blockIds.length && this.#level() >= DROP_UNSENT.below; ) {
        const step = blockIds.slice(from, from + GIVEN_UP_A_STEP)
        from += step.length
        const input = { blockIds: step, nowMs: clock.nowMs() }
        const given = await this.#step(() => maintenance.take(() => store.write('dropUnsentBlocks', input)))
        add(dropped, given)
        await this.#delete(step, 0, { gps: 0, battery: 0 })
      }
      if (this.#level() < DROP_UNSENT.below) break
    }
    this.counts.droppedUnsent += dropped.gps + dropped.battery
    if (dropped.gps + dropped.battery > 0)
      log.error(dropped, 'deleted telemetry that the hub does not have: the disk budget was used')
  }

  async #delete(blockIds: readonly number[], below: number, deleted: DeletedRecords): Promise<void> {
    const { store, maintenance } = this.#deps
    for (let from = 0; from < blockIds.length && this.#level() >= below; from += DELETED_A_STEP) {
      const step = { blockIds: blockIds.slice(from, from + DELETED_A_STEP) }
      add(deleted, await this.#step(() => maintenance.take(() => store.write('deleteSentBlocks', step))))
    }
  }

  /** Yields blocks that may be deleted, in the order of the days on which they begin. */
  async *#blocks(isUnsent: boolean): AsyncGenerator<{ blockIds: number[] }> {
    const { readers } = this.#deps.store
    const options = { owner: OWNER, signal: this.#stopping.signal, isPartOfLongRead: true }
    let fromMs = Number.MIN_SAFE_INTEGER
    for (;;) {
      const dayMs = await readers.run('oldestBlockDay', { fromMs }, options)
      if (dayMs === null) return
      let after: BlockStream | null = null
      do {
        const part: { blockIds: number[]; after: BlockStream | null } = await readers.run(
          'blocksOfDay',
          { dayMs, isUnsent, after },
          options,
        )
        if (part.blockIds.length > 0) {
          yield part
          // released bytes are free on the volume by now
          this.#folder = await this.#measure(this.#deps.dataDir)
        }
        after = part.after
      } while (after !== null)
      fromMs = dayMs + DAY_MS
    }
  }

  #step<Result>(step: () => Promise<Result>): Promise<Result> {
    this.#stopping.signal.throwIfAborted()
    return this.#pace.take(step)
  }
}

function add(total: DeletedRecords, { gps, battery }: DeletedRecords): void {
  total.gps += gps
  total.battery += battery
}
