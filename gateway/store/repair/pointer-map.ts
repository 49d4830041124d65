export interface RawPage {
  readonly bytes: Buffer
  /** True if the checksum matches the content; null if no checksum is known. */
  readonly isRight: boolean | null
}

/** Type of a page according to the map, https://sqlite.org/fileformat2.html#pointer_map_or_ptrmap_pages. */
export type PagePointer = 'root' | 'free' | 'overflow' | 'more overflow' | 'tree'

const TYPES: readonly (PagePointer | undefined)[] = [undefined, 'root', 'free', 'overflow', 'more overflow', 'tree']
const ENTRY_BYTES = 5
/** Number of pages that a map page of 4,096 bytes describes. */
const DESCRIBED_PAGES = Math.floor(4096 / ENTRY_BYTES)
/** First page of the map. Each map page is followed by the pages that it describes. */
const FIRST = 2

interface Pages {
  readonly count: number
  read(number: number): RawPage | null
}

/** Pointer map of an auto_vacuum database: the type and the parent of each page. */
export class PointerMap {
  /** True if the checksum of each map page is known and correct. */
  readonly isProven: boolean
  readonly #types: Uint8Array
  readonly #parents: Uint32Array

  constructor(pages: Pages) {
    this.#types = new Uint8Array(pages.count + 1)
    this.#parents = new Uint32Array(pages.count + 1)
    let isProven = true
    for (let number = FIRST; number <= pages.count; number += 1 + DESCRIBED_PAGES) {
      const page = pages.read(number)
      if (page?.isRight !== true) isProven = false
      if (page !== null && page.isRight !== false)
        this.#take(page.bytes, number + 1, Math.min(DESCRIBED_PAGES, pages.count - number))
    }
    this.isProven = isProven
  }

  /** Returns the type and parent of a page; null if unknown. */
  of(number: number): { type: PagePointer; parent: number } | null {
    const type = TYPES[this.#types[number] ?? 0]
    return type === undefined ? null : { type, parent: this.#parents[number] ?? 0 }
  }

  /** True if the map gives this type and parent for a page, or nothing. */
  allows(number: number, type: PagePointer, parent: number): boolean {
    const known = this.of(number)
    return known === null || (known.type === type && known.parent === parent)
  }

  /** Returns the pages of the same tree whose parent is this one. */
  childrenOf(parent: number): number[] {
    const tree = TYPES.indexOf('tree')
    const found: number[] = []
    for (let number = 1; number < this.#types.length; number++)
      if (this.#parents[number] === parent && this.#types[number] === tree) found.push(number)
    return found
  }

  /** Returns the roots of all tables and indexes except the schema. */
  roots(): number[] {
    const root = TYPES.indexOf('root')
    return [...this.#types.keys()].filter((number) => this.#types[number] === root)
  }

  #take(bytes: Buffer, first: number, count: number): void {
    for (let i = 0; i < count; i++) {
      const type = bytes[i * ENTRY_BYTES] ?? 0
      const parent = bytes.readUInt32BE(i * ENTRY_BYTES + 1)
      const hasParent = parent > 0 && parent < this.#types.length
      // ignores damaged entries
      if (TYPES[type] === undefined || hasParent !== type > TYPES.indexOf('free')) continue
      this.#types[first + i] = type
      this.#parents[first + i] = parent
    }
  }
}
