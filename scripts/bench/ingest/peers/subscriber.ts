import Database from 'better-sqlite3'
import { connect, type MqttClient } from 'mqtt'
import pg from 'pg'
import { z } from 'zod'
import { answerCalls } from '#scripts/rig/calls.ts'

/** Process of a simple subscriber that stores: mqtt.js, a persistent session at QoS 1, one transaction each 50 ms. */

const BATCH_MS = 50

const payloadSchema = z.object({
  ts: z.number(),
  lat: z.number(),
  long: z.number(),
  speed: z.number(),
  battery_voltage: z.number(),
  lock_status: z.number(),
})

const TABLE = `
  CREATE TABLE IF NOT EXISTS position (
    hardware_id text, at_ms bigint, lat float8, long float8, speed_kmh float8, battery_v float8, lock_status int,
    PRIMARY KEY (hardware_id, at_ms)
  )`
const TYPES = ['text', 'bigint', 'float8', 'float8', 'float8', 'float8', 'int']

/** Values of the columns. */
type Position = readonly [string, number, number, number, number, number, number]

/** Durable storage: one transaction per `insert`. */
interface Store {
  insert(positions: readonly Position[]): Promise<void>
  times(hardwareId: string, fromMs: number, toMs: number): Promise<number[]>
}

async function openSqlite(path: string): Promise<Store> {
  const db = new Database(path)
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = FULL')
  db.exec(`${TABLE} WITHOUT ROWID`)
  const insert = db.prepare('INSERT OR IGNORE INTO position VALUES (?, ?, ?, ?, ?, ?, ?)')
  const insertAll = db.transaction((positions: readonly Position[]) => {
    for (const position of positions) insert.run(...position)
  })
  const sql = 'SELECT at_ms FROM position WHERE hardware_id = ? AND at_ms BETWEEN ? AND ?'
  const times = db.prepare<[string, number, number], number>(sql).pluck()
  return {
    insert: async (positions) => insertAll(positions),
    times: async (...period) => times.all(...period),
  }
}

async function openPostgres(url: string): Promise<Store> {
  const pool = new pg.Pool({ connectionString: url, max: 2 })
  await pool.query(TABLE)
  const columns = TYPES.map((type, i) => `$${i + 1}::${type}[]`)
  const text = `INSERT INTO position SELECT * FROM unnest(${columns}) ON CONFLICT DO NOTHING`
  return {
    insert: async (positions) => {
      const values = TYPES.map((_, i) => positions.map((position) => position[i]))
      await pool.query({ name: 'insert', text, values })
    },
    times: async (...period) => {
      const sql = 'SELECT at_ms FROM position WHERE hardware_id = $1 AND at_ms BETWEEN $2 AND $3'
      const { rows } = await pool.query<{ at_ms: string }>(sql, period)
      return rows.map(({ at_ms }) => Number(at_ms))
    },
  }
}

let store: Store | undefined
let client: MqttClient | undefined
let waiting: Position[] = []
let writing = Promise.resolve()
let stored = 0

function read(topic: string, payload: Buffer): Position {
  const [, hardwareId = ''] = topic.split('/')
  const message = payloadSchema.parse(JSON.parse(payload.toString()))
  const { ts, lat, long, speed, battery_voltage, lock_status } = message
  return [hardwareId, ts, lat, long, speed, battery_voltage, lock_status]
}

function take(position: Position): void {
  waiting.push(position)
  if (waiting.length > 1) return
  setTimeout(() => {
    writing = writing.then(storeWaiting)
  }, BATCH_MS)
}

async function storeWaiting(): Promise<void> {
  const batch = waiting
  waiting = []
  await store?.insert(batch)
  stored += batch.length
}

const functions = answerCalls({
  /** Resolves when it is subscribed. Stores at a URL of PostgreSQL, or a path of SQLite. */
  start: async (port: number, place: string) => {
    store = await (place.startsWith('postgres:') ? openPostgres(place) : openSqlite(place))
    const connected = connect(`mqtt://127.0.0.1:${port}`, { clientId: 'store', clean: false })
    // messages queued in the session arrive with the connection
    client = connected
    client.on('message', (topic, payload) => take(read(topic, payload)))
    await new Promise<void>((resolve) => connected.once('connect', () => resolve()))
    await client.subscribeAsync('dev/+/tlm', { qos: 1 })
  },
  /** Disconnects; the broker keeps its session. */
  leave: () => client?.endAsync(),
  /** Messages stored since its start. */
  stored: () => stored,
  times: (hardwareId: string, fromMs: number, toMs: number) => store?.times(hardwareId, fromMs, toMs) ?? [],
})

export type SubscriberFunctions = typeof functions
