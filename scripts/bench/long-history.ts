import { join } from 'node:path'
import Database from 'better-sqlite3'

/** What a long history consists of: half GPS, half battery records. */
export interface LongHistory {
  /** The device with a record of each stream every five seconds. */
  hardwareId: string
  /** Of that device, in each stream. */
  records: number
  fromMs: number
  toMs: number
}

const GAP_MS = 5000
/** 1 May 2026. */
const FROM_MS = 1_777_593_600_000

/**
 * Writes a history into the database of a stopped gateway: `records` of each stream for its first device and, between
 * them, as many for all others together. In the order of time, as devices send it, so that the records of one device
 * lie apart in the file. Positions go back and forth, in numbers as long as real ones.
 */
export function writeLongHistory(dataDir: string, records: number): LongHistory {
  const db = new Database(join(dataDir, 'cartbarn.db'), { fileMustExist: true })
  try {
    db.pragma('synchronous = OFF')
    db.pragma('cache_size = -262144')
    const devices = db.prepare<[], { id: number; hardwareId: string }>(
      'SELECT device_id AS id, hardware_id AS hardwareId FROM device ORDER BY device_id',
    )
    const [first, second] = devices.all()
    if (first === undefined || second === undefined) throw new Error('a history is of two devices at least')
    const count = devices.all().length
    const owner = `iif(part = 0, ${first.id}, ${second.id} + tick % ${count - 1})`
    const source = `WITH RECURSIVE ticks(tick) AS (SELECT 0 UNION ALL SELECT tick + 1 FROM ticks WHERE tick < ${records - 1}),
      parts(part) AS (VALUES (0), (1))`
    const at = `${FROM_MS} + tick * ${GAP_MS}`
    db.exec(`BEGIN;
      ${source} INSERT INTO gps (device_id, at_ms, lat_e7, long_e7, speed_milli_kmh)
        SELECT ${owner}, ${at}, 365680000 + tick * 37 % 90000, -1219480000 + tick * 53 % 90000, tick * 7 % 24000
        FROM ticks CROSS JOIN parts;
      ${source} INSERT INTO battery (device_id, at_ms, voltage_mv)
        SELECT ${owner}, ${at}, 48000 + tick * 11 % 6000 FROM ticks CROSS JOIN parts;
      ${['gps', 'battery'].map(countRecords).join(';')};
      COMMIT;`)
    const toMs = FROM_MS + (records - 1) * GAP_MS
    return { hardwareId: first.hardwareId, records, fromMs: FROM_MS, toMs }
  } finally {
    db.close()
  }
}

function countRecords(stream: string): string {
  const of = (what: string) => `(SELECT ${what} FROM ${stream} r WHERE r.device_id = device_state.device_id)`
  return `UPDATE device_state SET ${stream}_count = ${of('count(*)')},
    ${stream}_first_ms = ${of('min(at_ms)')}, ${stream}_last_ms = ${of('max(at_ms)')}`
}
