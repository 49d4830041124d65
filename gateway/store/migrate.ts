import { programFolder, readProgramFile } from '#shared/program-files.ts'
import { systemClock } from '#shared/time.ts'
import { programVersion } from '#shared/version.ts'
import type { Connection } from './db/connection.ts'
import { sealRowTables } from './telemetry/row-tables.ts'

const MIGRATIONS = 'gateway/store/db/migrations'
/** Migration steps that SQL alone cannot do; run right after the file of that name. */
const AFTER_FILE: Record<string, (connection: Connection) => void> = {
  '007-telemetry-blocks.sql': sealRowTables,
}
const FILE_NAME = /^(\d{3})-[a-z0-9-]+\.sql$/
/** First schema that records which program wrote it. */
const NAMES_PROGRAM = 28

/** Upgrade step about to run: name of the migration file without its extension, and number of steps done. */
export interface MigrationStep {
  name: string
  done: number
  of: number
}

/** Schema number of this program. */
export function knownSchema(): number {
  return migrationFiles().length
}

function migrationFiles(): string[] {
  return programFolder(MIGRATIONS)
    .names()
    .filter((name) => FILE_NAME.test(name))
}

/** Migrates to the schema of this program or an older one, in one transaction. Throws for a newer program's file. */
export function migrate(
  connection: Connection,
  schema = Number.POSITIVE_INFINITY,
  onStep: (step: MigrationStep) => void = () => undefined,
): void {
  const { db } = connection
  const current = Number(db.pragma('user_version', { simple: true }))
  const files = migrationFiles()
  if (current > files.length)
    throw new Error(newerDatabase(current, files.length, schemaWriter(connection)?.program ?? null))
  const wanted = Math.min(schema, files.length)
  if (current >= wanted) return
  db.transaction(() => {
    for (const [done, name] of files.slice(current, wanted).entries()) {
      onStep({ name: name.replace(/\.sql$/, ''), done, of: wanted - current })
      db.exec(readProgramFile(`${MIGRATIONS}/${name}`).toString())
      AFTER_FILE[name]?.(connection)
    }
    db.pragma(`user_version = ${wanted}`)
    noteProgram(connection, current + 1, wanted)
  }).exclusive()
}

/** Program version that migrated the database to its schema, and when; null if not recorded. */
export function schemaWriter(connection: Connection): { program: string; atMs: number } | null {
  if (connection.get("SELECT 1 FROM sqlite_schema WHERE name = 'migration'") === undefined) return null
  const newest = connection.get<{ program: string; atMs: number }>(
    'SELECT program, at_ms FROM migration ORDER BY schema DESC LIMIT 1',
  )
  return newest ?? null
}

/** Error text for a database of a newer program: why it is refused, and what to do. */
function newerDatabase(schema: number, known: number, program: string | null): string {
  const who = program === null ? 'a newer cartbarn' : `cartbarn ${program}`
  const wanted = program === null ? 'a newer cartbarn' : `cartbarn ${program} or a newer one`
  return (
    `the database was written by ${who} (schema ${schema}), and this is cartbarn ${programVersion()}, which supports ` +
    `schemas up to ${known}: install ${wanted}, or restore the backup made before that upgrade`
  )
}

function noteProgram(connection: Connection, from: number, to: number): void {
  if (to < NAMES_PROGRAM) return
  for (let schema = Math.max(from, NAMES_PROGRAM); schema <= to; schema++)
    connection.run(
      'INSERT OR REPLACE INTO migration (schema, program, at_ms) VALUES (?, ?, ?)',
      schema,
      programVersion(),
      systemClock.nowMs(),
    )
}
