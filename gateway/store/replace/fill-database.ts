import type { BackupManifest, BackupTable } from '#shared/wire/backups.ts'
import { BackupFault } from '../backups/backup-fault.ts'
import type { BackupSet } from '../backups/backup-set.ts'
import { countRows } from '../backups/database-marks.ts'
import { restoredSchema } from '../backups/restored-schema.ts'
import { decodeRows } from '../backups/row-codec.ts'
import type { Connection } from '../db/connection.ts'
import { APPLICATION_ID } from '../db/open-marker.ts'
import { quoted } from '../db/table-sql.ts'
import { integrityProblems } from './new-database.ts'

/**
 * Creates the tables of a backup in a new database, with all their rows. Only rows are taken from the backup. Every
 * chunk is checked when it is read, and the number of rows at the end. Returns the tables that were left out because
 * this program does not know them. Throws `BackupFault` if anything differs from what was backed up.
 */
export async function fillDatabase(
  to: Connection,
  set: BackupSet,
  manifest: BackupManifest,
  onPart: (done: number, all: number) => void,
): Promise<readonly string[]> {
  const { db } = to
  const schema = restoredSchema(manifest)
  for (const sql of schema.tables) db.exec(sql)
  const tables = manifest.tables.filter(({ name }) => !schema.leftOut.includes(name))
  const all = tables.reduce((sum, { chunks }) => sum + chunks.length, 0)
  let done = 0
  for (const table of tables) await fillTable(to, set, table, () => onPart(++done, all))
  // indexes after the rows, and triggers last because they would create rows of their own
  for (const sql of schema.rest) db.exec(sql)
  db.pragma(`user_version = ${manifest.schema}`)
  db.pragma(`application_id = ${APPLICATION_ID}`)
  requireWhole(to, tables)
  return schema.leftOut
}

async function fillTable(
  to: Connection,
  set: BackupSet,
  { name, columns, bytes: tableBytes, chunks }: BackupTable,
  onPart: () => void,
): Promise<void> {
  // inserting numbered rows has already added entries
  if (name === 'sqlite_sequence') to.run('DELETE FROM sqlite_sequence')
  const places = columns.map(() => '?').join(', ')
  const insert = to.statement(`INSERT INTO ${quoted(name)} (${columns.map(quoted).join(', ')}) VALUES (${places})`)
  let leftBytes = tableBytes
  for (const { id, rows } of chunks) {
    const bytes = await set.readBlob(id, leftBytes)
    leftBytes -= bytes.length
    to.db.transaction(() => {
      let added = 0
      for (const values of decodeRows(bytes, columns.length)) {
        if (++added > rows) break
        insert.run(...values)
      }
      if (added !== rows) throw new BackupFault(`${name}: a chunk does not have its ${rows} rows`)
    })()
    onPart()
  }
}

function requireWhole(to: Connection, tables: readonly BackupTable[]): void {
  for (const { name, rows } of tables) {
    const found = countRows(to, name)
    if (found !== rows) throw new BackupFault(`${name}: ${found} of ${rows} rows were restored`)
  }
  const [problem] = integrityProblems(to)
  if (problem !== undefined) throw new BackupFault(`the restored database failed its integrity check: ${problem}`)
}
