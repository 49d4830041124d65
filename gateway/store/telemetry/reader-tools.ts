import { GPS, type GpsRecords } from '#shared/telemetry/records.ts'
import type { Connection } from '../db/connection.ts'
import { TelemetryReader } from './reader.ts'
import { UnsavedRecords } from './unsaved-states.ts'

/** Fixes of one device, 20 bytes each, for which a thread keeps memory from job to job. */
const KEPT_FIXES_MAX = 1_000_000

/** Connection and buffers for the jobs of a reader thread. */
export class ReaderTools {
  readonly connection: Connection
  readonly telemetry: TelemetryReader
  readonly unsaved: UnsavedRecords
  #fixes: GpsRecords | undefined

  constructor(connection: Connection) {
    this.connection = connection
    this.telemetry = new TelemetryReader(connection)
    this.unsaved = new UnsavedRecords(connection)
  }

  /** Columns for at least `count` fixes; their previous content is lost, and the next call may return the same ones. */
  roomForFixes(count: number): GpsRecords {
    if (this.#fixes !== undefined && this.#fixes.atMs.length >= count) return this.#fixes
    // large columns are for one job only: memory for a whole season is not kept
    if (count > KEPT_FIXES_MAX) return GPS.allocate(count)
    this.#fixes = GPS.allocate(Math.min(KEPT_FIXES_MAX, Math.max(4096, 2 * count)))
    return this.#fixes
  }
}
