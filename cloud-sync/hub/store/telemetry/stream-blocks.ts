import { encodeBlock } from '#shared/telemetry/block.ts'
import { splitIntoFullBlocks } from '#shared/telemetry/merge.ts'
import { indexAtOrAfter, type RecordKind, type Records } from '#shared/telemetry/records.ts'
import type { Sql } from '../database/database.ts'
import { blockSpans, type DeviceOfSite, type NewBlock, readBlocks } from './blocks.ts'
import { firstMs, lastMs, pickRecords } from './merged-records.ts'

/** Block that may already have some of the times to be added. */
interface KnownBlock {
  readonly firstMs: number
  readonly lastMs: number
  /** Undefined until they are decoded on first use. */
  atMs: Float64Array | undefined
}

/**
 * Blocks of a device's stream between two times, and records to add to them. A record with an existing time is omitted,
 * so that no two records have the same time.
 */
export class StreamBlocks<R extends Records> {
  readonly #sql: Sql
  readonly #of: DeviceOfSite
  readonly #kind: RecordKind<R>
  readonly #known: KnownBlock[]
  readonly added: NewBlock[] = []

  private constructor(sql: Sql, of: DeviceOfSite, kind: RecordKind<R>, known: KnownBlock[]) {
    this.#sql = sql
    this.#of = of
    this.#kind = kind
    this.#known = known
  }

  static async load<R extends Records>(
    sql: Sql,
    of: DeviceOfSite,
    kind: RecordKind<R>,
    range: { readonly fromMs: number; readonly toMs: number },
  ): Promise<StreamBlocks<R>> {
    const spans = await blockSpans(sql, of, kind.name, range)
    return new StreamBlocks(
      sql,
      of,
      kind,
      spans.map((span) => ({ ...span, atMs: undefined })),
    )
  }

  /** `block` is the encoded form of the records, if there is one. */
  async add(records: R, block?: Uint8Array): Promise<void> {
    if (records.atMs.length === 0) return
    const fresh = await this.#withoutKnown(records)
    if (fresh.atMs.length === 0) return
    if (block !== undefined && fresh === records) return this.#take(fresh, block)
    for (const piece of splitIntoFullBlocks(this.#kind, fresh)) {
      this.#take(piece, encodeBlock(this.#kind, piece))
    }
  }

  #take(records: R, body: Uint8Array): void {
    const span = { firstMs: firstMs(records), lastMs: lastMs(records) }
    this.#known.push({ ...span, atMs: records.atMs })
    const { hardwareId } = this.#of
    this.added.push({ hardwareId, stream: this.#kind.name, ...span, count: records.atMs.length, body })
  }

  async #withoutKnown(records: R): Promise<R> {
    const { atMs } = records
    const overlapping = this.#known.filter(
      (block) => block.firstMs <= lastMs(records) && block.lastMs >= firstMs(records),
    )
    await this.#readTimes(overlapping)
    const isKnown = new Uint8Array(atMs.length)
    for (const block of overlapping) markKnown(block.atMs ?? new Float64Array(), atMs, isKnown)
    if (!isKnown.includes(1)) return records
    const fresh: number[] = []
    for (const [i, known] of isKnown.entries()) if (known === 0) fresh.push(i)
    return pickRecords(this.#kind, records, fresh)
  }

  async #readTimes(blocks: readonly KnownBlock[]): Promise<void> {
    const unread = blocks.filter(({ atMs }) => atMs === undefined)
    if (unread.length === 0) return
    const read = await readBlocks(this.#sql, this.#of, this.#kind, unread)
    for (const block of unread) block.atMs = read.get(block.lastMs)?.atMs
  }
}

function markKnown(knownMs: Float64Array, atMs: Float64Array, isKnown: Uint8Array): void {
  let k = indexAtOrAfter(knownMs, atMs[0] ?? 0)
  for (let i = 0; i < atMs.length && k < knownMs.length; i++) {
    const timeMs = atMs[i] ?? 0
    while (k < knownMs.length && (knownMs[k] ?? 0) < timeMs) k++
    if (knownMs[k] === timeMs) isKnown[i] = 1
  }
}
