import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import type { Workbench } from '#scripts/rig/processes.ts'
import type { TelemetryStream } from '#shared/ids.ts'
import { decodeBlock, MAX_BLOCK_RECORDS, verifyBlock } from '#shared/telemetry/block.ts'
import { BATTERY, GPS, type RecordKind, type Records } from '#shared/telemetry/records.ts'
import { Connection } from '#store/db/connection.ts'
import { deviceCounts } from '#store/tables/devices.ts'
import { decodeBatch, HAS_BATTERY, HAS_GPS } from '#store/telemetry/batch.ts'
import { UnsavedRecords } from '#store/telemetry/unsaved-states.ts'

/** Telemetry in the files of a gateway that is not running. */
export interface TelemetryFiles {
  /** Violated invariants. */
  faults: string[]
  blocks: number
  logRows: number
  /** Records of the log that are in a block too: the gateway died between writing blocks and shortening the log. */
  inBoth: number
}

interface BlockRow {
  blockId: number
  deviceId: number
  stream: TelemetryStream
  firstMs: number
  lastMs: number
  count: number
  records: Uint8Array
}

const MAX_FAULTS = 5
const STREAM_BITS = { gps: HAS_GPS, battery: HAS_BATTERY } satisfies Record<TelemetryStream, number>

/** Reads a copy of a folder that no process has open: opening the files themselves would recover them. */
export function inspectTelemetry(bench: Workbench, folder: string): TelemetryFiles {
  const copy = bench.createFolder('telemetry')
  cpSync(folder, copy, { recursive: true })
  const db = new Database(join(copy, 'cartbarn.db'))
  try {
    return inspectDatabase(db)
  } catch (error) {
    return { faults: [String(error)], blocks: 0, logRows: 0, inBoth: 0 }
  } finally {
    db.close()
    rmSync(copy, { recursive: true, force: true })
  }
}

/** Checks the invariants of every block and every row of the log. */
export function inspectDatabase(db: Database.Database): TelemetryFiles {
  const faults: string[] = []
  const sealed = new RecordTimes()
  const logged = new RecordTimes()
  const blocks = inspectBlocks(db, sealed, faults)
  const logRows = inspectLog(db, logged, faults)
  const damaged = db.prepare<[], number>('SELECT count(*) FROM damaged_block').pluck().get() ?? 0
  if (damaged > 0) faults.push(`${damaged} blocks were found damaged`)
  inspectCounts(db, sealed, logged, faults)
  return { faults: faults.slice(0, MAX_FAULTS), blocks, logRows, inBoth: logged.countShared(sealed) }
}

/** Times of records by device and stream. */
class RecordTimes {
  readonly #times = new Map<string, Set<number>>()

  of(deviceId: number, stream: TelemetryStream): Set<number> {
    const key = `${deviceId} ${stream}`
    const times = this.#times.get(key) ?? new Set()
    this.#times.set(key, times)
    return times
  }

  /** Number of records that are in `other` too. */
  countShared(other: RecordTimes): number {
    const sharedOf = ([key, times]: [string, Set<number>]) =>
      [...times].filter((atMs) => other.#times.get(key)?.has(atMs))
    return [...this.#times].flatMap(sharedOf).length
  }
}

function inspectBlocks(db: Database.Database, sealed: RecordTimes, faults: string[]): number {
  const rows = db.prepare<[], BlockRow>(
    `SELECT block_id AS blockId, device_id AS deviceId, stream, first_ms AS firstMs, last_ms AS lastMs, count, records
     FROM telemetry_block ORDER BY device_id, stream, first_ms`,
  )
  let blocks = 0
  let before: BlockRow | undefined
  for (const row of rows.iterate()) {
    blocks++
    const { deviceId, stream, firstMs, lastMs, count } = row
    const name = `block ${row.blockId} (${stream} of device ${deviceId})`
    if (before?.deviceId === deviceId && before.stream === stream && before.lastMs >= firstMs)
      faults.push(`${name} overlaps block ${before.blockId}`)
    before = row
    try {
      const header = verifyBlock(row.records)
      if (header.count !== count || header.firstMs !== firstMs || header.lastMs !== lastMs)
        faults.push(`${name} differs from its row`)
      for (const atMs of timesOf(stream, row.records)) sealed.of(deviceId, stream).add(atMs)
    } catch (error) {
      faults.push(`${name}: ${String(error)}`)
    }
  }
  return blocks
}

/** Times of the records of a block. Throws if it is damaged. */
export function timesOf(stream: TelemetryStream, block: Uint8Array): Float64Array {
  return stream === 'gps' ? readTimes(GPS, block) : readTimes(BATTERY, block)
}

function readTimes<R extends Records>(kind: RecordKind<R>, block: Uint8Array): Float64Array {
  const into = kind.allocate(MAX_BLOCK_RECORDS)
  return into.atMs.subarray(0, decodeBlock(kind, block, into))
}

function inspectLog(db: Database.Database, logged: RecordTimes, faults: string[]): number {
  const rows = db.prepare<[], { firstSeq: number; samples: Uint8Array }>(
    'SELECT first_seq AS firstSeq, samples FROM telemetry_log ORDER BY first_seq',
  )
  let logRows = 0
  let nextSeq = 0
  for (const { firstSeq, samples } of rows.iterate()) {
    logRows++
    if (firstSeq < nextSeq) faults.push(`log row ${firstSeq} begins before ${nextSeq}`)
    try {
      const batch = decodeBatch(samples)
      nextSeq = firstSeq + batch.count
      for (let i = 0; i < batch.count; i++) {
        const [deviceId = 0, atMs = 0, bits = 0] = [batch.deviceId[i], batch.atMs[i], batch.streams[i]]
        for (const stream of ['gps', 'battery'] as const) {
          if ((bits & STREAM_BITS[stream]) === 0) continue
          const times = logged.of(deviceId, stream)
          if (times.has(atMs)) faults.push(`${stream} of device ${deviceId} at ${atMs} is in the log twice`)
          times.add(atMs)
        }
      }
    } catch (error) {
      faults.push(`log row ${firstSeq}: ${String(error)}`)
    }
  }
  return logRows
}

/** Checks that the counts match the rows, as they must in every state in which a process can die. */
function inspectCounts(db: Database.Database, sealed: RecordTimes, logged: RecordTimes, faults: string[]): void {
  const connection = new Connection(db)
  const unsaved = new UnsavedRecords(connection)
  const ids = db.prepare<[], number>('SELECT device_id FROM device_state').pluck().all()
  for (const deviceId of ids) {
    const counts = deviceCounts(connection, deviceId, unsaved)
    for (const stream of ['gps', 'battery'] as const) {
      const there = new Set([...sealed.of(deviceId, stream), ...logged.of(deviceId, stream)]).size
      const { count } = counts[stream]
      if (there !== count) faults.push(`${there} ${stream} records of device ${deviceId}, ${count} counted`)
    }
  }
}
