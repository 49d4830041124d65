import { useEffect, useState } from 'preact/hooks'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import type { CourseJson } from '#shared/wire/course.ts'

/** The course as the gateway has it now; null until it was read. */
export function useCourse(): CourseJson | null {
  const dashboard = useDashboard()
  const { api, line } = dashboard
  const [course, setCourse] = useState<CourseJson | null>(null)
  const [changes, setChanges] = useState(0)
  const isLive = line.state.value.kind === 'live'
  useEffect(
    () => dashboard.listen(({ type }) => type === 'course_changed' && setChanges((count) => count + 1)),
    [dashboard],
  )
  useEffect(() => {
    let isHere = true
    api.call('GET /course').then(
      (read) => isHere && setCourse(read),
      // it is read again when the line is back
      () => undefined,
    )
    return () => {
      isHere = false
    }
  }, [api, changes, isLive])
  return course
}
