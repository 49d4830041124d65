import type { SerialQueue } from '#shared/budgets/serial-queue.ts'
import { Counter } from '#shared/counter.ts'
import { describeError } from '#shared/errors.ts'
import type { Log } from '#shared/log.ts'
import { type Clock, toIso } from '#shared/time.ts'
import type { Store } from '#store/store.ts'
import type { DamagedBlocks, QuarantinedBlocks } from '#store/telemetry/damaged-blocks.ts'
import type { BlockSearch, IndexedBlock, UnreachableBlocks } from '#store/telemetry/detached-blocks.ts'
import type { UnreadableBlock } from '#store/telemetry/unreadable-block.ts'

interface BlockDamageDeps {
  store: Pick<Store, 'read' | 'readers' | 'write'>
  /** Serialises changes of blocks. */
  maintenance: SerialQueue
  clock: Clock
  log: Log
}

/** Blocks checked in one write. */
const STEP_BLOCKS = 64
/** Value of `owner` for the reader jobs that search for unreachable blocks. */
const OWNER = 'damage'
/** Pause between searches, each reading a page of every block: damage outside blocks must not start them in a row. */
const SEARCH_PAUSE_MS = 600_000
/** Limit of remembered reports; further ones are dropped, since each later read reports the block again. */
const MAX_REMEMBERED = 10_000

const REASONS = [
  'not_a_block',
  'wrong_length',
  'wrong_checksum',
  'impossible_content',
  'unreadable_page',
  // intact after all: the disk or the memory returned wrong data once
  'misread',
  'newer_version',
]

/**
 * Handles reports of readers about unreadable blocks. Quarantines damaged ones, so that they are neither counted nor
 * read again, and their records can be sent and stored once more.
 */
export class BlockDamage {
  /** Blocks found unreadable, by reason. */
  readonly unreadable = new Counter(REASONS)
  readonly #deps: BlockDamageDeps
  readonly #waiting = new Set<number>()
  readonly #newer = new Set<number>()
  #summary: DamagedBlocks = { blocks: 0, records: 0, newest: [] }
  #isLooking = false
  #isSearching = false
  #searchedAtMs = Number.NEGATIVE_INFINITY

  constructor(deps: BlockDamageDeps) {
    this.#deps = deps
  }

  /** Current content of the quarantine. */
  get summary(): DamagedBlocks {
    return this.#summary
  }

  /** Reads the quarantine again; called at the start, and after blocks in it were deleted. */
  load(): void {
    try {
      this.#summary = this.#deps.store.read.damagedBlocks()
    } catch (error) {
      this.#deps.log.warn({ reason: String(error) }, 'counting the damaged blocks in quarantine failed')
    }
  }

