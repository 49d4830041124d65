import { useEffect, useMemo } from 'preact/hooks'
import { SiteZones } from '#dashboard/map/site-zones.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'

/** Reads the zones of the site for as long as the screen is open. */
export function useSiteZones(): SiteZones {
  const dashboard = useDashboard()
  const zones = useMemo(() => new SiteZones(dashboard), [dashboard])
  useEffect(() => {
    zones.start()
    return () => zones.stop()
  }, [zones])
  return zones
}
