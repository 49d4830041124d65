import { useEffect, useState } from 'preact/hooks'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'

/** What rounds go by among the zones of the site. */
interface CourseHoles {
  /** How many holes have a zone. */
  holes: number
  hasParking: boolean
}

/** Null until it is known; asked for again when zones change. */
export function useCourseHoles(): CourseHoles | null {
  const { api, zones } = useDashboard()
  const [known, setKnown] = useState<CourseHoles | null>(null)
  const version = zones.value
  useEffect(() => {
    let isHere = true
    const ask = async () => {
      const { features } = await api.call('GET /zones')
      const enabled = features.map(({ properties }) => properties).filter((zone) => zone.enabled)
      const holes = new Set(
        enabled.flatMap(({ type, hole }) => (type === 'hole' && hole != null ? [hole] : [])),
      )
      if (isHere) setKnown({ holes: holes.size, hasParking: enabled.some(({ type }) => type === 'parking') })
    }
    // what is shown without it is right, and says less
    ask().catch(() => undefined)
    return () => {
      isHere = false
    }
  }, [api, version])
  return known
}
