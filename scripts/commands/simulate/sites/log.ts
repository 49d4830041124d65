import { newUuid } from '#shared/ids.ts'
import type { PartLimits, StreamBacklog, StreamPart, SyncIdentity, SyncSourcePort } from '#shared/sync-source.ts'
import { encodeRuns, type TelemetryRun } from '#shared/telemetry/runs.ts'
import { NO_CURSOR } from '#shared/wire/replication/replicated.ts'
import type { SyncCursor, SyncCursors, SyncStream } from '#shared/wire/replication/sync.ts'
import type { Measured, SiteMeasurement } from './carts.ts'
import type { SitesFigures } from './figures.ts'

interface StoredMeasurement extends SiteMeasurement {
  /** Position of its last sample. */
  readonly to: number
}

/** Maximum of observations in memory: a gateway stores them on disk, this drops the oldest and counts their rows. */
const MEASUREMENTS_MAX = 900

/** Replaces a gateway's store: only samples that its hub lacks. Each has a position; those of one time are adjacent. */
export class SiteLog implements SyncSourcePort {
  readonly #hardwareIds: readonly string[]
  readonly #figures: SitesFigures
  #measurements: readonly StoredMeasurement[] = []
  #end = 0
  #identity: SyncIdentity = { epoch: newUuid().replaceAll('-', ''), site: null, forkedFrom: null }
  #cursors: SyncCursors = telemetryOnly(NO_CURSOR, NO_CURSOR)

  constructor(hardwareIds: readonly string[], figures: SitesFigures) {
    this.#hardwareIds = hardwareIds
    this.#figures = figures
  }

  get rows(): number {
    return this.#rowsOf(this.#measurements)
  }

  add(measurement: SiteMeasurement): void {
    this.#end += this.#hardwareIds.length
    const measurements = [...this.#measurements, { ...measurement, to: this.#end }]
    this.#measurements = measurements.slice(-MEASUREMENTS_MAX)
    this.#figures.forgottenRows += this.#rowsOf(measurements) - this.rows
  }

  identity(): SyncIdentity {
    return this.#identity
  }

  ends(): Record<SyncStream, number> {
    return telemetryOnly(this.#end, 0)
  }

  cursors(): SyncCursors {
    return this.#cursors
  }

  async nextPart(stream: SyncStream, after: number, { rows, bytes }: PartLimits): Promise<StreamPart | null> {
    if (stream !== 'telemetry') return null
    const most = Math.max(1, Math.floor(rows / (this.#hardwareIds.length * 2)))
    return this.#partOf(this.#measurements.filter(({ to }) => to > after).slice(0, most), bytes)
  }

  async acknowledge(cursors: Partial<Record<SyncStream, SyncCursor>>): Promise<void> {
    this.#cursors = { ...this.#cursors, ...cursors }
    const left = this.#measurements.filter(({ to }) => to > this.#cursors.telemetry.seq)
    const taken = this.#measurements.slice(0, this.#measurements.length - left.length)
    this.#measurements = left
    this.#figures.acked(this.#rowsOf(taken), taken)
  }

  async adopt(cursors: SyncCursors): Promise<void> {
    this.#cursors = cursors
  }

  async fork(reason: string): Promise<SyncIdentity> {
    const { epoch, site } = this.#identity
    this.#identity = { epoch: newUuid().replaceAll('-', ''), site, forkedFrom: { epoch, reason } }
    this.#cursors = telemetryOnly(NO_CURSOR, NO_CURSOR)
    this.#figures.forks += 1
    return this.#identity
  }

  async queueAll(): Promise<void> {
    // this source sends nothing in chunks
  }

  async claim(site: string): Promise<void> {
    this.#identity = { ...this.#identity, site }
  }

  async backlog(): Promise<Record<SyncStream, StreamBacklog>> {
    const oldestMs = this.#measurements[0]?.atMs ?? null
    return telemetryOnly({ rows: this.rows, oldestMs }, { rows: 0, oldestMs: null })
  }

  /** Acknowledged data is stored only at the hub: there is nothing to compare. */
  async auditDays(): Promise<readonly []> {
    return []
  }

  async auditGroups(): Promise<readonly []> {
    return []
  }

  resendParts(): never {
    throw new Error('nothing is compared, so nothing is sent again')
  }

  #rowsOf(measurements: readonly SiteMeasurement[]): number {
    return measurements.length * this.#hardwareIds.length * 2
  }

  #partOf(measurements: readonly StoredMeasurement[], bytes: number): StreamPart | null {
    const [first, last] = [measurements[0], measurements.at(-1)]
    if (first === undefined || last === undefined) return null
    const data = encodeRuns(this.#hardwareIds.flatMap((hardwareId, i) => runsOf(hardwareId, i, measurements)))
    if (data.length > bytes && measurements.length > 1)
      return this.#partOf(measurements.slice(0, measurements.length >> 1), bytes)
    return { to: last.to, count: this.#rowsOf(measurements), encoding: 'runs-1', data, oldestMs: first.atMs }
  }
}

function runsOf(hardwareId: string, device: number, measurements: readonly SiteMeasurement[]): TelemetryRun[] {
  const atMs = Float64Array.from(measurements, (measurement) => measurement.atMs)
  const column = (name: keyof Measured) =>
    Int32Array.from(measurements, (measurement) => measurement.measured[device]?.[name] ?? 0)
  const [latE7, longE7, speedMilliKmh] = [column('latE7'), column('longE7'), column('speedMilliKmh')]
  return [
    { hardwareId, stream: 'gps', records: { atMs, latE7, longE7, speedMilliKmh } },
    { hardwareId, stream: 'battery', records: { atMs, voltageMv: column('voltageMv') } },
  ]
}

function telemetryOnly<Value>(telemetry: Value, none: Value): Record<SyncStream, Value> {
  return {
    notes: none,
    lock_events: none,
    geofence_events: none,
    entities: none,
    telemetry,
    history: none,
  }
}
