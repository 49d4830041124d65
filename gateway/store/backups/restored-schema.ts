import type { BackupManifest, BackupTable } from '#shared/wire/backups.ts'
import type { Connection } from '../db/connection.ts'
import { isDetached, originOf } from '../db/detached.ts'
import { quoted } from '../db/table-sql.ts'
import { blockTables, detachBlocks } from '../telemetry/detached-blocks.ts'
import { withTemplate } from '../template.ts'
import { BackupFault } from './backup-fault.ts'
import { schemaStatements } from './database-marks.ts'
import { tableShapes } from './table-chunks.ts'

export interface RestoredSchema {
  /** SQL statements that create the tables. */
  readonly tables: readonly string[]
  /** SQL statements that create indexes, views and triggers, in order. */
  readonly rest: readonly string[]
  /** Tables of the backup that no program of this schema version creates: their rows are not restored. */
  readonly leftOut: readonly string[]
}

/**
 * Creates the schema of a backup from the migrations of this program, up to the version in the manifest. A backup may
 * have been altered, so none of its SQL is executed: names of tables and columns are only compared. Throws
 * `BackupFault` if a table is missing or has other columns.
 */
export function restoredSchema({ schema, tables }: BackupManifest): RestoredSchema {
  const fault = (words: string) => new BackupFault(`the backup is not of a database with schema ${schema}: ${words}`)
  if (new Set(tables.map(({ name }) => name)).size !== tables.length) throw fault('a table occurs twice')
  return withTemplate(schema, (template) => {
    for (const table of tables.filter(({ name }) => isDetached(name))) addDetached(template, table)
    const known = new Map(tableShapes(template).map(({ name, columns }) => [name, columns]))
    for (const { name, columns } of tables)
      if (known.has(name) && !isSame(known.get(name) ?? [], columns)) throw fault(`table ${name} has other columns`)
    const given = new Set(tables.map(({ name }) => name))
    const missing = [...known.keys()].find((name) => !given.has(name))
    if (known.size === 0 || missing !== undefined) throw fault(`table ${missing ?? 'user'} is missing`)
    const statements = schemaStatements(template)
    const sqlOf = (isTable: boolean) =>
      statements.filter(({ type }) => (type === 'table') === isTable).map(({ sql }) => sql)
    return {
      tables: sqlOf(true),
      rest: sqlOf(false),
      leftOut: [...given].filter((name) => !known.has(name)),
    }
  })
}

/** Adds a table detached because of damage: those with blocks belong to a view, all others hold rows for inspection. */
function addDetached(template: Connection, { name, columns }: BackupTable): void {
  const origin = originOf(name)
  const known = template
    .all<{ name: string }>('SELECT name FROM pragma_table_xinfo(?) ORDER BY cid', origin)
    .map((column) => column.name)
  if (columns.length === 0 || !columns.every((column) => known.includes(column))) return
  if (origin !== 'telemetry_block') {
    template.db.exec(`CREATE TABLE ${quoted(name)} (${columns.map(quoted).join(', ')})`)
    return
  }
  const hasView = template.get("SELECT 1 FROM sqlite_schema WHERE name = 'stored_block'") !== undefined
  if (hasView && !blockTables(template).includes(name)) detachBlocks(template)
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return [...a].sort().join() === [...b].sort().join()
}
