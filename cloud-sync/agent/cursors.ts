import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { SerialQueue } from '#shared/budgets/serial-queue.ts'
import { describeError } from '#shared/errors.ts'
import type { Log } from '#shared/log.ts'
import type { SyncSourcePort } from '#shared/sync-source.ts'
import { NO_CURSOR, SYNC_STREAMS } from '#shared/wire/replication/replicated.ts'
import type { SyncCursor, SyncCursors, SyncStream } from '#shared/wire/replication/sync.ts'
import { JsonFile } from './json-file.ts'
import { type Attempt, isOlderThan, type SideFileContent, sideFileSchema } from './pending-batch-file.ts'
import { SlotFile } from './slot-file.ts'

interface CursorsDeps {
  readonly source: SyncSourcePort
  readonly site: string
  readonly dataDir: string | undefined
  readonly log: Log
  /** Rows of a stream were acknowledged. */
  readonly onAcked: (stream: SyncStream, rows: number) => void
  /** The hub has less than it acknowledged. When this resolves, that everything is to be compared is on the disk. */
  readonly onWentBack: () => Promise<void>
}

/** The cursors that were known at some moment. */
export interface KnownCursors {
  readonly generation: number
  readonly acked: SyncCursors
}

/** How the hub's cursors compare to what is known here. */
export type CursorComparison =
  /** The same cursors, or those after parts whose answers were lost. */
  | 'known'
  /** The hub has less than it once acknowledged; its cursors hold now. */
  | 'went_back'
  /** The hub has parts that this gateway never sent. */
  | 'foreign'

/** More attempts than these on one stream without knowing what became of any are not remembered. */
const MAX_ATTEMPTS = 128

const EARLIER_FILE = 'sync.json'

/**
 * The cursor of each stream. The cursors of the hub count; the attempts that are kept here tell which of them this
 * gateway can have caused. Changes are made one after the other; an answer from before a fork or a reset changes
 * nothing.
 */
export class Cursors {
  readonly #deps: CursorsDeps
  readonly #file: SlotFile<typeof sideFileSchema> | undefined
  /** Where an earlier version kept the same; gone once it is kept here. */
  readonly #earlierFile: JsonFile<typeof sideFileSchema>
  #isEarlierGone = false
  readonly #turns = new SerialQueue()
  readonly #attempts = new Map<SyncStream, Attempt[]>()
  #acked: SyncCursors
  #generation = 0
  #isFileTold = true

  constructor(deps: CursorsDeps) {
    this.#deps = deps
    const { dataDir } = deps
    this.#file = dataDir === undefined ? undefined : new SlotFile(join(dataDir, 'sync.slots'), sideFileSchema)
    this.#earlierFile = new JsonFile(dataDir, EARLIER_FILE, sideFileSchema)
    this.#acked = nowhere()
  }

