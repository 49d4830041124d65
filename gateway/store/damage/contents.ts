import { typedCommand } from '#shared/typed-command.ts'
import type { Connection } from '../db/connection.ts'
import { asideName } from '../db/set-aside.ts'
import type { Mended } from './mend.ts'
import { type JsonColumn, TABLES } from './tables.ts'

/**
 * Puts those rows aside whose content a start would parse and cannot, as after a flipped bit, and leaves in their place
 * what `TABLES` says. Says what was found.
 */
export function putUnparseableAside(writing: Connection): Mended[] {
  return Object.entries(TABLES).flatMap(([table, { json = [] }]) =>
    json.flatMap((column) => putAside(writing, table, column)),
  )
}

/** The condition of rows whose column is not the JSON it must be. */
export function isNotJson({ column, type, where = 'true' }: JsonColumn): string {
  return `${where} AND ${column} IS NOT NULL AND iif(json_valid(${column}), json_type(${column}), '') <> '${type}'`
}

function putAside(writing: Connection, table: string, json: JsonColumn): Mended[] {
  const { column, cure } = json
  const condition = isNotJson(json)
  if (writing.get(`SELECT 1 FROM ${table} WHERE ${condition} LIMIT 1`) === undefined) return []
  const aside = asideName(writing, table)
  const rows = writing.db
    .transaction(() => {
      writing.db.exec(`CREATE TABLE ${aside} AS SELECT * FROM ${table} WHERE ${condition}`)
      const change = cure === 'delete' ? `DELETE FROM ${table}` : `UPDATE ${table} SET ${cure.set}`
      return writing.run(`${change} WHERE ${condition}`)
    })
    .immediate()
  const { what, meaning } = TABLES[table] ?? { what: table, meaning: '' }
  const found = `What is in ${column} of ${rows} ${rows === 1 ? 'row' : 'rows'} cannot be read and was put aside.`
  const detail = `Table ${table} (${what}): ${found} ${meaning} Check the disk, and run ${typedCommand('repair')} when the gateway can be stopped.`
  return [{ place: table, outcome: 'set_aside', detail }]
}
