import { type RecoveredRows, TableCopy, type Unreadable } from '../damage/recover-table.ts'
import { areAdjacentKeys, type Bounds, type Key, order } from '../damage/recovery-keys.ts'
import type { KeyedRow } from '../damage/table-reader.ts'
import type { Connection, Value } from '../db/connection.ts'
import type { RawPages } from './raw-pages.ts'
import { parseBtreePage, type RawRow, rowAt } from './raw-rows.ts'
import { RawTree, type RowPage } from './raw-tree.ts'

/** Positions of the columns of a table in a stored row. */
export interface Layout {
  readonly hasRowids: boolean
  /** Number of columns at the beginning of a stored row that form its key; 0 in a table with rowids. */
  readonly keyLength: number
  /** Position of each column; null for the column that is the rowid. */
  readonly places: readonly (number | null)[]
  /** Value of each column in rows that are older than the column. */
  readonly defaults: readonly Value[]
}

export function layoutOf({ db }: Connection, table: string): Layout {
  const columns = db
    .prepare<[string], { type: string; pk: number; standard: string | null }>(
      'SELECT type, pk, dflt_value AS standard FROM pragma_table_info(?) ORDER BY cid',
    )
    .all(table)
  const list = "SELECT wr FROM pragma_table_list(?) WHERE schema = 'main'"
  const hasRowids = db.prepare<[string], number>(list).pluck().get(table) !== 1
  const keys = columns.filter(({ pk }) => pk > 0).sort((a, b) => a.pk - b.pk)
  const alias = hasRowids && keys.length === 1 && keys[0]?.type === 'INTEGER' ? keys[0] : null
  const stored = hasRowids ? columns : [...keys, ...columns.filter(({ pk }) => pk === 0)]
  return {
    hasRowids,
    keyLength: hasRowids ? 0 : keys.length,
    places: columns.map((column) => (column === alias ? null : stored.indexOf(column))),
    defaults: columns.map(({ standard }) =>
      standard === null ? null : (db.prepare<[], Value>(`SELECT ${standard}`).pluck().get() ?? null),
    ),
  }
}

/** Adjacent rows on one page, in one gap. */
interface Run {
  readonly page: number
  readonly rows: readonly { readonly cell: number; readonly key: Key }[]
}

export interface RecoveredSubtree {
  /** Root page of the table in the damaged database. */
  readonly root: number
  /** True if rows on pages with a wrong checksum count. */
  readonly takesWrong: boolean
  readonly isWanted?: (key: Key) => boolean
}

/**
 * Copies rows that SQLite could not reach because a page above is damaged; the pointer map leads to the table's pages.
 * Only rows within a gap of `recovered` are copied. A gap is closed if it cannot have contained other rows.
 */
export function recoverSubtree(
  pages: RawPages,
  to: Connection,
  recovered: RecoveredRows,
  { root, takesWrong, isWanted = () => true }: RecoveredSubtree,
): RecoveredRows {
  const gaps = recovered.unreadable.filter((one) => 'before' in one)
  const layout = layoutOf(to, recovered.table)
  const tree = new RawTree(pages, { root, hasRowids: layout.hasRowids, takesWrong })
  const copy = new TableCopy(to, recovered.table, isWanted)
  const found = new FoundRuns(pages, layout, gaps)
  for (const page of tree.rowPages()) found.add(page)
  const runs = new Map(gaps.map((gap) => [gap, found.of(gap)]))
  const isWhole = tree.isWhole && found.areSure
  // returns the keys of unreadable rows
  const copyRun = (run: Run): Key[] => {
    const rows = readRun(pages, run, layout)
    copy.insert(rows.flatMap((row) => ('values' in row ? [row] : [])))
    return rows.flatMap((row) => ('values' in row ? [] : [row.key]))
  }
  const left = recovered.unreadable.flatMap((one) =>
    'key' in one ? [one] : fill(one, { runs: runs.get(one) ?? [], isWhole, copyRun }),
  )
  const unreadable = left.filter((one) => !('key' in one) || isWanted(one.key))
  const refused = [...recovered.refused, ...copy.refused]
  return {
    table: recovered.table,
    rows: recovered.rows + copy.rows,
    unreadable,
    refused,
    isComplete: unreadable.length + refused.length === 0,
  }
}

