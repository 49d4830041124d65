import { typedCommand } from '#shared/typed-command.ts'
import type { Connection } from '../db/connection.ts'
import { detachedName } from '../db/detached.ts'
import type { CheckedJson, Table } from '../db/table.ts'
import { TABLES } from '../tables/all.ts'
import type { TableRepair } from './table-repair.ts'

/** Quarantines and replaces content that the start cannot parse, as the table declares, e.g. after a flipped bit. */
export function quarantineUnparseable(writing: Connection): TableRepair[] {
  return [...TABLES.values()].flatMap((table) =>
    checkedJson(table).flatMap(([column, json]) => detachRows(writing, table, column, json)),
  )
}

/** Returns the columns of a table that the start parses. */
export function checkedJson({ json = {} }: Table): [column: string, json: CheckedJson][] {
  return Object.entries(json).flatMap(([column, one]) => (one === null ? [] : [[column, one]]))
}

/** Returns the SQL condition for rows in which the column is not the required JSON. */
export function isNotJson(column: string, { type, where = 'true' }: CheckedJson): string {
  return `${where} AND ${column} IS NOT NULL AND iif(json_valid(${column}), json_type(${column}), '') <> '${type}'`
}

/** Returns the statement that replaces the content of such rows as the declaration of their table specifies. */
export function cureOf(table: string, column: string, { cure }: CheckedJson): string {
  if (cure === 'delete') return `DELETE FROM ${table}`
  return `UPDATE ${table} SET ${cure === 'null' ? `${column} = NULL` : cure.set}`
}

function detachRows(
  writing: Connection,
  { name: table, care }: Table,
  column: string,
  json: CheckedJson,
): TableRepair[] {
  const condition = isNotJson(column, json)
  if (writing.get(`SELECT 1 FROM ${table} WHERE ${condition} LIMIT 1`) === undefined) return []
  const detached = detachedName(writing, table)
  const rows = writing.db
    .transaction(() => {
      writing.db.exec(`CREATE TABLE ${detached} AS SELECT * FROM ${table} WHERE ${condition}`)
      return writing.run(`${cureOf(table, column, json)} WHERE ${condition}`)
    })
    .immediate()
  const { what, meaning } = care
  const found = `Column ${column} of ${rows} ${rows === 1 ? 'row' : 'rows'} cannot be read and was isolated.`
  const detail =
    `Table ${table} (${what}): ${found} ${meaning} Check the disk, and run ${typedCommand('repair')} when the ` +
    'gateway can be stopped.'
  return [{ place: table, outcome: 'set_aside', detail }]
}
