import { ChangeLog } from './change-log.ts'

export type Change = { kind: 'write'; offset: number; bytes: Buffer } | { kind: 'resize'; size: number }

/** Part of the changes since the last sync that a disk keeps in a power cut. */
export type Unsynced = 'none' | 'all' | 'some sectors'

/** Unit that a disk writes whole or not at all. */
const SECTOR_BYTES = 512

/** File on a disk: its content at the beginning, and the changes since. */
export class DiskFile extends ChangeLog<Change> {
  readonly #before: Buffer
  #size: number

  constructor(content: Buffer = Buffer.alloc(0)) {
    super()
    this.#before = content
    this.#size = content.length
  }

  override add(change: Change): void {
    // SQLite ends a checkpoint by truncating the database to the size it has
    if (change.kind === 'resize' && change.size === this.#size) return
    this.#size = sizeAfter(change, this.#size)
    super.add(change)
  }

  /** Content after a power cut. */
  afterCut(unsynced: Unsynced, random: () => number): Buffer {
    if (unsynced === 'some sectors') return this.#torn(random)
    return this.#contentAfter(unsynced === 'none' ? this.synced : this.all).toBuffer()
  }

  /**
   * Content in which each sector holds one of its contents since the sync, independently of others. A sector is never
   * torn itself, on which SQLite relies too ("powersafe overwrite", sqlite.org/psow.html). A truncation is one step of
   * the file system's journal: done or not, and if not, blocks written afterwards do not belong to the file.
   */
  #torn(random: () => number): Buffer {
    const happened = this.#upToSomeResize(random)
    const current = this.#contentAfter(this.synced)
    const torn = this.#contentAfter(this.synced)
    const states = new Map<number, number>()
    const sizes = [current.size]
    for (const change of happened) {
      const [start, end] = extentOf(change, current.size)
      current.apply(change)
      if (change.kind === 'resize') {
        torn.apply(change)
        sizes.length = 0
      }
      sizes.push(current.size)
      for (let sector = Math.floor(start / SECTOR_BYTES); sector * SECTOR_BYTES < end; sector++) {
        const seen = (states.get(sector) ?? 1) + 1
        states.set(sector, seen)
        // the n-th state replaces the one chosen before with a chance of 1 in n: all are equally likely
        const at = sector * SECTOR_BYTES
        const bytes = current.slice(at, at + SECTOR_BYTES)
        if (random() * seen < 1) torn.apply({ kind: 'write', offset: at, bytes })
      }
    }
    // half of the time the size is the newest, or most of what tore would be truncated
    const size = random() < 0.5 ? current.size : (sizes[Math.floor(random() * sizes.length)] ?? 0)
    torn.apply({ kind: 'resize', size })
    return torn.toBuffer()
  }

  #upToSomeResize(random: () => number): readonly Change[] {
    const resizes = this.unsynced.flatMap((change, i) => (change.kind === 'resize' ? [i] : []))
    const kept = Math.floor(random() * (resizes.length + 1))
    return this.unsynced.slice(0, resizes[kept])
  }

  #contentAfter(changes: readonly Change[]): FileContent {
    const largest = this.all.reduce((size, change) => Math.max(size, sizeAfter(change, 0)), 0)
    const content = new FileContent(this.#before, largest)
    for (const change of changes) content.apply(change)
    return content
  }
}

/** Bytes of a file that grows and shrinks; bytes that were never written read as zeros. */
class FileContent {
  readonly #bytes: Buffer
  size: number

  /** Its size never exceeds `largest` or the initial size. */
  constructor(bytes: Buffer, largest: number) {
    this.#bytes = Buffer.alloc(Math.max(bytes.length, largest))
    this.size = bytes.copy(this.#bytes)
  }

  apply(change: Change): void {
    const size = sizeAfter(change, this.size)
    if (change.kind === 'write') change.bytes.copy(this.#bytes, change.offset)
    else this.#bytes.fill(0, size, Math.max(size, this.size))
    this.size = size
  }

  /** Returns a part, shortened at the end of the file. A view, not a copy. */
  slice(start: number, end: number): Buffer {
    return this.#bytes.subarray(Math.min(start, this.size), Math.min(end, this.size))
  }

  toBuffer(): Buffer {
    return this.slice(0, this.size)
  }
}

function sizeAfter(change: Change, size: number): number {
  return change.kind === 'resize' ? change.size : Math.max(size, change.offset + change.bytes.length)
}

/** Range of the bytes that a write changes; a resize is not torn. */
function extentOf(change: Change, size: number): [start: number, end: number] {
  return change.kind === 'write' ? [change.offset, change.offset + change.bytes.length] : [size, size]
}
