import type { RawPages } from './raw-pages.ts'
import { type BtreePage, parseBtreePage } from './raw-rows.ts'

/** Page of a tree that holds rows and is unchanged, as far as is known. */
export interface RowPage {
  readonly number: number
  readonly bytes: Buffer
  readonly page: BtreePage
}

export interface RawTreeOptions {
  root: number
  /** True if rows are on the leaves only, found by number. */
  hasRowids: boolean
  /** True if rows of a page with a wrong checksum count, because they have checksums of their own. */
  takesWrong?: boolean
}

/** Tree of a table or an index. The children of a damaged page are found with the pointer map. */
export class RawTree {
  readonly #pages: RawPages
  readonly #options: RawTreeOptions
  readonly #visited = new Set<number>()
  #isWhole = true

  constructor(pages: RawPages, options: RawTreeOptions) {
    this.#pages = pages
    this.#options = options
  }

  /** True, once all pages were requested, if no rows can be missing because the damaged pages certainly held none. */
  get isWhole(): boolean {
    return this.#isWhole
  }

  /** Yields the pages with rows, in no particular order. */
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
    // the children that a damaged page names are unreliable
    const isSound = raw.isRight !== false || page.isLeaf
    const isConfirmed = page.children.every((child) => this.#pages.map.allows(child, 'tree', number))
    return isSound && isConfirmed ? { number, bytes: raw.bytes, page } : null
  }

  #below(damaged: number): number[] {
    const { map } = this.#pages
    const children = map.childrenOf(damaged)
    // a page without children was a leaf; if the map itself is damaged, other pages may be missing
    if (children.length === 0 || !this.#options.hasRowids || !map.isProven) this.#isWhole = false
    return children
  }
}
