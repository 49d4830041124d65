import { ChangeLog } from './change-log.ts'
import { DiskFile, type Unsynced } from './file.ts'
import type { DiskRecord } from './log.ts'

/** Files of a folder by name. */
export type Folder = ReadonlyMap<string, Buffer>

/** `ignored` is a disk that reports success without syncing: the control that shows a check can fail. */
export type Syncs = 'honoured' | 'ignored'

/** Creation or removal of an entry of the folder, or both in one: the file at `from` is now at `name`. */
interface EntryChange {
  name: string
  file: DiskFile | null
  from?: string
}

/**
 * Model of a folder on a disk, change by change. Strict where file systems differ: a sync of a file makes its content
 * safe but not its name, which takes a sync of the folder (POSIX; ext4 would keep the name of a new file as well).
 * SQLite does sync the folder after making a journal or a write-ahead log (`unixSync` in os_unix.c).
 */
export class DiskModel {
  readonly #syncs: Syncs
  /** The folder at the beginning, the changes since, and the folder as the process sees it. */
  readonly #before: ReadonlyMap<string, DiskFile>
  readonly #changes = new ChangeLog<EntryChange>()
  readonly #entries: Map<string, DiskFile>
  /** Changes of a file, or of the folder itself, by descriptor. */
  readonly #open = new Map<number, DiskFile | ChangeLog<EntryChange>>()
  /** Functions that make the changes before the sync's beginning safe. */
  readonly #running = new Map<number, () => void>()

  /** All of `folder` is on the disk. */
  constructor(folder: Folder, syncs: Syncs = 'honoured') {
    this.#syncs = syncs
    this.#before = new Map([...folder].map(([name, content]) => [name, new DiskFile(content)]))
    this.#entries = new Map(this.#before)
  }

  apply(record: DiskRecord): void {
    switch (record.kind) {
      case 'open':
        this.#open.set(record.fd, record.name === '' ? this.#changes : this.#openFile(record))
        return
      case 'close':
        this.#open.delete(record.fd)
        return
      case 'write':
        this.#file(record.fd).add({ kind: 'write', offset: record.offset, bytes: record.bytes })
        return
      case 'truncate':
        this.#file(record.fd).add({ kind: 'resize', size: record.size })
        return
      case 'unlink':
        this.#change({ name: record.name, file: null })
        return
      case 'rename':
        this.#rename(record)
        return
      case 'syncStarted':
        this.#startSync(record.fd, record.sync)
        return
      case 'synced':
        this.#finishSync(record.sync)
    }
  }

  /** Content of the folder after the power cut. */
  afterCut(unsynced: Unsynced, random: () => number): Folder {
    const entries = new Map(this.#before)
    const { synced, unsynced: changes } = this.#changes
    // a file system keeps the order of these in its journal
    const happened = {
      none: 0,
      all: changes.length,
      'some sectors': Math.floor(random() * (changes.length + 1)),
    }[unsynced]
    for (const change of [...synced, ...changes.slice(0, happened)]) applyEntry(entries, change)
    return new Map([...entries].map(([name, file]) => [name, file.afterCut(unsynced, random)]))
  }

  /** Writes, truncations, and names made or removed that no sync has made safe. */
  get unsyncedChanges(): number {
    const logs = [this.#changes, ...this.#entries.values()]
    return logs.reduce((sum, { unsynced }) => sum + unsynced.length, 0)
  }

  #openFile({ name, creates, truncates }: { name: string; creates: boolean; truncates: boolean }): DiskFile {
    const known = this.#entries.get(name)
    if (known === undefined && !creates) throw new Error(`the log opens ${name}, which does not exist`)
    const file = known ?? new DiskFile()
    if (known === undefined) this.#change({ name, file })
    else if (truncates) file.add({ kind: 'resize', size: 0 })
    return file
  }

  #rename({ name: from, to: name }: { name: string; to: string }): void {
    const file = this.#entries.get(from)
    if (file === undefined) throw new Error(`the log renames ${from}, which does not exist`)
    this.#change({ name, file, from })
  }

  #change(change: EntryChange): void {
    applyEntry(this.#entries, change)
    this.#changes.add(change)
  }

  #startSync(fd: number, sync: number): void {
    const log = this.#open.get(fd)
    if (log === undefined) throw new Error(`the log syncs descriptor ${fd}, which is not open`)
    const { length } = log.all
    this.#running.set(sync, () => log.sync(length))
  }

  #finishSync(sync: number): void {
    const finish = this.#running.get(sync)
    if (finish === undefined) throw new Error(`the log ends sync ${sync}, which was not begun`)
    this.#running.delete(sync)
    if (this.#syncs === 'honoured') finish()
  }

  #file(fd: number): DiskFile {
    const file = this.#open.get(fd)
    if (file instanceof DiskFile) return file
    throw new Error(`the log changes descriptor ${fd}, no open file`)
  }
}

function applyEntry(entries: Map<string, DiskFile>, { name, file, from }: EntryChange): void {
  if (from !== undefined) entries.delete(from)
  if (file === null) entries.delete(name)
  else entries.set(name, file)
}
