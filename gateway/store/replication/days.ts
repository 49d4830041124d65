import type { TelemetryStream } from '#shared/ids.ts'
import { BATTERY, GPS, type RecordKind, type Records } from '#shared/telemetry/records.ts'
import { DAY_MS, startOfDayMs } from '#shared/time.ts'
import type { Connection } from '../db/connection.ts'
import {
  type BlockLocation,
  blockBeginningAfter,
  blockBeginningBy,
  readRecords,
  UnreadableBlockError,
} from '../telemetry/block-rows.ts'
import type { ReaderTools } from '../telemetry/reader-tools.ts'
import { type EventStream, nextEventMs } from './events.ts'

/** Midnights (UTC) of days with rows, with the position of the next portion; null at the end. */
export interface DaysPortion {
  readonly days: readonly number[]
  readonly after: number | null
}

const PORTION_MS = 50
const DEVICES_A_STATEMENT = 64

/** Days for which blocks of some devices may have records; gaps between two records of a block are not checked. */
export function blockDays(
  { connection }: ReaderTools,
  { stream, after }: { stream: TelemetryStream; after: number },
): DaysPortion {
  const endsAtMs = performance.now() + PORTION_MS
  const devices = connection.all<{ deviceId: number }>(
    `SELECT device_id FROM device WHERE device_id > +? ORDER BY device_id LIMIT ${DEVICES_A_STATEMENT}`,
    after,
  )
  const days = new Set<number>()
  for (const { deviceId } of devices) {
    if (stream === 'gps') addBlockDays(connection, GPS, deviceId, days)
    else addBlockDays(connection, BATTERY, deviceId, days)
    if (performance.now() >= endsAtMs) return { days: [...days], after: deviceId }
  }
  const isEnd = devices.length < DEVICES_A_STATEMENT
  return { days: [...days], after: isEnd ? null : (devices.at(-1)?.deviceId ?? null) }
}

/** Days with records in the log. */
export function loggedDays({ telemetry }: ReaderTools, { stream }: { stream: TelemetryStream }): DaysPortion {
  return { days: telemetry.loggedDays(stream), after: null }
}

/** Days with rows that are written once. */
export function eventDays(
  { connection }: ReaderTools,
  { stream, after }: { stream: EventStream; after: number },
): DaysPortion {
  const endsAtMs = performance.now() + PORTION_MS
  const days: number[] = []
  let next = nextEventMs(connection, stream, after)
  while (next !== null) {
    const dayMs = startOfDayMs(next)
    days.push(dayMs)
    if (performance.now() >= endsAtMs) return { days, after: dayMs + DAY_MS }
    next = nextEventMs(connection, stream, dayMs + DAY_MS)
  }
  return { days, after: null }
}

/** Steps from day to day instead of from block to block, because a day has dozens of blocks of a device. */
function addBlockDays<R extends Records>(
  connection: Connection,
  kind: RecordKind<R>,
  deviceId: number,
  days: Set<number>,
): void {
  let block = blockBeginningAfter(connection, deviceId, kind.name, -1)
  while (block !== undefined) {
    addDaysOf(connection, kind, block, days)
    const nextDayMs = startOfDayMs(block.lastMs) + DAY_MS
    const home = blockBeginningBy(connection, deviceId, kind.name, nextDayMs)
    block =
      home !== undefined && home.lastMs >= nextDayMs
        ? home
        : blockBeginningAfter(connection, deviceId, kind.name, nextDayMs)
  }
}

function addDaysOf<R extends Records>(
  connection: Connection,
  kind: RecordKind<R>,
  block: BlockLocation,
  days: Set<number>,
): void {
  const [firstDayMs, lastDayMs] = [startOfDayMs(block.firstMs), startOfDayMs(block.lastMs)]
  days.add(firstDayMs)
  days.add(lastDayMs)
  if (lastDayMs - firstDayMs <= DAY_MS) return
  // after a winter or a wrong clock, the range is thousands of days, of which only a few have rows
  try {
    for (const atMs of readRecords(connection, kind, block).atMs) days.add(startOfDayMs(atMs))
  } catch (error) {
    if (!(error instanceof UnreadableBlockError)) throw error
  }
}
