import { type BatteryDay, PackDays, type PackRules } from '#shared/reports/battery-days.ts'
import type { ReportDay } from '#shared/reports/day-sums.ts'
import { BATTERY } from '#shared/telemetry/records.ts'
import type { ReaderTools } from '../telemetry/reader-tools.ts'
import { type CartDevices, cartTrackOf, voltagesByDay } from './cart-days.ts'

export interface PackQuery {
  devices: CartDevices
  /** Consecutive days. */
  days: readonly (ReportDay & { readonly noonMs: number })[]
  rules: PackRules
}

/** Voltages of a cart on each day with at least one. Throws `too_many_positions`. */
export function readPackDays(
  tools: ReaderTools,
  { devices, days, rules }: PackQuery,
): (BatteryDay & { date: string })[] {
  const pack = new PackDays(rules)
  const voltagesOf = voltagesByDay(tools, devices, days)
  const found: (BatteryDay & { date: string })[] = []
  const { before, byDay } = cartTrackOf(tools, devices, days, rules.restAfterS * 1000)
  pack.standsAfter(before)
  let i = 0
  for (const fixes of byDay) {
    const voltages = voltagesOf.next().value ?? BATTERY.allocate(0)
    const { date, noonMs } = days[i++] ?? { date: '', noonMs: 0 }
    const day = pack.take(fixes, voltages, noonMs)
    if (voltages.atMs.length > 0) found.push({ date, ...day })
  }
  return found
}
