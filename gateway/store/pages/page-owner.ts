import type { Connection } from '../db/connection.ts'

// Each page of an auto_vacuum database except the first has an entry in a pointer map:
// https://sqlite.org/fileformat2.html#pointer_map_or_ptrmap_pages

const ENTRY_BYTES = 5
const ROOT_PAGE = 1
const FREE_PAGE = 2
/** Offset of the header field on the first page that shows whether a database has pointer maps. */
const HAS_MAPS_AT = 52
/** Offset of a byte whose page SQLite does not use. */
const LOCK_BYTE = 0x4000_0000
/** Limit of the steps, more than the pages of any row, because the maps may be damaged. */
const MAX_STEPS = 100_000

/**
 * Returns the table that a page of the file belongs to, directly or as part of an index; `sqlite_schema` for the
 * schema. Null for free pages and map pages, and if the file does not show it. Needs the extension of `PageSums`.
 */
export function ownerOfPage(connection: Connection, page: number): string | null {
  const first = contentOf(connection, 1)
  if (first === null || first.readUInt32BE(HAS_MAPS_AT) === 0) return null
  const root = rootOf(connection, page)
  if (root === 1) return 'sqlite_schema'
  const row = connection.get<{ name: string }>('SELECT tbl_name AS name FROM sqlite_schema WHERE rootpage = ?', root)
  return row?.name ?? null
}

function rootOf(connection: Connection, page: number): number | null {
  let at = page
  for (let step = 0; step < MAX_STEPS; step++) {
    if (at === 1) return 1
    const entry = mapEntry(connection, at)
    if (entry === null || entry.kind === FREE_PAGE) return null
    if (entry.kind === ROOT_PAGE) return at
    at = entry.parent
  }
  return null
}

function mapEntry(connection: Connection, page: number): { kind: number; parent: number } | null {
  const pageBytes = Number(connection.db.pragma('page_size', { simple: true }))
  const covered = Math.floor(pageBytes / ENTRY_BYTES)
  const begin = Math.floor((page - 2) / (covered + 1)) * (covered + 1) + 2
  const map = begin === Math.floor(LOCK_BYTE / pageBytes) + 1 ? begin + 1 : begin
  const at = (page - map - 1) * ENTRY_BYTES
  const content = contentOf(connection, map)
  if (content === null || at < 0 || at + ENTRY_BYTES > content.length) return null
  return { kind: content[at] ?? 0, parent: content.readUInt32BE(at + 1) }
}

function contentOf(connection: Connection, page: number): Buffer | null {
  return connection.get<{ content: Buffer | null }>('SELECT page_content(?) AS content', page)?.content ?? null
}
