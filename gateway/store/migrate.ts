import { programFolder, readProgramFile } from '#shared/program-files.ts'
import type { Connection } from './db/connection.ts'
import { sealRowTables } from './telemetry/row-tables.ts'

const MIGRATIONS = 'gateway/store/db/migrations'
/** What SQL alone cannot do, right after the file. */
const AFTER_FILE: Record<string, (connection: Connection) => void> = {
  '007-telemetry-blocks.sql': sealRowTables,
}
const FILE_NAME = /^(\d{3})-[a-z0-9-]+\.sql$/

/** The schema of this program. */
export function latestSchema(): number {
  return migrationFiles().length
}

function migrationFiles(): string[] {
  return programFolder(MIGRATIONS)
    .names()
    .filter((name) => FILE_NAME.test(name))
}

/**
 * Brings the database to the schema of this program, or to an older one, all steps in one transaction.
 * Throws when the file was written by a newer program.
 */
export function migrate(connection: Connection, schema = Number.POSITIVE_INFINITY): void {
  const { db } = connection
  const current = Number(db.pragma('user_version', { simple: true }))
  const files = migrationFiles()
  if (current > files.length) {
    throw new Error(
      `the database has schema ${current}, this program knows ${files.length}: start a newer cartbarn`,
    )
  }
  const wanted = Math.min(schema, files.length)
  if (current >= wanted) return
  db.transaction(() => {
    for (const name of files.slice(current, wanted)) {
      db.exec(readProgramFile(`${MIGRATIONS}/${name}`).toString())
      AFTER_FILE[name]?.(connection)
    }
    db.pragma(`user_version = ${wanted}`)
  }).exclusive()
}
