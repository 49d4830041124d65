import { BATTERY, GPS, NO_SPEED } from '#shared/telemetry/records.ts'
import type { ReaderTools } from '../telemetry/reader-tools.ts'

/** Range of a device's records; both bounds included. */
interface RecentRange {
  deviceId: number
  fromMs: number
  toMs: number
}

interface RecentFix {
  atMs: number
  latE7: number
  longE7: number
  speedKmh: number | null
}

/** More than a device sends in some minutes, or voltages in some hours. */
const MOST_FIXES = 1_000
const MOST_VOLTAGES = 10_000

/** Newest fixes of a few minutes, oldest first. */
export function readRecentFixes({ telemetry }: ReaderTools, { deviceId, fromMs, toMs }: RecentRange): RecentFix[] {
  const page = telemetry.page(GPS, deviceId, { fromMs, toMs, order: 'desc', limit: MOST_FIXES })
  const { atMs, latE7, longE7, speedMilliKmh } = page
  return Array.from(atMs, (at, i) => {
    const speed = speedMilliKmh[i] ?? NO_SPEED
    return {
      atMs: at,
      latE7: latE7[i] ?? 0,
      longE7: longE7[i] ?? 0,
      speedKmh: speed === NO_SPEED ? null : speed / 1000,
    }
  })
}

/** Newest voltages of some hours, oldest first. */
export function readRecentVoltages(
  { telemetry }: ReaderTools,
  { deviceId, fromMs, toMs }: RecentRange,
): { atMs: number; voltageV: number }[] {
  const page = telemetry.page(BATTERY, deviceId, { fromMs, toMs, order: 'desc', limit: MOST_VOLTAGES })
  return Array.from(page.atMs, (atMs, i) => ({ atMs, voltageV: (page.voltageMv[i] ?? 0) / 1000 }))
}
