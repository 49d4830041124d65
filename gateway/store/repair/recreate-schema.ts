import { readFileSync, rmSync } from 'node:fs'
import Database from 'better-sqlite3'
import { addSpareRoots, isSpareRoot } from '../damage/spare-roots.ts'
import type { Connection, Value } from '../db/connection.ts'
import { isDetached } from '../db/detached.ts'
import { withTemplate } from '../template.ts'
import { appendTransaction } from './committed-log.ts'
import { matchRoots, type SchemaEntry, unknownRootPages } from './match-roots.ts'
import { PAGE_BYTES, type RawPages } from './raw-pages.ts'
import { parseBtreePage, rowAt } from './raw-rows.ts'
import { RawTree } from './raw-tree.ts'

export interface RecreatedSchema {
  /** Number of tables and indexes that could be read from the old schema. */
  readonly known: number
  /** Names of those whose pages were found. */
  readonly found: readonly string[]
  /** Names of tables whose pages are unknown. */
  readonly lost: readonly string[]
}

const MAGIC = 'SQLite format 3\0'
/** Offsets of header fields of a database: https://sqlite.org/fileformat2.html#the_database_header. */
const HEADER = { writeFormat: 18, readFormat: 19, pageCount: 28, schemaFormat: 44, encoding: 56, version: 60 }
const WITH_LOG = 2
const RIGHT_CHILD_AT = 108

/**
 * Recreates the schema (`sqlite_schema`) if SQLite cannot read it, from its undamaged pages and the schema that the
 * migrations create. Appends the result to the log of the database at `path`, as if it had been committed; the file is
 * not changed. `scratch` is the path of a temporary file. Null if the version of the schema cannot be found.
 */
export function recreateSchema(pages: RawPages, path: string, scratch: string): RecreatedSchema | null {
  if (!pages.isOurForm) return null
  const tree = new RawTree(pages, { root: 1, hasRowids: true })
  const known = knownEntries(pages, tree)
  const version = versionOf(pages, known, tree.isWhole)
  if (version === null) return null
  return withTemplate(version, (template) => {
    const missing = tree.isWhole ? [] : missingOf(pages, template, known)
    const matched = matchRoots(pages, { template, known, missing, expected: entriesOf(template) })
    const lost = missing.filter((entry) => entry.type === 'table' && !matched.has(entry))
    // leads to a page that belongs to no table, so that all rows are reported as unreadable
    const nowhere = lost.map((entry) => ({ ...entry, root: nowhereOf(pages) }))
    const found = [...matched].map(([entry, root]) => ({ ...entry, root }))
    appendSchema(pages, path, schemaFile(scratch, [...known, ...found, ...nowhere], version))
    rmSync(scratch, { force: true })
    return { known: known.length, found: found.map(({ name }) => name), lost: lost.map(({ name }) => name) }
  })
}

function nowhereOf({ count }: RawPages): number {
  return count + 1
}

function knownEntries(pages: RawPages, tree: RawTree): SchemaEntry[] {
  const entries = [...tree.rowPages()].flatMap(({ number, bytes, page }) =>
    page.cells.flatMap((cell) => {
      const values = rowAt(pages, number, { bytes, page, cell })?.values() ?? null
      return values === null ? [] : entryOf(values)
    }),
  )
  return entries.filter(({ root }) => pages.map.allows(root, 'root', 0))
}

function entryOf([type = null, name = null, table = null, root = null, sql = null]: readonly Value[]): SchemaEntry[] {
  if (typeof name !== 'string' || typeof table !== 'string' || typeof root !== 'bigint' || root === 0n) return []
  if (type !== 'table' && type !== 'index') return []
  return [{ type, name, table, root: Number(root), sql: typeof sql === 'string' ? sql : null }]
}

/**
 * Returns the version of the schema: the one on the first page if that is correct, else the only version with exactly
 * these tables, or of several the only one for which all other tables and indexes are found and no page is left.
 */
function versionOf(pages: RawPages, known: readonly SchemaEntry[], isWhole: boolean): number | null {
  const newest = withTemplate(Number.POSITIVE_INFINITY, (template) => versionIn(template))
  const candidates = Array.from({ length: newest }, (_, i) => i + 1).filter((version) =>
    withTemplate(version, (template) => isOfVersion(template, known, isWhole)),
  )
  const first = pages.read(1)
  const isReadable = first?.bytes.toString('latin1', 0, MAGIC.length) === MAGIC && first.isRight !== false
  const recorded = isReadable ? first.bytes.readUInt32BE(HEADER.version) : null
  if (recorded !== null) return candidates.includes(recorded) ? recorded : null
  if (candidates.length === 1) return candidates[0] ?? null
  const placed = candidates.filter((version) => withTemplate(version, (template) => placesAll(pages, template, known)))
  return placed.length === 1 ? (placed[0] ?? null) : null
}

