import '../map/map.css'
import type { ComponentChildren } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import type { CourseMap } from '#dashboard/map/course-map.ts'
import { LiveMap } from '#dashboard/map/live-map.tsx'
import { NO_CARTS } from '#dashboard/map/no-carts.ts'
import { SiteZones } from '#dashboard/map/site-zones.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { SpanStepper } from './span-stepper.tsx'
import type { useWeek } from './use-week.ts'

interface ReportMapProps {
  of: ReturnType<typeof useWeek>
  name: string
  onReady: (map: CourseMap) => void
  children: ComponentChildren
}

/** Map of the course with the events of a week, and a text panel. */
export function ReportMap({ of, name, onReady, children }: ReportMapProps) {
  const dashboard = useDashboard()
  const zones = useMemo(() => new SiteZones(dashboard), [dashboard])
  useEffect(() => {
    zones.start()
    return () => zones.stop()
  }, [zones])
  return (
    <div class="split">
      <div class="split-map">
        <LiveMap zones={zones} fleet={NO_CARTS} onReady={onReady} onTap={() => undefined} />
      </div>
      <section class="side" aria-label={name}>
        <SpanStepper name={of.name} onEarlier={of.onEarlier} onLater={of.onLater} />
        {children}
      </section>
    </div>
  )
}
