export interface RawPage {
  readonly bytes: Buffer
  /** Whether its checksum says that it is what was written; null when none is known. */
  readonly isRight: boolean | null
}

/** What a page is by the map, https://sqlite.org/fileformat2.html#pointer_map_or_ptrmap_pages. */
export type PagePointer = 'root' | 'free' | 'overflow' | 'more overflow' | 'tree'

const TYPES: readonly (PagePointer | undefined)[] = [undefined, 'root', 'free', 'overflow', 'more overflow', 'tree']
const ENTRY_BYTES = 5
/** Pages that one of 4,096 bytes tells of. */
const TOLD = Math.floor(4096 / ENTRY_BYTES)
/** The first page of the map. Each is followed by the pages that it tells of. */
const FIRST = 2

interface Pages {
  readonly count: number
  read(number: number): RawPage | null
}

/** What the pages of an auto_vacuum database say of each other: what each is, and which it hangs below. */
export class PointerMap {
  /** The checksum of each page of it is known, and right. */
  readonly isProven: boolean
  readonly #types: Uint8Array
  readonly #parents: Uint32Array

  constructor(pages: Pages) {
    this.#types = new Uint8Array(pages.count + 1)
    this.#parents = new Uint32Array(pages.count + 1)
    let isProven = true
    for (let number = FIRST; number <= pages.count; number += 1 + TOLD) {
      const page = pages.read(number)
      if (page?.isRight !== true) isProven = false
      if (page !== null && page.isRight !== false)
        this.#take(page.bytes, number + 1, Math.min(TOLD, pages.count - number))
    }
    this.isProven = isProven
  }

  /** Null when it is not known. */
  of(number: number): { type: PagePointer; parent: number } | null {
    const type = TYPES[this.#types[number] ?? 0]
    return type === undefined ? null : { type, parent: this.#parents[number] ?? 0 }
  }

  /** Whether the map says this of a page, or nothing. */
  allows(number: number, type: PagePointer, parent: number): boolean {
    const known = this.of(number)
    return known === null || (known.type === type && known.parent === parent)
  }

  /** Pages of the same tree that hang below this one. */
  childrenOf(parent: number): number[] {
    const tree = TYPES.indexOf('tree')
    const found: number[] = []
    for (let number = 1; number < this.#types.length; number++)
      if (this.#parents[number] === parent && this.#types[number] === tree) found.push(number)
    return found
  }

  /** The roots of all tables and indexes but that of the schema. */
  roots(): number[] {
    const root = TYPES.indexOf('root')
    return [...this.#types.keys()].filter((number) => this.#types[number] === root)
  }

  #take(bytes: Buffer, first: number, count: number): void {
    for (let i = 0; i < count; i++) {
      const type = bytes[i * ENTRY_BYTES] ?? 0
      const parent = bytes.readUInt32BE(i * ENTRY_BYTES + 1)
      const hasParent = parent > 0 && parent < this.#types.length
      // of a damaged entry nothing is taken
      if (TYPES[type] === undefined || hasParent !== type > TYPES.indexOf('free')) continue
      this.#types[first + i] = type
      this.#parents[first + i] = parent
    }
  }
}
