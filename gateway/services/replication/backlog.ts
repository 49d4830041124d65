import type { StreamBacklog } from '#shared/sync-source.ts'
import type { SyncCursors, SyncStream } from '#shared/wire/replication/sync.ts'
import type { JobOptions } from '#store/readers/pool.ts'
import { type BacklogPortion, earlier, type HistoryChunk, type RowStream } from '#store/replication/backlog.ts'
import type { Store } from '#store/store.ts'

interface KnownChunk extends StreamBacklog {
  readonly entries: number
}

/** Value of `owner` for these reader jobs; separate from that of new rows, which would otherwise queue after them. */
const OWNER = 'backlog'
/** Matches no number of entries, so that the chunk is counted again. */
const NEVER = -1
const NOTHING: StreamBacklog = { rows: 0, oldestMs: null }

/** Counts the rows after the cursors, in portions. Caches the counts of the chunks of a long backlog of blocks. */
export class SyncBacklog {
  readonly #readers: Store['readers']
  #chunks = new Map<number, KnownChunk>()

  constructor(readers: Store['readers']) {
    this.#readers = readers
  }

  async count(cursors: SyncCursors, signal: AbortSignal): Promise<Record<SyncStream, StreamBacklog>> {
    const rows = (stream: RowStream) =>
      sumOf(cursors[stream].seq, (after) => this.#readers.run('countRows', { stream, after }, optionsOf(signal)))
    return {
      notes: await rows('notes'),
      lock_events: await rows('lock_events'),
      geofence_events: await rows('geofence_events'),
      entities: await rows('entities'),
      telemetry: await sumOf(cursors.telemetry.seq, (after) =>
        this.#readers.run('countLogged', { after }, optionsOf(signal)),
      ),
      history: await this.#history(cursors.history.seq, signal),
    }
  }

  async #history(after: number, signal: AbortSignal): Promise<StreamBacklog> {
    const chunks = await this.#readers.run('historyChunks', { after }, optionsOf(signal))
    const known = new Map<number, KnownChunk>()
    let sum = NOTHING
    for (const chunk of chunks) {
      const found = await this.#chunk(chunk, after, signal)
      // the last chunk may get new entries in place of those it loses
      if (chunk !== chunks.at(-1)) known.set(chunk.chunk, found)
      sum = added(sum, found)
    }
    this.#chunks = known
    return sum
  }

  async #chunk({ chunk, entries }: HistoryChunk, after: number, signal: AbortSignal): Promise<KnownChunk> {
    const known = this.#chunks.get(chunk)
    if (known?.entries === entries) return known
    try {
      const found = await this.#readers.run('countChunk', { chunk, after }, optionsOf(signal))
      return { ...found, entries }
    } catch (error) {
      if (signal.aborted) throw error
      // a damaged page: the lane that sends the blocks reports it; each entry has at least one record
      return { rows: entries, oldestMs: null, entries: NEVER }
    }
  }
}

function optionsOf(signal: AbortSignal): JobOptions {
  return { owner: OWNER, signal, isPartOfLongRead: true }
}

async function sumOf(first: number, count: (after: number) => Promise<BacklogPortion>): Promise<StreamBacklog> {
  let sum = NOTHING
  for (let after: number | null = first; after !== null; ) {
    const portion: BacklogPortion = await count(after)
    sum = added(sum, portion)
    after = portion.after
  }
  return sum
}

function added(a: StreamBacklog, b: StreamBacklog): StreamBacklog {
  return { rows: a.rows + b.rows, oldestMs: earlier(a.oldestMs, b.oldestMs) }
}
