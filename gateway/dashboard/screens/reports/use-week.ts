import { useState } from 'preact/hooks'
import { locale } from '#dashboard/texts/texts.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'

const WEEK_MS = 7 * 86_400_000

/** Holds the week of a report, initially the seven days up to now. */
export function useWeek() {
  const { clock, site } = useDashboard()
  const [nowMs] = useState(() => clock.nowMs())
  const [back, setBack] = useState(0)
  const toMs = nowMs - back * WEEK_MS
  const range = { from: new Date(toMs - WEEK_MS).toISOString(), to: new Date(toMs).toISOString() }
  const format = new Intl.DateTimeFormat(locale(), {
    day: 'numeric',
    month: 'short',
    timeZone: site.value.time_zone,
  })
  return {
    range,
    name: format.formatRange(toMs - WEEK_MS, toMs),
    onEarlier: () => setBack(back + 1),
    onLater: back === 0 ? null : () => setBack(back - 1),
  }
}
