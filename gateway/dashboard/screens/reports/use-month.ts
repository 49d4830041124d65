import { useState } from 'preact/hooks'
import { monthAfter, monthOf } from '#dashboard/live/reports/months.ts'
import { formatMonth } from '#dashboard/texts/format.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'

/** Holds the month of a report, initially the present one. */
export function useMonth() {
  const { clock, site } = useDashboard()
  const present = monthOf(clock.nowMs(), site.value.time_zone)
  const [back, setBack] = useState(0)
  const month = monthAfter(present, -back)
  return {
    month,
    name: formatMonth(month),
    onEarlier: () => setBack(back + 1),
    onLater: back === 0 ? null : () => setBack(back - 1),
  }
}
