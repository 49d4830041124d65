import { useEffect, useMemo, useState } from 'preact/hooks'
import { groupsIn, NO_OWN_ZONES, type OwnZones, readOwnZones } from '#dashboard/live/replay/own-zones.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'

/** Returns the own zones of all groups with devices; empty before they are read, and for players, who may not. */
export function useOwnZones(): OwnZones {
  const { api, fleet, me, zones } = useDashboard()
  const [own, setOwn] = useState(NO_OWN_ZONES)
  const groups = useMemo(() => groupsIn(fleet), [fleet]).value
  const mayRead = me.value !== null && me.value.user.role !== 'user'
  useEffect(() => {
    if (!mayRead || groups === '') return setOwn(NO_OWN_ZONES)
    const reading = new AbortController()
    readOwnZones(api, groups.split(',').map(Number), reading.signal).then(setOwn, () => {
      // the last read zones stay in use
    })
    return () => reading.abort()
  }, [api, mayRead, groups, zones.value])
  return own
}
