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
  /** Called when rows of a stream were acknowledged. */
  readonly onAcked: (stream: SyncStream, rows: number) => void
  /** Called when the hub has less than it acknowledged. Resolves once the request for a full audit is on the disk. */
  readonly onWentBack: () => Promise<void>
}

export interface KnownCursors {
  readonly generation: number
  readonly acked: SyncCursors
}

export type CursorComparison =
  /** The same cursors, or those after parts whose responses were lost. */
  | 'known'
  /** The hub has less than it once acknowledged; its cursors now apply. */
  | 'went_back'
  /** The hub has parts that this gateway never sent. */
  | 'foreign'

/** Maximum number of remembered attempts on one stream whose result is unknown. */
const MAX_ATTEMPTS = 128

const EARLIER_FILE = 'sync.json'

/**
 * Cursor of each stream. The cursors of the hub are authoritative; the attempts stored here show which of them this
 * gateway can have caused. Changes are serialised; a response from before a fork or a reset changes nothing.
 */
export class Cursors {
  readonly #deps: CursorsDeps
  readonly #file: SlotFile<typeof sideFileSchema> | undefined
  /** File in which an earlier version stored the same; deleted once it is stored in the new one. */
  readonly #earlierFile: JsonFile<typeof sideFileSchema>
  #isEarlierGone = false
  readonly #turns = new SerialQueue()
  readonly #attempts = new Map<SyncStream, Attempt[]>()
  #acked: SyncCursors
  #generation = 0
  #isFileNoted = true

  constructor(deps: CursorsDeps) {
    this.#deps = deps
    const { dataDir } = deps
    this.#file = dataDir === undefined ? undefined : new SlotFile(join(dataDir, 'sync.slots'), sideFileSchema)
    this.#earlierFile = new JsonFile(dataDir, EARLIER_FILE, sideFileSchema)
    this.#acked = nowhere()
  }

  /** Current snapshot; a response is evaluated against the snapshot at the time of its request. */
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
      // an attempt that began elsewhere was made by a later state of this database than the current one
      const attempts = (content.attempts[stream] ?? []).filter(({ from }) => from.seq >= this.#acked[stream].seq)
      if (attempts.some(({ from }) => isSame(from, this.#acked[stream]))) this.#attempts.set(stream, attempts)
    }
    return false
  }

  /** Writes the attempts to the disk before they are sent. */
  async sending(attempts: readonly (Attempt & { stream: SyncStream })[]): Promise<void> {
    for (const { stream, ...attempt } of attempts) {
      const known = this.#attempts.get(stream) ?? []
      if (known.some(({ to }) => isSame(to, attempt.to))) continue
      this.#attempts.set(stream, [...known.slice(1 - MAX_ATTEMPTS), attempt])
    }
    await this.save()
  }

  /** Applies the hub's response to a request made at the snapshot `asked`. Returns false if it is out of date. */
  acknowledge(cursors: Partial<Record<SyncStream, SyncCursor>>, { generation }: KnownCursors): Promise<boolean> {
    return this.#turns.take(async () => {
      if (generation !== this.#generation) return false
      await this.#take(cursors)
      return true
    })
  }

  /** Adopts the hub's cursors, unless this gateway cannot have caused them. */
  reconcile(hub: SyncCursors, asked: KnownCursors): Promise<CursorComparison> {
    return this.#turns.take(async () => {
      if (asked.generation !== this.#generation) return 'known'
      const taken: Partial<Record<SyncStream, SyncCursor>> = {}
      let wentBack = false
      for (const stream of SYNC_STREAMS) {
        const ours = this.#acked[stream]
        const theirs = hub[stream]
        // a cursor that moved during the request makes the response out of date
        if (isSame(ours, theirs) || !isSame(ours, asked.acked[stream])) continue
        if (this.#attempts.get(stream)?.some(({ to }) => isSame(to, theirs)) === true) taken[stream] = theirs
        else if (theirs.seq < ours.seq) wentBack = true
        else return 'foreign'
      }
      if (!wentBack) {
        await this.#take(taken)
        return 'known'
      }
      // written before the adoption: after a crash, the adopted cursors would hide the loss
      await this.#deps.onWentBack()
      await this.#deps.source.adopt(hub)
      this.#begin({ ...hub })
      await this.save()
      return 'went_back'
    })
  }

  /** Adopts the cursors of a hub after the import of a file; false unless each is known or equals the current one. */
  async isReconciled(hub: SyncCursors): Promise<boolean> {
    const { acked } = this.known
    const isKnown = SYNC_STREAMS.every(
      (stream) =>
        isSame(hub[stream], acked[stream]) ||
        this.#attempts.get(stream)?.some(({ to }) => isSame(to, hub[stream])) === true,
    )
    return isKnown && (await this.reconcile(hub, this.known)) === 'known'
  }

  /** Starts a new epoch, of which the hub has no data. */
  fork(reason: string): Promise<void> {
    return this.#turns.take(async () => {
      await this.#deps.source.fork(reason)
      this.#begin({ ...nowhere(), ...this.#deps.source.cursors() })
      await this.save()
    })
  }

  /** Writes the side file. If the disk rejects it, replication continues, but a crash then costs a new epoch. */
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
      this.#isFileNoted = true
    } catch (error) {
      if (this.#isFileNoted) log.warn({ reason: describeError(error) }, 'writing sync.slots failed')
      this.#isFileNoted = false
    }
  }

  /** Releases the side file to another process. */
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
      // a part that follows this one may still be in flight
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
  // contains one cursor for each stream
  return cursors as SyncCursors
}

function asStream(name: string): SyncStream {
  // the keys of a record of streams
  return name as SyncStream
}

function isSame(a: SyncCursor, b: SyncCursor): boolean {
  return a.seq === b.seq && a.hash === b.hash
}

/** Returns the number of rows in the parts that lead from one cursor to the other. */
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
