import type Database from 'better-sqlite3'
import { readDatabase } from '#scripts/rig/read-database.ts'
import { printProgress } from '#scripts/rig/report.ts'

/** Tables that devices, a restore and the gateway itself change after the moment of a backup. */
const GOES_ON = `
  telemetry_log telemetry_log_end device_state state_change cart_motion block_log change_log alert
  mqtt_retained mqtt_will mqtt_session sync_identity sync_cursor sqlite_sequence audit_entry clock_mark note user
`.split(/\s+/)

/** Counts rows of a restored data folder that the original database lacks, except in tables that change afterwards. */
export function compareDatabases(original: string, restored: string): { rows: number; differ: number } {
  return readDatabase(restored, (db) => {
    db.prepare('ATTACH ? AS original').run(original)
    const select =
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name"
    const tables = db.prepare<[], string>(select).pluck().all()
    const total = { rows: 0, differ: 0 }
    for (const table of tables.filter((name) => !GOES_ON.includes(name))) {
      const others = `NOT EXISTS (SELECT 1 FROM original."${table}" o WHERE ${sameRow(db, table)})`
      const differ = count(db, `SELECT count(*) FROM main."${table}" r WHERE ${others}`)
      if (differ > 0) printProgress(`  ${table}: ${differ} rows differ`)
      total.rows += count(db, `SELECT count(*) FROM main."${table}"`)
      total.differ += differ
    }
    return total
  })
}

/** Condition that two rows are equal in each column; joined by the key, so that no row is searched for. */
function sameRow(db: Database.Database, table: string): string {
  const columns = db
    .prepare<[string], { name: string; pk: number }>('SELECT name, pk FROM pragma_table_info(?)')
    .all(table)
  return columns.map(({ name, pk }) => `o."${name}" ${pk > 0 ? '=' : 'IS'} r."${name}"`).join(' AND ')
}

function count(db: Database.Database, sql: string): number {
  return Number(db.prepare(sql).pluck().get())
}
