import type { Registration } from '#shared/registrations.ts'
import type { ListOrder } from '#shared/wire/schema/params.ts'
import { asFields, type Connection } from './connection.ts'

export interface ListPage {
  order: ListOrder
  /** Returns only rows older than the row with this id. */
  before?: string | undefined
  limit: number
  offset: number
  /** Devices that the caller may see; undefined for all. */
  visibleHardwareIds?: readonly string[] | undefined
}

/** Table whose rows belong to devices and are listed in the order of `place`. */
export interface ListedTable {
  table: string
  /** Column that `ListPage.before` refers to. */
  id: string
  /** Columns of a total order; no two rows agree in all of them. */
  place: readonly string[]
  /** Selected columns, as SQL. */
  columns: string
}

type Value = string | number

/** SQL with a `?` for each value; a condition with an undefined value does not apply. */
export type ListCondition = readonly [sql: string, ...values: (Value | undefined)[]]

/** Selects the rows that `isOfRegistration` accepts. */
export function byRegistration(registration: Registration | undefined): ListCondition {
  return ['ifnull(short_id = ?, at_ms >= ?)', registration?.shortId, registration?.sinceMs]
}

/** Page of a table; null if the caller may see no row `before`. Skips rows in an index if one covers all conditions. */
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
  // with the + SQLite reads in the order of time and stops early, instead of sorting all rows of these devices
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