function placesAll(pages: RawPages, template: Connection, known: readonly SchemaEntry[]): boolean {
  const missing = missingOf(pages, template, known)
  // without known entries, nothing confirms that tables are where the migrations place them
  if (known.length === 0 || unknownRootPages(pages, known).length !== missing.length) return false
  return matchRoots(pages, { template, known, missing, expected: entriesOf(template) }).size === missing.length
}

function missingOf(pages: RawPages, template: Connection, known: readonly SchemaEntry[]): SchemaEntry[] {
  const names = new Set(known.map(({ name }) => name))
  const missing = () => entriesOf(template).filter(({ name }) => !names.has(name))
  // a start creates spare indexes after the migrations
  const hasSpares = known.some(({ name }) => isSpareRoot(name))
  if (hasSpares || unknownRootPages(pages, known).length > missing().length) addSpareRoots(template)
  return missing()
}

function isOfVersion(template: Connection, known: readonly SchemaEntry[], isWhole: boolean): boolean {
  const ours = known.filter(({ type, name }) => type === 'table' && !isDetached(name))
  const tables = entriesOf(template).filter(({ type }) => type === 'table')
  const isSame = (a: SchemaEntry) => tables.some((b) => a.name === b.name && a.sql === b.sql)
  return ours.every(isSame) && (!isWhole || ours.length === tables.length)
}

function versionIn({ db }: Connection): number {
  return Number(db.pragma('user_version', { simple: true }))
}

function entriesOf(template: Connection): SchemaEntry[] {
  return template.all<SchemaEntry>(
    `SELECT type, name, tbl_name AS "table", rootpage AS root, sql FROM sqlite_schema
     WHERE type IN ('table', 'index') ORDER BY rowid`,
  )
}

/** Returns the pages of a database with only these entries in its schema. */
function schemaFile(path: string, entries: readonly SchemaEntry[], version: number): Buffer[] {
  rmSync(path, { force: true })
  const db = new Database(path)
  try {
    db.pragma('auto_vacuum = INCREMENTAL')
    db.pragma(`user_version = ${version}`)
    db.unsafeMode(true)
    db.pragma('writable_schema = ON')
    const insert = db.prepare('INSERT INTO sqlite_schema (type, name, tbl_name, rootpage, sql) VALUES (?, ?, ?, ?, ?)')
    // tables first, because SQLite searches the table of an index
    for (const wanted of ['table', 'index'])
      for (const { type, name, table, root, sql } of entries)
        if (type === wanted) insert.run(type, name, table, root, sql)
  } finally {
    db.close()
  }
  const bytes = readFileSync(path)
  return Array.from({ length: bytes.length / PAGE_BYTES }, (_, i) =>
    bytes.subarray(i * PAGE_BYTES, (i + 1) * PAGE_BYTES),
  )
}

/** Replaces the first page with the first of these, and appends its children after the last page of the database. */
function appendSchema(pages: RawPages, path: string, [first, , ...leaves]: readonly Buffer[]): void {
  const page = first === undefined ? null : parseBtreePage(first, 1)
  if (first === undefined || page === null) throw new Error('SQLite made no schema')
  // the first page after the database stays reserved for entries without pages
  const nowhere = nowhereOf(pages)
  const behind = nowhere - 2
  const childrenAt = page.isLeaf ? [] : [...page.cells, RIGHT_CHILD_AT]
  for (const at of childrenAt) first.writeUInt32BE(first.readUInt32BE(at) + behind, at)
  const pageCount = nowhere + leaves.length
  first[HEADER.writeFormat] = WITH_LOG
  first[HEADER.readFormat] = WITH_LOG
  first.writeUInt32BE(pageCount, HEADER.pageCount)
  first.writeUInt32BE(4, HEADER.schemaFormat)
  first.writeUInt32BE(1, HEADER.encoding)
  const added = new Map([
    [1, first],
    [nowhere, Buffer.alloc(PAGE_BYTES)],
  ])
  for (const [i, leaf] of leaves.entries()) added.set(nowhere + 1 + i, leaf)
  appendTransaction(`${path}-wal`, added, pageCount, PAGE_BYTES)
}
