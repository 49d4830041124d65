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

/** Whose records are those of a cart: devices by their ids, those with its lock apart. */
export interface CartDevices {
  readonly locks: readonly number[]
  readonly others: readonly number[]
}

/** Days that are read at once: a block of 2,048 records is seldom that of one day. */
const STRETCH_DAYS = 7
/** Records that are read at once; a week of one a second is 0.6 million. */
const STRETCH_RECORDS = 1_000_000
/** Two say in which zone a cart is, and all since it stands since when it does. */
const FIXES_BEFORE_MAX = 4_000
/** For how long before some days it is looked which zone a cart was in. */
export const LOOKBACK_MS = 10 * MINUTE_MS
/** Of a day, which is not parted. */
const DAY_RECORDS = 4_000_000

/** Where a cart was on some days. */
export interface CartTrack {
  /** Its last fixes before the first day, so that this one is judged like any other. */
  before: GpsRecords
  /** Those of each day; a week of them is in memory at a time. Throws `too_many_positions`. */
  byDay: Generator<GpsRecords, undefined>
}

/**
 * The way of a cart on the days, and for `lookBackMs` up to the last fix of each device before them, however old that
 * is.
 */
export function cartTrackOf(
  tools: ReaderTools,
  devices: CartDevices,
  days: readonly ReportDay[],
  lookBackMs: number,
): CartTrack {
  const cart = new CartFixes()
  const before = (id: number) => lastFixes(tools, id, { endMs: days[0]?.fromMs ?? 0, lookBackMs })
  return {
    before: cart.merge(devices.locks.map(before), devices.others.map(before)),
    byDay: recordsByDay(GPS, tools, { devices, days }, (locks, others) => cart.merge(locks, others)),
  }
}

/** The newest of them, where a device said thousands meanwhile. */
function lastFixes(
  { telemetry }: ReaderTools,
  id: number,
  { endMs, lookBackMs }: { endMs: number; lookBackMs: number },
): GpsRecords {
  const newest = { fromMs: 0, toMs: endMs - 1, order: 'desc' } as const
  const lastMs = telemetry.page(GPS, id, { ...newest, limit: 1 }).atMs[0]
  if (lastMs === undefined) return GPS.allocate(0)
  return telemetry.page(GPS, id, { ...newest, fromMs: lastMs - lookBackMs, limit: FIXES_BEFORE_MAX })
}

/** The voltages of a cart on each of the days: its lock speaks for it, the others where that says none. */
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

/** As many of these days as can be read at once. */
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
