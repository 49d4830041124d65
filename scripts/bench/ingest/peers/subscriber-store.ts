import Database from 'better-sqlite3'
import pg from 'pg'

/** Message in the form that a subscriber stores. */
export interface Position {
  hardwareId: string
  atMs: number
  lat: number
  long: number
  speedKmh: number
  batteryV: number
  lockStatus: number
}

export type StorePlan = { kind: 'sqlite'; path: string } | { kind: 'postgres'; url: string }

/** Durable storage of a subscriber: one transaction per `insert`. */
export interface SubscriberStore {
  insert(positions: readonly Position[]): Promise<void>
  times(hardwareId: string, fromMs: number, toMs: number): Promise<number[]>
}

const COLUMNS = 'hardware_id, at_ms, lat, long, speed_kmh, battery_v, lock_status'

/** Opens a store; creates its table if needed. */
export function openStore(plan: StorePlan): Promise<SubscriberStore> {
  return plan.kind === 'sqlite' ? openSqlite(plan.path) : openPostgres(plan.url)
}

async function openSqlite(path: string): Promise<SubscriberStore> {
  const db = new Database(path)
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = FULL')
  db.exec(
    `CREATE TABLE IF NOT EXISTS position (
       hardware_id TEXT, at_ms INTEGER, lat REAL, long REAL, speed_kmh REAL, battery_v REAL, lock_status INTEGER,
       PRIMARY KEY (hardware_id, at_ms)
     ) WITHOUT ROWID`,
  )
  const insert = db.prepare(`INSERT OR IGNORE INTO position (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)`)
  const insertAll = db.transaction((positions: readonly Position[]) => {
    for (const { hardwareId, atMs, lat, long, speedKmh, batteryV, lockStatus } of positions) {
      insert.run(hardwareId, atMs, lat, long, speedKmh, batteryV, lockStatus)
    }
  })
  const times = db
    .prepare<[string, number, number], number>(
      'SELECT at_ms FROM position WHERE hardware_id = ? AND at_ms BETWEEN ? AND ?',
    )
    .pluck()
  return {
    insert: async (positions) => insertAll(positions),
    times: async (hardwareId, fromMs, toMs) => times.all(hardwareId, fromMs, toMs),
  }
}

async function openPostgres(url: string): Promise<SubscriberStore> {
  const pool = new pg.Pool({ connectionString: url, max: 2 })
  await pool.query(
    `CREATE TABLE IF NOT EXISTS position (
       hardware_id text, at_ms bigint, lat float8, long float8, speed_kmh float8, battery_v float8, lock_status int,
       PRIMARY KEY (hardware_id, at_ms)
     )`,
  )
  return {
    insert: async (positions) => {
      const column = (name: keyof Position) => positions.map((position) => position[name])
      await pool.query({
        name: 'insert',
        text: `INSERT INTO position (${COLUMNS})
               SELECT * FROM unnest($1::text[], $2::bigint[], $3::float8[], $4::float8[], $5::float8[], $6::float8[],
               $7::int[])
               ON CONFLICT DO NOTHING`,
        values: (['hardwareId', 'atMs', 'lat', 'long', 'speedKmh', 'batteryV', 'lockStatus'] as const).map(column),
      })
    },
    times: async (hardwareId, fromMs, toMs) => {
      const sql = 'SELECT at_ms FROM position WHERE hardware_id = $1 AND at_ms BETWEEN $2 AND $3'
      const { rows } = await pool.query<{ at_ms: string }>(sql, [hardwareId, fromMs, toMs])
      return rows.map(({ at_ms }) => Number(at_ms))
    },
  }
}