  /** What is known now; what an answer says counts as of when it was asked for. */
  get known(): KnownCursors {
    return { generation: this.#generation, acked: this.#acked }
  }

  at(stream: SyncStream): SyncCursor {
    return this.#acked[stream]
  }

  /** Loads the cursors. Returns true when the database is older than the data that it had sent. */
  async load(): Promise<boolean> {
    const { source, site } = this.#deps
    const content = (await this.#file?.read()) ?? (await this.#earlierFile.read())
    const identity = source.identity()
    this.#acked = { ...nowhere(), ...source.cursors() }
    this.#attempts.clear()
    if (content === undefined) return false
    if (isOlderThan(content, site, identity, source.ends())) return true
    if (content.site !== site || content.epoch !== identity.epoch) return false
    for (const stream of SYNC_STREAMS) {
      // one that began elsewhere was sent by a later state of this database than it is in now
      const attempts = (content.attempts[stream] ?? []).filter(({ from }) => from.seq >= this.#acked[stream].seq)
      if (attempts.some(({ from }) => isSame(from, this.#acked[stream]))) this.#attempts.set(stream, attempts)
    }
    return false
  }

  /** Stores on the disk what is about to be sent. */
  async sending(attempts: readonly (Attempt & { stream: SyncStream })[]): Promise<void> {
    for (const { stream, ...attempt } of attempts) {
      const known = this.#attempts.get(stream) ?? []
      if (known.some(({ to }) => isSame(to, attempt.to))) continue
      this.#attempts.set(stream, [...known.slice(1 - MAX_ATTEMPTS), attempt])
    }
    await this.save()
  }

  /** Takes the hub's answer to a request made when `asked` was known. Returns false when the answer is out of date. */
  acknowledge(cursors: Partial<Record<SyncStream, SyncCursor>>, { generation }: KnownCursors): Promise<boolean> {
    return this.#turns.take(async () => {
      if (generation !== this.#generation) return false
      await this.#take(cursors)
      return true
    })
  }

  /** Takes the hub's cursors, unless they are nothing this gateway can have caused. */
  reconcile(hub: SyncCursors, asked: KnownCursors): Promise<CursorComparison> {
    return this.#turns.take(async () => {
      if (asked.generation !== this.#generation) return 'known'
      const taken: Partial<Record<SyncStream, SyncCursor>> = {}
      let wentBack = false
      for (const stream of SYNC_STREAMS) {
        const ours = this.#acked[stream]
        const theirs = hub[stream]
        // what moved while the hub was asked makes its answer an old one
        if (isSame(ours, theirs) || !isSame(ours, asked.acked[stream])) continue
        if (this.#attempts.get(stream)?.some(({ to }) => isSame(to, theirs)) === true) taken[stream] = theirs
        else if (theirs.seq < ours.seq) wentBack = true
        else return 'foreign'
      }
      if (!wentBack) {
        await this.#take(taken)
        return 'known'
      }
      // an end after the adoption must not forget it: with the hub's cursors everything looks as it should
      await this.#deps.onWentBack()
      await this.#deps.source.adopt(hub)
      this.#begin({ ...hub })
      await this.save()
      return 'went_back'
    })
  }

  /**
   * Takes cursors that a hub had after what was carried there; false unless each is known, or what it is here already.
   */
  async isReconciled(hub: SyncCursors): Promise<boolean> {
    const { acked } = this.known
    const isKnown = SYNC_STREAMS.every(
      (stream) =>
        isSame(hub[stream], acked[stream]) ||
        this.#attempts.get(stream)?.some(({ to }) => isSame(to, hub[stream])) === true,
    )
    return isKnown && (await this.reconcile(hub, this.known)) === 'known'
  }

  /** Becomes a new epoch, of which the hub has nothing. */
  fork(reason: string): Promise<void> {
    return this.#turns.take(async () => {
      await this.#deps.source.fork(reason)
      this.#begin({ ...nowhere(), ...this.#deps.source.cursors() })
      await this.save()
    })
  }

  /** Writes the side file. A disk that does not take it costs a new epoch after a crash, not the replication. */
  async save(): Promise<void> {
    const { source, site, log } = this.#deps
    const content: SideFileContent = {
      site,
      epoch: source.identity().epoch,
      acked: Object.fromEntries(SYNC_STREAMS.map((stream) => [stream, this.#acked[stream].seq])),
      attempts: Object.fromEntries(this.#attempts),
    }
    try {
      await this.#file?.write(content)
      await this.#forgetEarlier()
      this.#isFileTold = true
    } catch (error) {
      if (this.#isFileTold) log.warn({ reason: describeError(error) }, 'cannot write sync.slots')
      this.#isFileTold = false
    }
  }

  /** Lets go of the side file, for another process to have. */
  async close(): Promise<void> {
    await this.#file?.close()
  }

  async #forgetEarlier(): Promise<void> {
    const { dataDir } = this.#deps
    if (this.#isEarlierGone || dataDir === undefined) return
    await rm(join(dataDir, EARLIER_FILE), { force: true })
    this.#isEarlierGone = true
  }

  async #take(cursors: Partial<Record<SyncStream, SyncCursor>>): Promise<void> {
    const moved = Object.fromEntries(
      Object.entries(cursors).filter(([stream, cursor]) => !isSame(cursor, this.#acked[asStream(stream)])),
    )
    if (Object.keys(moved).length === 0) return
    await this.#deps.source.acknowledge(moved)
    for (const stream of SYNC_STREAMS) {
      const to = cursors[stream]
      if (to === undefined || isSame(to, this.#acked[stream])) continue
      const attempts = this.#attempts.get(stream) ?? []
      const rows = rowsUpTo(to, this.#acked[stream], attempts)
      this.#acked = { ...this.#acked, [stream]: to }
      // a part behind this one may be on its way still
      const behind = attempts.filter(({ from }) => from.seq >= to.seq)
      if (behind.length > 0) this.#attempts.set(stream, behind)
      else this.#attempts.delete(stream)
      this.#deps.onAcked(stream, rows)
    }
  }

  #begin(acked: SyncCursors): void {
    this.#generation++
    this.#acked = acked
    this.#attempts.clear()
  }
}

function nowhere(): SyncCursors {
  const cursors = Object.fromEntries(SYNC_STREAMS.map((stream) => [stream, NO_CURSOR]))
  // of each stream there is one
  return cursors as SyncCursors
}

function asStream(name: string): SyncStream {
  // the keys of a record of streams
  return name as SyncStream
}

function isSame(a: SyncCursor, b: SyncCursor): boolean {
  return a.seq === b.seq && a.hash === b.hash
}

/** The rows of the parts that lead from one cursor to the other. */
function rowsUpTo(to: SyncCursor, from: SyncCursor, attempts: readonly Attempt[]): number {
  let rows = 0
  let at = to
  while (!isSame(at, from)) {
    const last = attempts.find((attempt) => isSame(attempt.to, at))
    if (last === undefined) break
    rows += last.rows
    at = last.from
  }
  return rows
}
