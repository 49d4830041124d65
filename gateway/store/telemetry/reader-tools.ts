import { GPS, type GpsRecords } from '#shared/telemetry/records.ts'
import type { Connection } from '../db/connection.ts'
import { TelemetryReader } from './reader.ts'
import { UnsavedRecords } from './unsaved-states.ts'

/** Room for the fixes of one device, 20 bytes each, that a thread keeps from job to job. */
const KEPT_FIXES_MAX = 1_000_000

/** What the jobs of a reader thread work with. */
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

  /** Columns for at least so many fixes; what they held before is lost, and the next who asks may get the same ones. */
  roomForFixes(count: number): GpsRecords {
    if (this.#fixes !== undefined && this.#fixes.atMs.length >= count) return this.#fixes
    // what is large is for one job: memory of the size of a season is not kept for another like it
    if (count > KEPT_FIXES_MAX) return GPS.allocate(count)
    this.#fixes = GPS.allocate(Math.min(KEPT_FIXES_MAX, Math.max(4096, 2 * count)))
    return this.#fixes
  }
}
