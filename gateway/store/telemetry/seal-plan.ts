import { BATTERY, GPS, type RecordKind, type Records } from '#shared/telemetry/records.ts'
import type { Connection } from '../db/connection.ts'
import { HAS_BATTERY, HAS_GPS } from './batch.ts'
import { UnreadableBlockError } from './block-rows.ts'
import type { BlockReplacement } from './blocks.ts'
import { type LogRange, type LogSamples, readLogSamples } from './log-samples.ts'
import { type DeviceSamples, groupByDevice, recordsOf } from './samples-by-device.ts'
import { StreamSealing } from './seal-stream.ts'
import type { UnreadableBlock } from './unreadable-block.ts'

/** Rows of the log to seal, and the part of the plan that is requested. */
export interface SealRequest extends LogRange {
  /** Last device of the previous part; null for the first part. */
  readonly afterDeviceId: number | null
}

/** Plan for moving rows of the log into blocks; the rows may be dropped only after all parts are applied. */
export interface SealPlan {
  readonly replacements: readonly BlockReplacement[]
  /** Sequence number of the last planned sample, to pass on in requests for later parts; null if there was no row. */
  readonly throughSeq: number | null
  readonly sampleCount: number
  /** Time in the reader thread; excludes the wait for a thread. */
  readonly tookMs: number
  /** Last device of this part, if there are more. */
  readonly lastDeviceId: number | null
  /** Rows that must stay in the log. */
  readonly keptSeqs: readonly number[]
  /** With any reason but `newer_version` no row may be dropped: these streams have no plan. */
  readonly unreadable: readonly UnreadableBlock[]
  /** Damaged row of the log at the start of the range, which prevents a plan. */
  readonly damagedSeq: number | null
}

/** A part ends after the device at which its blocks reach this many bytes. */
const PART_BYTES = 2 << 20

/** Maximum time for which a snapshot is held. */
const SNAPSHOT_MS = 5

/** Plans the moving of log samples into blocks; changes nothing. Throws if a later part refers to other rows. */
export function planSealing(connection: Connection, request: SealRequest): SealPlan {
  const startedAtMs = performance.now()
  const samples = readLogSamples(connection, request)
  const isLaterPart = request.afterDeviceId !== null
  if (isLaterPart && samples.throughSeq !== request.throughSeq) {
    throw new Error('the log has changed since the plan was started')
  }
  // read after the log: every device with samples in it was registered before them
  const registered = new Set(
    connection.all<{ deviceId: number }>('SELECT device_id FROM device').map((row) => row.deviceId),
  )
  const part = new Part(connection, samples)
  const after = request.afterDeviceId ?? -1
  const groups = groupByDevice(samples.columns, samples.count).filter(
    ({ deviceId }) => deviceId > after && registered.has(deviceId),
  )
  let planned = 0
  while (planned < groups.length && part.bytes < PART_BYTES) {
    planned = inSnapshot(connection, (isDue) => {
      let next = planned
      do {
        const group = groups[next++]
        if (group !== undefined) part.add(group)
      } while (next < groups.length && part.bytes < PART_BYTES && !isDue())
      return next
    })
  }
  return {
    replacements: part.replacements,
    throughSeq: samples.throughSeq,
    sampleCount: samples.count,
    tookMs: performance.now() - startedAtMs,
    lastDeviceId: planned < groups.length ? (groups[planned - 1]?.deviceId ?? null) : null,
    keptSeqs: [...samples.newerSeqs, ...part.keptSeqs],
    unreadable: part.unreadable,
    damagedSeq: samples.damagedSeq,
  }
}

/** Groups statements into short snapshots: one for each is slow, and one for all would delay a checkpoint. */
function inSnapshot<Result>(connection: Connection, work: (isDue: () => boolean) => Result): Result {
  const endsAtMs = performance.now() + SNAPSHOT_MS
  return connection.snapshot(() => work(() => performance.now() > endsAtMs))
}

class Part {
  readonly replacements: BlockReplacement[] = []
  readonly unreadable: UnreadableBlock[] = []
  readonly keptSeqs = new Set<number>()
  bytes = 0
  readonly #connection: Connection
  readonly #samples: LogSamples

  constructor(connection: Connection, samples: LogSamples) {
    this.#connection = connection
    this.#samples = samples
  }

  add(group: DeviceSamples): void {
    this.#addStream(GPS, HAS_GPS, group)
    this.#addStream(BATTERY, HAS_BATTERY, group)
  }

  #addStream<R extends Records>(kind: RecordKind<R>, streamBit: number, group: DeviceSamples): void {
    const records = recordsOf(kind, streamBit, group)
    if (records.atMs.length === 0) return
    const stream = new StreamSealing(this.#connection, kind, group.deviceId)
    try {
      stream.plan(records)
    } catch (error) {
      if (!(error instanceof UnreadableBlockError)) throw error
      this.unreadable.push({ blockId: error.blockId, reason: error.reason })
      return
    }
    this.unreadable.push(...stream.newer)
    for (const replacement of stream.replacements) {
      this.replacements.push(replacement)
      for (const { records } of replacement.adds) this.bytes += records.length
    }
    for (const { fromMs, toMs } of stream.stuck) this.#keep(group, streamBit, fromMs, toMs)
  }

  #keep({ columns, places }: DeviceSamples, streamBit: number, fromMs: number, toMs: number): void {
    const { atMs, streams } = columns
    for (const [i, place] of places.entries()) {
      const time = atMs[i] ?? 0
      if (((streams[i] ?? 0) & streamBit) === 0 || time < fromMs || time > toMs) continue
      this.keptSeqs.add(this.#samples.rowOf(place))
    }
  }
}
