import { formatMoment } from '#dashboard/texts/format.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'

/** Returns a formatter of times in the course's time zone. */
export function useMoments(): (at: string) => string {
  const { clock, site } = useDashboard()
  const { time_zone } = site.value
  return (at) => formatMoment(Date.parse(at), clock.nowMs(), time_zone)
}