  /** Schedules a check of blocks that a reader could not read. The same block may be reported any number of times. */
  report(blocks: readonly UnreadableBlock[]): void {
    this.#note(blocks)
    if (this.#waiting.size === 0 || this.#isLooking) return
    this.#isLooking = true
    void this.#deps.maintenance
      .take(() => this.#quarantineWaiting())
      .finally(() => {
        this.#isLooking = false
      })
  }

  /** Checks blocks immediately, for a caller that holds the maintenance lock. Never rejects. */
  async judge(blocks: readonly UnreadableBlock[]): Promise<void> {
    this.#note(blocks)
    if (this.#waiting.size > 0) await this.#quarantineWaiting()
  }

  /**
   * Searches for blocks whose rows lie on unreadable pages, after a read or a write met damage: every access to such a
   * page fails until they are hidden. May be called any number of times.
   */
  search(): void {
    const { maintenance } = this.#deps
    const nowMs = performance.now()
    if (this.#isSearching || nowMs - this.#searchedAtMs < SEARCH_PAUSE_MS) return
    this.#isSearching = true
    this.#searchedAtMs = nowMs
    void maintenance
      .take(() => this.#search())
      .finally(() => {
        this.#isSearching = false
      })
  }

  async #search(): Promise<void> {
    const { store, log } = this.#deps
    try {
      for (let at: BlockSearch | null = { table: 0, after: 0 }; at !== null; ) {
        const part: UnreachableBlocks = await store.readers.run('findUnreachableBlocks', at, {
          owner: OWNER,
          isPartOfLongRead: true,
        })
        at = part.next
        if (part.found.length === 0) continue
        await this.#hide(part)
        // a table that was detached has become the next one
        if (!part.isDetached && at !== null) at = { ...at, table: at.table + 1 }
      }
    } catch (error) {
      log.warn({ reason: describeError(error) }, 'searching for unreachable telemetry blocks failed')
    }
    this.load()
  }

  async #hide({ found, isDetached }: UnreachableBlocks): Promise<void> {
    const { store, clock } = this.#deps
    let isTableDetached = isDetached
    for (const blocks of portionsOf(found)) {
      await store.write('hideUnreachableBlocks', { blocks, isDetached: isTableDetached, nowMs: clock.nowMs() })
      isTableDetached = true
      this.#reportUnreachable(blocks)
    }
  }

  #reportUnreachable(blocks: readonly IndexedBlock[]): void {
    this.unreadable.add('unreadable_page', blocks.length)
    const [first] = blocks
    this.#deps.log.error(
      { blocks: blocks.length, firstBlockId: first?.blockId },
      'hid telemetry blocks on unreadable pages; all other telemetry is served',
    )
  }

  #note(blocks: readonly UnreadableBlock[]): void {
    for (const { blockId, reason } of blocks) {
      if (reason === 'newer_version') this.#noteNewer(blockId)
      else if (reason === 'unreadable_page') this.search()
      else if (this.#waiting.size < MAX_REMEMBERED) this.#waiting.add(blockId)
    }
  }

  async #quarantineWaiting(): Promise<void> {
    const { store, clock, log } = this.#deps
    try {
      while (this.#waiting.size > 0) {
        const blockIds = [...this.#waiting].slice(0, STEP_BLOCKS)
        const found = await store.write('quarantineBlocks', { blockIds, nowMs: clock.nowMs() })
        for (const blockId of blockIds) this.#waiting.delete(blockId)
        this.#reportQuarantined(found)
      }
    } catch (error) {
      this.#waiting.clear()
      log.warn({ reason: String(error) }, 'quarantining damaged blocks failed; will retry when they are read')
    }
    this.load()
  }

  #reportQuarantined({ moved, intact, newer, dropped }: QuarantinedBlocks): void {
    const { log } = this.#deps
    for (const { blockId, hardwareId, stream, firstMs, lastMs, count, reason } of moved) {
      this.unreadable.add(reason)
      const range = { from: toIso(firstMs), to: toIso(lastMs), records: count }
      log.error({ blockId, hardwareId, stream, ...range, reason }, 'quarantined a damaged telemetry block')
    }
    for (const blockId of intact) {
      this.unreadable.add('misread')
      log.warn({ blockId }, 'reading a telemetry block failed once, but the block is intact')
    }
    for (const blockId of newer) this.#noteNewer(blockId)
    if (dropped > 0) log.warn({ blocks: dropped }, 'deleted the oldest damaged blocks: the quarantine is full')
  }

  #noteNewer(blockId: number): void {
    if (this.#newer.has(blockId) || this.#newer.size === MAX_REMEMBERED) return
    // logged once, because there are many after a return to an older version
    if (this.#newer.size === 0) this.#deps.log.error({ blockId }, 'cannot read telemetry written by a newer version')
    this.#newer.add(blockId)
    this.unreadable.add('newer_version')
  }
}

function* portionsOf(blocks: readonly IndexedBlock[]): Generator<readonly IndexedBlock[]> {
  for (let at = 0; at < blocks.length; at += STEP_BLOCKS) yield blocks.slice(at, at + STEP_BLOCKS)
}
