import Database from 'better-sqlite3'

/** Tables that devices, a restore and the gateway itself change after the moment of a backup. */
const GOES_ON = [
  'telemetry_log',
  'telemetry_log_end',
  'device_state',
  'sqlite_sequence',
  'audit_entry',
  'sync_identity',
  'sync_cursor',
  'clock_mark',
  'note',
  'user',
  'state_change',
  'cart_motion',
  'mqtt_retained',
  'mqtt_will',
  'mqtt_session',
  'alert',
  'block_log',
  'change_log',
]

/** Counts rows of a restored database that its original lacks, except in tables that change afterwards. */
export function compareDatabases(
  original: string,
  restored: string,
): { rows: number; differ: number; tables: string[] } {
  const db = new Database(restored, { readonly: true })
  try {
    db.prepare('ATTACH ? AS original').run(original)
    const tables = db
      .prepare<[], string>(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name",
      )
      .pluck()
      .all()
      .filter((name) => !GOES_ON.includes(name))
    let [rows, differ] = [0, 0]
    const others: string[] = []
    for (const table of tables) {
      rows += count(db, `SELECT count(*) FROM main."${table}"`)
      const found = count(
        db,
        `SELECT count(*) FROM main."${table}" r
           WHERE NOT EXISTS (SELECT 1 FROM original."${table}" o WHERE ${sameRow(db, table)})`,
      )
      differ += found
      if (found > 0) others.push(`${table}: ${found}`)
    }
    return { rows, differ, tables: others }
  } finally {
    db.close()
  }
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
