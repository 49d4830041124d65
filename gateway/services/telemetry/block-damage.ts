import type { Log } from '#shared/log.ts'
import { Tally } from '#shared/tally.ts'
import { type Clock, toIso } from '#shared/time.ts'
import type { Turns } from '#shared/turns.ts'
import type { Store } from '#store/store.ts'
import type { DamagedBlocks, QuarantinedBlocks } from '#store/telemetry/damaged-blocks.ts'
import type { UnreadableBlock } from '#store/telemetry/unreadable-block.ts'

interface BlockDamageDeps {
  store: Pick<Store, 'read' | 'write'>
  /** Blocks do not change while one has a maintenance turn. */
  maintenance: Turns
  clock: Clock
  log: Log
}

/** Blocks looked at in one write. */
const STEP_BLOCKS = 64
/** Reports beyond this number are forgotten: each later read reports the block again. */
const MAX_REMEMBERED = 10_000

const REASONS = [
  ...['not_a_block', 'wrong_length', 'wrong_checksum', 'impossible_content'],
  // as it was written after all: the disk or the memory read wrongly once
  'misread',
  'newer_version',
]

/**
 * Takes up what readers say of blocks they could not read. Damaged ones are put aside, so that they are not counted and
 * not read again, and what they held can be sent and stored once more.
 */
export class BlockDamage {
  /** Blocks found unreadable, by reason. */
  readonly unreadable = new Tally(REASONS)
  readonly #deps: BlockDamageDeps
  readonly #waiting = new Set<number>()
  readonly #newer = new Set<number>()
  #summary: DamagedBlocks = { blocks: 0, records: 0, newest: [] }
  #isLooking = false

  constructor(deps: BlockDamageDeps) {
    this.#deps = deps
  }

  /** The quarantine as it is now. */
  get summary(): DamagedBlocks {
    return this.#summary
  }

  /** Reads the quarantine again: at the start, and after blocks in it were deleted. */
  load(): void {
    try {
      this.#summary = this.#deps.store.read.damagedBlocks()
    } catch (error) {
      this.#deps.log.warn({ reason: String(error) }, 'could not count the damaged blocks in quarantine')
    }
  }

  /** Has blocks judged that a reader could not read. The same block may be reported any number of times. */
  report(blocks: readonly UnreadableBlock[]): void {
    this.#note(blocks)
    if (this.#waiting.size === 0 || this.#isLooking) return
    this.#isLooking = true
    void this.#deps.maintenance
      .take(() => this.#look())
      .finally(() => {
        this.#isLooking = false
      })
  }

  /** The same at once, for a caller that has the maintenance turn. Never rejects. */
  async judge(blocks: readonly UnreadableBlock[]): Promise<void> {
    this.#note(blocks)
    if (this.#waiting.size > 0) await this.#look()
  }

  #note(blocks: readonly UnreadableBlock[]): void {
    for (const { blockId, reason } of blocks) {
      if (reason === 'newer_version') this.#noteNewer(blockId)
      else if (this.#waiting.size < MAX_REMEMBERED) this.#waiting.add(blockId)
    }
  }

  async #look(): Promise<void> {
    const { store, clock, log } = this.#deps
    try {
      while (this.#waiting.size > 0) {
        const blockIds = [...this.#waiting].slice(0, STEP_BLOCKS)
        const found = await store.write('quarantineBlocks', { blockIds, nowMs: clock.nowMs() })
        for (const blockId of blockIds) this.#waiting.delete(blockId)
        this.#tell(found)
      }
    } catch (error) {
      this.#waiting.clear()
      log.warn(
        { reason: String(error) },
        'could not move damaged blocks into quarantine; tries again when they are read',
      )
    }
    this.load()
  }

  #tell({ moved, intact, newer, dropped }: QuarantinedBlocks): void {
    const { log } = this.#deps
    for (const { blockId, hardwareId, stream, firstMs, lastMs, count, reason } of moved) {
      this.unreadable.add(reason)
      const range = { from: toIso(firstMs), to: toIso(lastMs), records: count }
      log.error(
        { blockId, hardwareId, stream, ...range, reason },
        'moved a damaged telemetry block into quarantine',
      )
    }
    for (const blockId of intact) {
      this.unreadable.add('misread')
      log.warn({ blockId }, 'a read of a telemetry block failed, but the block is intact')
    }
    for (const blockId of newer) this.#noteNewer(blockId)
    if (dropped > 0)
      log.warn({ blocks: dropped }, 'deleted the oldest damaged blocks: the quarantine is full')
  }

  #noteNewer(blockId: number): void {
    if (this.#newer.has(blockId) || this.#newer.size === MAX_REMEMBERED) return
    // after a step back to an older program there are many: one line says it
    if (this.#newer.size === 0)
      this.#deps.log.error({ blockId }, 'cannot read telemetry that a newer version of this program wrote')
    this.#newer.add(blockId)
    this.unreadable.add('newer_version')
  }
}
