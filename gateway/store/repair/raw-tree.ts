import type { RawPages } from './raw-pages.ts'
import { type BtreePage, parseBtreePage } from './raw-rows.ts'

/** A page of a tree that holds rows, and is as it was written as far as that is known. */
export interface RowPage {
  readonly number: number
  readonly bytes: Buffer
  readonly page: BtreePage
}

export interface RawTreeOptions {
  root: number
  /** Whether its rows are on its leaves only, found by number. */
  hasRowids: boolean
  /** Whether rows of a page with a wrong checksum count: they have checksums of their own. */
  takesWrong?: boolean
}

/** The tree of a table or an index. What hangs below a damaged page is known from the pointer map. */
export class RawTree {
  readonly #pages: RawPages
  readonly #options: RawTreeOptions
  readonly #visited = new Set<number>()
  #isWhole = true

  constructor(pages: RawPages, options: RawTreeOptions) {
    this.#pages = pages
    this.#options = options
  }

  /** After all pages were asked for: whether no row can be on others, as what is damaged held none, for certain. */
  get isWhole(): boolean {
    return this.#isWhole
  }

  /** In no order. */
  *rowPages(): Generator<RowPage> {
    const left = [this.#options.root]
    for (let number = left.pop(); number !== undefined; number = left.pop()) {
      if (this.#visited.has(number)) continue
      this.#visited.add(number)
      const page = this.#read(number)
      if (page !== null && (page.page.isLeaf || page.page.isIndex)) yield page
      left.push(...(page?.page.children ?? this.#below(number)))
    }
  }

  #read(number: number): RowPage | null {
    const { takesWrong = false, hasRowids } = this.#options
    const raw = this.#pages.read(number)
    if (raw === null || (raw.isRight === false && !takesWrong)) return null
    const page = parseBtreePage(raw.bytes, number)
    if (page === null || page.isIndex === hasRowids) return null
    if (raw.isRight === false) this.#isWhole = false
    // where a wrong page leads nobody knows
    const isSound = raw.isRight !== false || page.isLeaf
    const isConfirmed = page.children.every((child) => this.#pages.map.allows(child, 'tree', number))
    return isSound && isConfirmed ? { number, bytes: raw.bytes, page } : null
  }

  #below(damaged: number): number[] {
    const { map } = this.#pages
    const children = map.childrenOf(damaged)
    // a page with none was a leaf, and others may be missing where the map itself is
    if (children.length === 0 || !this.#options.hasRowids || !map.isProven) this.#isWhole = false
    return children
  }
}
