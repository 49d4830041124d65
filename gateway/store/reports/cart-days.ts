import { InvalidRequestError } from '#shared/errors.ts'
import { CartFixes, merged } from '#shared/reports/cart-fixes.ts'
import type { ReportDay } from '#shared/reports/day-sums.ts'
import {
  BATTERY,
  type BatteryRecords,
  GPS,
  type GpsRecords,
  indexAtOrAfter,
  type RecordKind,
  type Records,
} from '#shared/telemetry/records.ts'
import { MINUTE_MS } from '#shared/time.ts'
import type { ReaderTools } from '../telemetry/reader-tools.ts'

/** Device ids of a cart: those with its lock, and the others. */
export interface CartDevices {
  readonly locks: readonly number[]
  readonly others: readonly number[]
}

/** Days read together: a block of 2,048 records seldom covers exactly one day. */
const STRETCH_DAYS = 7
/** Maximum number of records read together; a week at one a second is 0.6 million. */
const STRETCH_RECORDS = 1_000_000
/** Maximum of earlier fixes: two determine a cart's zone, and all since its stop how long it has been standing. */
const FIXES_BEFORE_MAX = 4_000
/** Time before the first day for which the zone of a cart is determined. */
export const LOOKBACK_MS = 10 * MINUTE_MS
/** Maximum number of records of a day, which cannot be split. */
const DAY_RECORDS = 4_000_000

export interface CartTrack {
  /** Last fixes before the first day, so that it is evaluated like any other day. */
  before: GpsRecords
  /** Fixes of each day; a week of them is in memory at a time. Throws `too_many_positions`. */
  byDay: Generator<GpsRecords, undefined>
}

/** Track of a cart on the days, with the `lookbackMs` before the last earlier fix of each device. */
export function cartTrackOf(
  tools: ReaderTools,
  devices: CartDevices,
  days: readonly ReportDay[],
  lookbackMs: number,
): CartTrack {
  const cart = new CartFixes()
  const before = (id: number) => lastFixes(tools, id, { endMs: days[0]?.fromMs ?? 0, lookbackMs })
  return {
    before: cart.merge(devices.locks.map(before), devices.others.map(before)),
    byDay: recordsByDay(GPS, tools, { devices, days }, (locks, others) => cart.merge(locks, others)),
  }
}

/** Newest of these fixes, if a device reported thousands in that time. */
function lastFixes(
  { telemetry }: ReaderTools,
  id: number,
  { endMs, lookbackMs }: { endMs: number; lookbackMs: number },
): GpsRecords {
  const newest = { fromMs: 0, toMs: endMs - 1, order: 'desc' } as const
  const lastMs = telemetry.page(GPS, id, { ...newest, limit: 1 }).atMs[0]
  if (lastMs === undefined) return GPS.allocate(0)
  return telemetry.page(GPS, id, { ...newest, fromMs: lastMs - lookbackMs, limit: FIXES_BEFORE_MAX })
}

/** Voltages of a cart on each day: those of its lock, or those of its other devices if the lock reported none. */
export function voltagesByDay(
  tools: ReaderTools,
  devices: CartDevices,
  days: readonly ReportDay[],
): Generator<BatteryRecords, undefined> {
  return recordsByDay(BATTERY, tools, { devices, days }, (locks, others) => {
    const ofLock = merged(BATTERY, locks)
    return ofLock.atMs.length > 0 ? ofLock : merged(BATTERY, others)
  })
}

function* recordsByDay<R extends Records>(
  kind: RecordKind<R>,
  { telemetry }: ReaderTools,
  { devices: { locks, others }, days }: { devices: CartDevices; days: readonly ReportDay[] },
  together: (locks: readonly R[], others: readonly R[]) => R,
): Generator<R, undefined> {
  const countIn = (stretch: readonly ReportDay[]) =>
    [...locks, ...others].reduce((sum, id) => sum + telemetry.countAtMost(kind, id, rangeOf(stretch)), 0)
  for (let next = 0; next < days.length; ) {
    const stretch = stretchOf(days.slice(next, next + STRETCH_DAYS), countIn)
    const read = (id: number) => {
      const { records, count } = telemetry.read(kind, id, rangeOf(stretch), (room) => kind.allocate(room))
      return kind.view(records, 0, count)
    }
    const [lockRecords, otherRecords] = [locks.map(read), others.map(read)]
    for (const day of stretch) {
      const onDay = (records: R) => {
        const from = indexAtOrAfter(records.atMs, day.fromMs)
        return kind.view(records, from, indexAtOrAfter(records.atMs, day.untilMs, from))
      }
      yield together(lockRecords.map(onDay), otherRecords.map(onDay))
    }
    next += stretch.length
  }
  return undefined
}

/** Largest number of these days that can be read together. */
function stretchOf(
  days: readonly ReportDay[],
  countIn: (stretch: readonly ReportDay[]) => number,
): readonly ReportDay[] {
  let stretch = days
  while (stretch.length > 1 && countIn(stretch) > STRETCH_RECORDS)
    stretch = stretch.slice(0, Math.ceil(stretch.length / 2))
  if (stretch.length === 1 && countIn(stretch) > DAY_RECORDS) {
    const detail = `a cart has more than ${DAY_RECORDS} records on ${stretch[0]?.date}`
    throw new InvalidRequestError('too_many_positions', detail)
  }
  return stretch
}

function rangeOf(stretch: readonly ReportDay[]) {
  return { fromMs: stretch[0]?.fromMs ?? 0, toMs: (stretch.at(-1)?.untilMs ?? 0) - 1 }
}
