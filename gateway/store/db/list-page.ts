import type { Registration } from '#shared/registrations.ts'
import type { ListOrder } from '#shared/wire/schema/params.ts'
import { asFields, type Connection } from './connection.ts'

/** Which part of a list is wanted. */
export interface ListPage {
  order: ListOrder
  /** Only what is older than the row with this id. */
  before?: string | undefined
  limit: number
  offset: number
  /** The devices the caller may see; undefined is all. */
  visibleHardwareIds?: readonly string[] | undefined
}

/** A table whose rows are of devices and are listed in the order of their places. */
export interface ListedTable {
  table: string
  /** The column that `ListPage.before` names a row by. */
  id: string
  /** Columns that put the rows into one order; no two rows agree in all of them. */
  place: readonly string[]
  /** What is read of each row, as SQL. */
  columns: string
}

type Value = string | number

/** SQL with a `?` for each value; a condition with a value that is undefined does not apply. */
export type ListCondition = readonly [sql: string, ...values: (Value | undefined)[]]

/** Lets through what `isOfRegistration` says is of it. */
export function byRegistration(registration: Registration | undefined): ListCondition {
  return ['ifnull(short_id = ?, at_ms >= ?)', registration?.shortId, registration?.sinceMs]
}

/**
 * A page of a table; null when there is no row `before` that the caller may see. What is skipped is skipped in an index
 * where one has all that the conditions ask for: only the rows of the page are read.
 */
export function listPage<Row>(
  connection: Connection,
  listed: ListedTable,
  conditions: readonly ListCondition[],
  page: ListPage,
): Row[] | null {
  const { table, place, columns } = listed
  const behind = page.before === undefined ? [] : placeBehind(connection, listed, page, page.before)
  if (behind === null) return null
  const all: ListCondition[] = [...conditions, ofVisible(page.visibleHardwareIds), ...behind]
  const used = all.filter(([, ...values]) => values.every((value) => value !== undefined))
  const where = used.length === 0 ? '' : `WHERE ${used.map(([sql]) => sql).join(' AND ')}`
  const orderBy = `ORDER BY ${place.map((column) => `${column} ${page.order}`).join(', ')}`
  return connection.all<Row>(
    `SELECT ${asFields(columns)} FROM ${table}
     WHERE seq IN (SELECT seq FROM ${table} ${where} ${orderBy} LIMIT ? OFFSET ?) ${orderBy}`,
    ...used.flatMap(([, ...values]) => values.filter((value) => value !== undefined)),
    page.limit,
    page.offset,
  )
}

function ofVisible(hardwareIds: readonly string[] | undefined): ListCondition {
  if (hardwareIds?.length === 1) return ['hardware_id = ?', hardwareIds[0]]
  // with the + SQLite reads in the order of time and stops early, rather than sort all that these devices ever did
  return ['+hardware_id IN (SELECT value FROM json_each(?))', hardwareIds && JSON.stringify(hardwareIds)]
}

function placeBehind(
  connection: Connection,
  { table, id, place }: ListedTable,
  { visibleHardwareIds }: ListPage,
  before: string,
): ListCondition[] | null {
  const columns = place.join(', ')
  const found = connection.get<Record<string, Value>>(
    `SELECT hardware_id, ${columns} FROM ${table} WHERE ${id} = ?`,
    before,
  )
  if (found === undefined) return null
  const { hardwareId, ...at } = found
  if (visibleHardwareIds !== undefined && !visibleHardwareIds.includes(String(hardwareId))) return null
  return [[`(${columns}) < (${place.map(() => '?').join(', ')})`, ...Object.values(at)]]
}
