import { FileContent } from './file-content.ts'

/** A change of a file's content. */
export type Change = { kind: 'write'; offset: number; bytes: Buffer } | { kind: 'resize'; size: number }

/** What of the changes since the last sync a disk holds when the power goes. */
export type Unsynced = 'none' | 'all' | 'some sectors'

/** The unit a disk writes whole or not at all. */
const SECTOR_BYTES = 512

/** A file as a disk has it: what a sync has made safe, and what has been written since. */
export class DiskFile {
  readonly #synced: FileContent
  #unsynced: Change[] = []
  #changes = 0
  #size: number

  constructor(content: Buffer = Buffer.alloc(0)) {
    this.#synced = new FileContent(content)
    this.#size = content.length
  }

  /** How many changes there have been. */
  get changes(): number {
    return this.#changes
  }

  get unsyncedChanges(): number {
    return this.#unsynced.length
  }

  change(change: Change): void {
    // SQLite ends a checkpoint by cutting the database to the size it has
    if (change.kind === 'resize' && change.size === this.#size) return
    this.#size = change.kind === 'resize' ? change.size : Math.max(this.#size, endOf(change))
    this.#unsynced.push(change)
    this.#changes++
  }

  /** The first `changes` of all changes are safe from now on. */
  sync(changes: number): void {
    const syncedBefore = this.#changes - this.#unsynced.length
    // a sync that began earlier may end later
    const count = Math.max(0, changes - syncedBefore)
    for (const change of this.#unsynced.splice(0, count)) apply(this.#synced, change)
  }

  /** The content after a power cut. */
  afterCut(unsynced: Unsynced, random: () => number): Buffer {
    if (unsynced === 'none') return this.#synced.toBuffer()
    if (unsynced === 'some sectors') return this.#torn(random)
    const content = new FileContent(this.#synced.toBuffer())
    for (const change of this.#unsynced) apply(content, change)
    return content.toBuffer()
  }

  /**
   * Each sector holds one of the contents it has gone through since the sync, whatever its neighbours hold.
   * A sector itself is never half of each: SQLite relies on that too ("powersafe overwrite", sqlite.org/psow.html).
   * A file is cut off by one step of the file system's journal: it has happened or not, and if not, the blocks that
   * were written afterwards do not belong to the file.
   */
  #torn(random: () => number): Buffer {
    const happened = this.#upToSomeResize(random)
    const current = new FileContent(this.#synced.toBuffer())
    const torn = new FileContent(this.#synced.toBuffer())
    const states = new Map<number, number>()
    const sizes = [current.size]
    for (const change of happened) {
      const [start, end] = extentOf(change, current.size)
      apply(current, change)
      if (change.kind === 'resize') {
        torn.resize(change.size)
        sizes.length = 0
      }
      sizes.push(current.size)
      for (let sector = Math.floor(start / SECTOR_BYTES); sector * SECTOR_BYTES < end; sector++) {
        const seen = (states.get(sector) ?? 1) + 1
        states.set(sector, seen)
        // the n-th state replaces the one chosen before with a chance of 1 in n: all are equally likely
        const at = sector * SECTOR_BYTES
        if (random() * seen < 1) torn.write(at, current.slice(at, at + SECTOR_BYTES))
      }
    }
    // half of the time the size is the newest, or what tore would mostly be cut off
    const size = random() < 0.5 ? current.size : (sizes[Math.floor(random() * sizes.length)] ?? 0)
    torn.resize(size)
    return torn.toBuffer()
  }

  #upToSomeResize(random: () => number): Change[] {
    const resizes = this.#unsynced.flatMap((change, i) => (change.kind === 'resize' ? [i] : []))
    const kept = Math.floor(random() * (resizes.length + 1))
    return this.#unsynced.slice(0, resizes[kept] ?? this.#unsynced.length)
  }
}

function apply(content: FileContent, change: Change): void {
  if (change.kind === 'write') content.write(change.offset, change.bytes)
  else content.resize(change.size)
}

/** The bytes a write changes; a resize is not torn. */
function extentOf(change: Change, size: number): [start: number, end: number] {
  return change.kind === 'write' ? [change.offset, endOf(change)] : [size, size]
}

function endOf(write: { offset: number; bytes: Buffer }): number {
  return write.offset + write.bytes.length
}