/** Fills a gap with the rows that were found; returns what remains unreadable. */
function fill(
  gap: Bounds,
  { runs, isWhole, copyRun }: { runs: readonly Run[]; isWhole: boolean; copyRun: (run: Run) => Key[] },
): Unreadable[] {
  const left: Unreadable[] = []
  const leave = (bounds: Bounds) => {
    if (!isWhole && !areAdjacentKeys(bounds)) left.push(bounds)
  }
  let rest = gap
  for (const run of runs) {
    leave({ ...rest, before: firstOf(run) })
    left.push(...copyRun(run).map((key) => ({ key })))
    rest = { after: lastOf(run), before: gap.before }
  }
  leave(rest)
  return left
}

class FoundRuns {
  /** False if a cell was found that cannot be an intact row of this table; it is skipped. */
  areSure = true
  readonly #pages: RawPages
  readonly #layout: Layout
  readonly #gaps: readonly Bounds[]
  readonly #runs = new Map<Bounds, Run[]>()

  constructor(pages: RawPages, layout: Layout, gaps: readonly Bounds[]) {
    this.#pages = pages
    this.#layout = layout
    this.#gaps = gaps
  }

  add({ number, bytes, page }: RowPage): void {
    const rows = page.cells.map((cell) => {
      const row = rowAt(this.#pages, number, { bytes, page, cell })
      return { cell, key: row === null ? null : keyOf(row, this.#layout) }
    })
    const known = rows.flatMap(({ cell, key }) => (key === null ? [] : [{ cell, key }]))
    if (known.length < rows.length) this.areSure = false
    // on an inner page, rows of its children lie between its own
    const runs = page.isLeaf ? [known] : known.map((row) => [row])
    if (known.every(({ key }, i) => i === 0 || order(known[i - 1]?.key ?? [], key) < 0))
      for (const run of runs) this.#addRun(number, run)
    else this.areSure = false
  }

  /** Returns the runs in a gap, in the order of their keys. */
  of(gap: Bounds): Run[] {
    const runs = (this.#runs.get(gap) ?? []).sort((a, b) => order(firstOf(a), firstOf(b)))
    const isApart = (a: Run | undefined, b: Run | undefined) =>
      a === undefined || b === undefined || order(lastOf(a), firstOf(b)) < 0
    const apart = runs.filter((run, i) => isApart(runs[i - 1], run) && isApart(run, runs[i + 1]))
    if (apart.length < runs.length) this.areSure = false
    return apart
  }

  #addRun(page: number, rows: Run['rows']): void {
    for (const gap of this.#gaps) {
      const inside = rows.filter(({ key }) => isInside(gap, key))
      if (inside.length === 0) continue
      const runs = this.#runs.get(gap) ?? []
      runs.push({ page, rows: inside })
      this.#runs.set(gap, runs)
    }
  }
}

function isInside({ after, before }: Bounds, key: Key): boolean {
  return (after === null || order(after, key) < 0) && (before === null || order(key, before) < 0)
}

function firstOf({ rows }: Run): Key {
  return rows[0]?.key ?? []
}

function lastOf({ rows }: Run): Key {
  return rows.at(-1)?.key ?? []
}

function keyOf(row: RawRow, { keyLength }: Layout): Key | null {
  if (row.rowid !== null) return [row.rowid]
  const values = row.values()
  return values === null || values.length < keyLength ? null : values.slice(0, keyLength)
}

function readRun(pages: RawPages, { page: number, rows }: Run, layout: Layout): (KeyedRow | { key: Key })[] {
  const bytes = pages.read(number)?.bytes ?? Buffer.alloc(0)
  const page = bytes.length === 0 ? null : parseBtreePage(bytes, number)
  return rows.map(({ cell, key }) => {
    const row = page === null ? null : rowAt(pages, number, { bytes, page, cell })
    const values = row === null ? null : columnValues(row, layout)
    return values === null ? { key } : { key, values }
  })
}

/** Returns the values in the order of the columns; null if they do not fit this table. */
function columnValues(row: RawRow, { places, defaults }: Layout): Value[] | null {
  const stored = row.values()
  if (stored === null || stored.length > places.length) return null
  return places.map((place, column) => {
    if (place === null) return row.rowid
    return (place < stored.length ? stored[place] : defaults[column]) ?? null
  })
}
