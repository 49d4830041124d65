import './map/map.css'
import './course/course.css'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { toHash } from '#dashboard/live/route.ts'
import type { ShownCourse } from '#dashboard/map/course-base-map.ts'
import { LiveMap } from '#dashboard/map/live-map.tsx'
import { SiteZones } from '#dashboard/map/site-zones.ts'
import { courseTexts } from '#dashboard/texts/course.ts'
import { ButtonLink } from '#dashboard/ui/button.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { HelpLink } from '#dashboard/ui/help-link.tsx'
import { NotKnown } from '#dashboard/ui/not-known.tsx'
import type { CourseJson } from '#shared/wire/course.ts'
import { DrawingPanel } from './course/drawing-panel.tsx'
import { PhotoPanel } from './course/photo-panel.tsx'

/** Course screen: a course map from a file, and a photo placed below it. */
export function CourseScreen() {
  const dashboard = useDashboard()
  const texts = courseTexts()
  const zones = useMemo(() => new SiteZones(dashboard), [dashboard])
  useEffect(() => {
    zones.start()
    return () => zones.stop()
  }, [zones])
  const course = useCourse()
  const [drawing, setDrawing] = useState<ShownCourse['features']>()
  const [photo, setPhoto] = useState<ShownCourse['photo']>()
  const [touched, setTouched] = useState<[x: number, y: number] | null>(null)
  const shown = useMemo(
    (): ShownCourse => ({
      ...(drawing === undefined ? {} : { features: drawing }),
      ...(photo === undefined ? {} : { photo }),
    }),
    [drawing, photo],
  )
  const isAdmin = dashboard.me.value?.user.role === 'admin'
  return (
    <div class="split">
      <div class="split-map">
        <LiveMap zones={zones} shown={shown} onTap={(_, place) => setTouched(place)} />
      </div>
      <div class="side">
        <header class="row">
          <h1 class="grow">{texts.title}</h1>
          <HelpLink topic="course" />
        </header>
        <p>{texts.why}</p>
        {!isAdmin && <p>{texts.adminOnly}</p>}
        {isAdmin && course === null && <NotKnown />}
        {isAdmin && course !== null && (
          <>
            <DrawingPanel course={course} onPreview={setDrawing} />
            <PhotoPanel course={course} touched={touched} onPreview={setPhoto} />
          </>
        )}
        <ButtonLink text={texts.back} is="wide" href={toHash('map')} />
      </div>
    </div>
  )
}

/** Course as the gateway has it now; null until it was read. */
function useCourse(): CourseJson | null {
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
      // read again when the connection is back
      () => undefined,
    )
    return () => {
      isHere = false
    }
  }, [api, changes, isLive])
  return course
}
