import { DiskFile, type Unsynced } from './file.ts'
import type { DiskRecord } from './log.ts'

/** The files of a folder by name. */
export type Folder = ReadonlyMap<string, Buffer>

/** `ignored` is a disk that says "done" and has done nothing: the control that shows a check can fail. */
export type Syncs = 'honoured' | 'ignored'

/** Making or removing an entry of the folder. */
interface EntryChange {
  name: string
  file: DiskFile | null
}

interface StartedSync {
  file: DiskFile | null
  changes: number
}

/**
 * What a disk holds of a folder, change by change. Strict where file systems differ: a sync of a file makes its content
 * safe but not its name, which takes a sync of the folder (POSIX; ext4 would keep the name of a new file as well).
 * SQLite does sync the folder after making a journal or a write-ahead log (`unixSync` in os_unix.c).
 */
export class DiskModel {
  readonly #syncs: Syncs
  /** The folder as a sync has made it safe, the changes since, and as the process sees it. */
  readonly #syncedEntries: Map<string, DiskFile>
  readonly #entryChanges: EntryChange[] = []
  #syncedEntryChanges = 0
  readonly #entries: Map<string, DiskFile>
  /** null is the folder itself. */
  readonly #open = new Map<number, DiskFile | null>()
  readonly #running = new Map<number, StartedSync>()

  /** `folder` is all on the disk. */
  constructor(folder: Folder, syncs: Syncs = 'honoured') {
    this.#syncs = syncs
    this.#entries = new Map([...folder].map(([name, content]) => [name, new DiskFile(content)]))
    this.#syncedEntries = new Map(this.#entries)
  }

  apply(record: DiskRecord): void {
    switch (record.kind) {
      case 'open':
        this.#open.set(record.fd, record.name === '' ? null : this.#openFile(record))
        return
      case 'close':
        this.#open.delete(record.fd)
        return
      case 'write':
        this.#file(record.fd).change({ kind: 'write', offset: record.offset, bytes: record.bytes })
        return
      case 'truncate':
        this.#file(record.fd).change({ kind: 'resize', size: record.size })
        return
      case 'unlink':
        this.#entries.delete(record.name)
        this.#entryChanges.push({ name: record.name, file: null })
        return
      case 'syncStarted':
        this.#startSync(record.fd, record.sync)
        return
      case 'synced':
        this.#finishSync(record.sync)
    }
  }

  /** The content of the folder when the power comes back. */
  afterCut(unsynced: Unsynced, random: () => number): Folder {
    const entries = new Map(this.#syncedEntries)
    // a file system keeps the order of these in its journal
    const changes = this.#entryChanges.slice(this.#syncedEntryChanges)
    const happened = {
      none: 0,
      all: changes.length,
      'some sectors': Math.floor(random() * (changes.length + 1)),
    }[unsynced]
    for (const change of changes.slice(0, happened)) applyEntry(entries, change)
    return new Map([...entries].map(([name, file]) => [name, file.afterCut(unsynced, random)]))
  }

  /** Writes, truncations, and names made or removed that no sync has made safe. */
  get unsyncedChanges(): number {
    let count = this.#entryChanges.length - this.#syncedEntryChanges
    for (const file of this.#entries.values()) count += file.unsyncedChanges
    return count
  }

  #openFile({ name, creates, truncates }: { name: string; creates: boolean; truncates: boolean }): DiskFile {
    let file = this.#entries.get(name)
    if (file === undefined) {
      if (!creates) throw new Error(`the log opens ${name}, which is not there`)
      file = new DiskFile()
      this.#entries.set(name, file)
      this.#entryChanges.push({ name, file })
    } else if (truncates) {
      file.change({ kind: 'resize', size: 0 })
    }
    return file
  }

  #startSync(fd: number, sync: number): void {
    const file = this.#open.get(fd)
    if (file === undefined) throw new Error(`the log syncs descriptor ${fd}, which is not open`)
    this.#running.set(sync, { file, changes: file?.changes ?? this.#entryChanges.length })
  }

  #finishSync(sync: number): void {
    const started = this.#running.get(sync)
    if (started === undefined) throw new Error(`the log ends sync ${sync}, which was not begun`)
    this.#running.delete(sync)
    if (this.#syncs === 'ignored') return
    if (started.file === null) this.#syncFolder(started.changes)
    else started.file.sync(started.changes)
  }

  #syncFolder(changes: number): void {
    for (; this.#syncedEntryChanges < changes; this.#syncedEntryChanges++) {
      const change = this.#entryChanges[this.#syncedEntryChanges]
      if (change !== undefined) applyEntry(this.#syncedEntries, change)
    }
  }

  #file(fd: number): DiskFile {
    const file = this.#open.get(fd)
    if (file === undefined || file === null) throw new Error(`the log changes descriptor ${fd}, no open file`)
    return file
  }
}

function applyEntry(entries: Map<string, DiskFile>, { name, file }: EntryChange): void {
  if (file === null) entries.delete(name)
  else entries.set(name, file)
}
