import type { Connection } from '../db/connection.ts'
import { isDetached } from '../db/detached.ts'
import { SEQUENCE_GAP } from '../db/table.ts'
import { isUnreadable } from './unreadable.ts'

/** Columns outside of a table that hold its numbers. */
const USES = [
  'SELECT max(seq) AS number FROM sync_cursor',
  'SELECT max(device_id) AS number FROM telemetry_block',
  'SELECT max(block_id) AS number FROM block_log',
  'SELECT max(block_id) AS number FROM damaged_block',
  'SELECT max(note_seq) AS number FROM erase_mark',
]

/** Continues table numbers after `sqlite_sequence` lost rows: above all known numbers, so none is assigned twice. */
export class SequenceRecovery {
  readonly #numbers: readonly { table: string; last: number }[]

  /** Does nothing if another table is damaged. */
  constructor(reading: Connection, damagedTable: string) {
    this.#numbers = damagedTable === 'sqlite_sequence' ? lastNumbers(reading) : []
  }

  goOn(writing: Connection): void {
    for (const { table, last } of this.#numbers) {
      writing.run(
        `INSERT INTO sqlite_sequence (name, seq) SELECT ?, ?
         WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = ?)`,
        table,
        last + SEQUENCE_GAP,
        table,
      )
    }
  }
}

function lastNumbers(reading: Connection): { table: string; last: number }[] {
  const tables = reading
    .all<{ name: string; sql: string }>("SELECT name, sql FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    .filter(({ name, sql }) => sql.includes(' AUTOINCREMENT') && !isDetached(name))
  const used = Math.max(0, ...USES.map((sql) => numberOf(reading, sql)))
  return tables.map(({ name }) => ({
    table: name,
    last: Math.max(used, numberOf(reading, `SELECT max(rowid) AS number FROM ${name}`)),
  }))
}

function numberOf(reading: Connection, sql: string): number {
  try {
    return reading.get<{ number: number | null }>(sql)?.number ?? 0
  } catch (error) {
    if (!isUnreadable(error)) throw error
    return 0
  }
}
