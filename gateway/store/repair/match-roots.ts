import type { Connection, Value } from '../db/connection.ts'
import type { RawPages } from './raw-pages.ts'
import { parseBtreePage, rowAt } from './raw-rows.ts'
import { RawTree } from './raw-tree.ts'
import { layoutOf } from './recovered-subtree.ts'

/** Table or index in the schema (`sqlite_schema`). */
export interface SchemaEntry {
  readonly type: string
  readonly name: string
  readonly table: string
  readonly root: number
  readonly sql: string | null
}

export interface KnownSchema {
  /** Empty database of the same version. */
  readonly template: Connection
  /** Tables and indexes of the template; all databases without rebuilt tables have the same root pages. */
  readonly expected: readonly SchemaEntry[]
  /** Known entries of the damaged database. */
  readonly known: readonly SchemaEntry[]
  /** Other entries that the damaged database must have; their roots are those of `expected`. */
  readonly missing: readonly SchemaEntry[]
}

/** Number of rows of a tree to compare; more could only exclude more entries. */
const ROWS = 1000

/**
 * Finds the root pages of the missing tables and indexes: at the positions that the migrations give them, if the known
 * ones are at theirs, otherwise by the shape of their rows. Nothing is guessed: ambiguous roots are left out, and the
 * result is empty if a row contradicts.
 */
export function matchRoots(
  pages: RawPages,
  { template, expected, known, missing }: KnownSchema,
): Map<SchemaEntry, number> {
  const roots = unknownRootPages(pages, known)
  // with more, some belong to detached tables with unknown names
  if (roots.length !== missing.length) return new Map()
  const shapes = new Map(missing.map((entry) => [entry, shapeOf(template, entry)]))
  const trees = roots.map((root) => treeAt(pages, root))
  const fitting = trees.map((tree) => missing.filter((entry) => fits(tree, shapes.get(entry))))
  const places = new Map(expected.map(({ name, root }) => [name, root]))
  const isAsMade =
    known.every(({ name, root }) => places.get(name) === root) &&
    roots.every((root, i) => fitting[i]?.some((entry) => entry.root === root))
  return isAsMade ? new Map(missing.map((entry) => [entry, entry.root])) : eliminate(trees, fitting)
}

/** Returns the root pages of tables and indexes that are not among the known ones. */
export function unknownRootPages({ map }: RawPages, known: readonly SchemaEntry[]): number[] {
  const taken = new Set(known.map(({ root }) => root))
  return map.roots().filter((root) => !taken.has(root))
}

/** Assigns each tree to one entry: a tree that fits a single entry excludes that entry for the others. */
function eliminate(trees: readonly Tree[], fitting: readonly SchemaEntry[][]): Map<SchemaEntry, number> {
  const found = new Map<SchemaEntry, number>()
  let left = trees.map((tree, i) => ({ tree, entries: fitting[i] ?? [] }))
  for (;;) {
    const sure = left.find(({ entries }) => entries.length < 2)
    if (sure === undefined) break
    const [entry] = sure.entries
    if (entry === undefined) return new Map()
    found.set(entry, sure.tree.root)
    left = left
      .filter((one) => one !== sure)
      .map(({ tree, entries }) => ({ tree, entries: entries.filter((one) => one !== entry) }))
  }
  // the assignment of empty trees makes no difference
  if (left.every(({ tree }) => tree.isEmpty)) {
    for (const { tree, entries } of left) {
      const entry = entries.find((one) => !found.has(one))
      if (entry !== undefined) found.set(entry, tree.root)
    }
  }
  return found
}

interface Tree {
  readonly root: number
  /** Null if unknown. */
  readonly isIndex: boolean | null
  readonly rows: readonly (readonly Value[])[]
  /** True if certainly empty. */
  readonly isEmpty: boolean
}

function treeAt(pages: RawPages, root: number): Tree {
  const isIndex = isIndexAt(pages, root) ?? pages.map.childrenOf(root).map((page) => isIndexAt(pages, page))[0] ?? null
  const rows: (readonly Value[])[] = []
  if (isIndex === null) return { root, isIndex, rows, isEmpty: false }
  const tree = new RawTree(pages, { root, hasRowids: !isIndex })
  let cells = 0
  for (const { number, bytes, page } of tree.rowPages()) {
    for (const cell of page.cells.slice(0, ROWS - rows.length)) {
      const values = rowAt(pages, number, { bytes, page, cell })?.values() ?? null
      if (values !== null) rows.push(values)
    }
    cells += page.cells.length
    if (rows.length >= ROWS) break
  }
  return { root, isIndex, rows, isEmpty: tree.isWhole && cells === 0 }
}

function isIndexAt(pages: RawPages, number: number): boolean | null {
  const page = pages.read(number)
  return page === null || page.isRight === false ? null : (parseBtreePage(page.bytes, number)?.isIndex ?? null)
}

interface Shape {
  readonly isIndex: boolean
  /** True if rows must have all columns; rows of tables may be older than the last columns. */
  readonly isExact: boolean
  readonly columns: readonly Column[]
}

interface Column {
  readonly type: string
  readonly notnull: number
}

const ROWID: Column = { type: 'INTEGER', notnull: 1 }
/** Stored value of a column that is the rowid. */
const NOTHING: Column = { type: 'NULL', notnull: 0 }

function shapeOf(template: Connection, { type, name, table }: SchemaEntry): Shape {
  const columns = template.all<Column & { name: string }>(
    'SELECT name, type, "notnull" FROM pragma_table_info(?) ORDER BY cid',
    table,
  )
  if (type === 'index') {
    const indexed = template.all<{ name: string | null }>('SELECT name FROM pragma_index_xinfo(?) ORDER BY seqno', name)
    const columnOf = (wanted: string | null) => columns.find((column) => column.name === wanted) ?? ROWID
    return { isIndex: true, isExact: true, columns: indexed.map((one) => columnOf(one.name)) }
  }
  const { hasRowids, places } = layoutOf(template, table)
  const stored: Column[] = []
  columns.forEach((column, i) => {
    const place = places[i] ?? null
    stored[place ?? i] = place === null ? NOTHING : column
  })
  return { isIndex: !hasRowids, isExact: false, columns: stored }
}

function fits({ isIndex, rows }: Tree, shape: Shape | undefined): boolean {
  if (shape === undefined || (isIndex !== null && isIndex !== shape.isIndex)) return false
  return rows.every(
    (row) =>
      row.length <= shape.columns.length &&
      (row.length === shape.columns.length || !shape.isExact) &&
      row.every((value, i) => isOfColumn(value, shape.columns[i])),
  )
}

function isOfColumn(value: Value, column: Column | undefined): boolean {
  if (column === undefined) return false
  if (value === null) return column.notnull === 0
  if (column.type === 'ANY' || column.type === '') return true
  return column.type === typeOf(value)
}

function typeOf(value: Exclude<Value, null>): string {
  if (typeof value === 'string') return 'TEXT'
  if (typeof value === 'bigint') return 'INTEGER'
  return value instanceof Uint8Array ? 'BLOB' : 'REAL'
}
