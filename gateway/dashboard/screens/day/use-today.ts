import { useMemo } from 'preact/hooks'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { TimeZone } from '#shared/site/time-zone.ts'

/** Returns the date in the course's time zone; null until the gateway has sent its time. */
export function useToday(): string | null {
  const { clock, second, site } = useDashboard()
  const { time_zone: name } = site.value
  const zone = useMemo(() => new TimeZone(name), [name])
  const nowMs = second.value >= 0 ? clock.nowMs() : 0
  return nowMs === 0 ? null : zone.local(nowMs).date
}
