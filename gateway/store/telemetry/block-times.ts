import type { TelemetryStream } from '#shared/ids.ts'
import { decodeBlock, MAX_BLOCK_RECORDS } from '#shared/telemetry/block.ts'
import { BATTERY, GPS, indexAtOrAfter, type RecordKind, type Records } from '#shared/telemetry/records.ts'
import type { Connection } from '../db/connection.ts'
import { CommittedBlocks } from './committed-blocks.ts'
import { isUnreadable } from './unreadable-block.ts'

/** Blocks whose times are cached, 16 KB each: an upload of late samples needs the same ones repeatedly. */
const REMEMBERED_BLOCKS = 64

export class BlockTimes {
  readonly #connection: Connection
  readonly #committed: CommittedBlocks
  /** Least recently used first. */
  readonly #remembered = new Map<number, Float64Array>()
  readonly #decoders = { gps: decoderOf(GPS), battery: decoderOf(BATTERY) }

  constructor(connection: Connection) {
    this.#connection = connection
    this.#committed = new CommittedBlocks(connection)
  }

  close(): void {
    this.#committed.close()
  }

  /** Last time in a block of the device's stream; -1 if it has none. */
  newestMs(stream: TelemetryStream, deviceId: number): number {
    const row = this.#connection.get<{ lastMs: number }>(
      `SELECT last_ms FROM stored_block
       WHERE device_id = +? AND stream = +? ORDER BY first_ms DESC LIMIT 1`,
      deviceId,
      stream,
    )
    return row?.lastMs ?? -1
  }

  has(stream: TelemetryStream, deviceId: number, atMs: number): boolean {
    const block = this.#connection.get<{ blockId: number; lastMs: number }>(
      `SELECT block_id, last_ms FROM stored_block
       WHERE device_id = +? AND stream = +? AND first_ms <= +? ORDER BY first_ms DESC LIMIT 1`,
      deviceId,
      stream,
      atMs,
    )
    if (block === undefined || block.lastMs < atMs) return false
    const times = this.#timesOf(stream, block.blockId)
    return times[indexAtOrAfter(times, atMs)] === atMs
  }

  #timesOf(stream: TelemetryStream, blockId: number): Float64Array {
    const known = this.#remembered.get(blockId)
    this.#remembered.delete(blockId)
    const times = known ?? this.#read(stream, blockId)
    this.#remembered.set(blockId, times)
    if (this.#remembered.size > REMEMBERED_BLOCKS) {
      const [oldest = 0] = this.#remembered.keys()
      this.#remembered.delete(oldest)
    }
    return times
  }

  #read(stream: TelemetryStream, blockId: number): Float64Array {
    try {
      return this.#decoders[stream](this.#committed.read(blockId))
    } catch (error) {
      if (!isUnreadable(error)) throw error
      // a reader of the block reports it; its records count as not stored
      return new Float64Array()
    }
  }
}

function decoderOf<R extends Records>(kind: RecordKind<R>): (block: Uint8Array) => Float64Array {
  let columns: R | undefined
  return (block) => {
    columns ??= kind.allocate(MAX_BLOCK_RECORDS)
    return columns.atMs.slice(0, decodeBlock(kind, block, columns))
  }
}
