import type { BackupManifest } from '#shared/wire/backups.ts'
import { quoted } from '../damage/repair/table-reader.ts'
import type { Connection } from '../db/connection.ts'
import { APPLICATION_ID } from '../db/open-mark.ts'
import { BackupFault } from './backup-fault.ts'
import type { BackupSet } from './backup-set.ts'
import { countRows } from './database-marks.ts'
import { decodeRows } from './row-codec.ts'

/**
 * Makes the tables of a backup in a new database, with all their rows. Every part is checked on the way, and what came of
 * them at the end. Throws `BackupFault` when anything is not as it was backed up.
 */
export async function fillDatabase(
  to: Connection,
  set: BackupSet,
  manifest: BackupManifest,
  onPart: (done: number, all: number) => void,
): Promise<void> {
  const { db } = to
  const made = (isFirst: boolean) =>
    manifest.statements.filter(({ type }) => (type === 'table') === isFirst).map(({ sql }) => sql)
  for (const sql of made(true)) db.exec(sql)
  const all = manifest.tables.reduce((sum, { chunks }) => sum + chunks.length, 0)
  let done = 0
  for (const { name, columns, chunks } of manifest.tables) {
    // inserting rows with numbers has entered them already
    if (name === 'sqlite_sequence') to.run('DELETE FROM sqlite_sequence')
    const places = columns.map(() => '?').join(', ')
    const insert = to.statement(
      `INSERT INTO ${quoted(name)} (${columns.map(quoted).join(', ')}) VALUES (${places})`,
    )
    for (const { id, rows } of chunks) {
      const bytes = await set.readBlob(id)
      const added = db.transaction(() => {
        let count = 0
        for (const values of decodeRows(bytes, columns.length)) {
          insert.run(...values)
          count++
        }
        return count
      })()
      if (added !== rows) throw new BackupFault(`${name}: the backup has ${added} rows where it says ${rows}`)
      onPart(++done, all)
    }
  }
  // indexes once the rows are there, and triggers last: each would make rows of its own
  for (const sql of made(false)) db.exec(sql)
  db.pragma(`user_version = ${manifest.schema}`)
  db.pragma(`application_id = ${APPLICATION_ID}`)
  requireWhole(to, manifest)
}

function requireWhole(to: Connection, { tables }: BackupManifest): void {
  for (const { name, rows } of tables) {
    const found = countRows(to, name)
    if (found !== rows) throw new BackupFault(`${name}: ${found} of ${rows} rows came back`)
  }
  const problem = to
    .all<{ integrity_check: string }>('PRAGMA integrity_check')
    .map((row) => row.integrity_check)
    .find((text) => text !== 'ok')
  if (problem !== undefined) throw new BackupFault(`the database of the backup is not in order: ${problem}`)
}
