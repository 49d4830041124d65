import './map.css'
import { useSignal } from '@preact/signals'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import type { Dashboard } from '#dashboard/live/dashboard.ts'
import type { CartFilter } from '#dashboard/live/fleet/cart-filter.ts'
import { mapTexts } from '#dashboard/texts/map.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Icon, type IconName } from '#dashboard/ui/icons.tsx'
import type { CourseBaseMap, ShownCourse } from './course-base-map.ts'
import { CourseMap, type MapFleet } from './course-map.ts'
import type { Paces } from './markers.ts'
import type { Insets } from './placing.ts'
import { scaleOf } from './scale.ts'
import type { SiteZones } from './site-zones.ts'

interface LiveMapProps {
  zones: Pick<SiteZones, 'current'>
  /** Replaces the live carts. */
  fleet?: MapFleet
  filter?: CartFilter | null
  paces?: Paces
  chosen?: string | null
  /** Edges of the map that are covered. */
  insets?: Insets
  isUnpacked?: boolean
  /** Replaces the gateway's course map or photo. */
  shown?: ShownCourse
  /** True to restore the last view when it is opened again. */
  isKept?: boolean
  onTap: (cart: string | null, place: [x: number, y: number], near: readonly string[]) => void
  /** Called once when the map exists, for callers that add layers. */
  onReady?: (map: CourseMap) => void
}

const AS_IT_IS: ShownCourse = {}
const NO_INSETS: Insets = { top: 0, right: 0, bottom: 0, left: 0 }

/** Course with its carts, and the buttons of the map. */
export function LiveMap({
  zones,
  fleet: shownFleet,
  filter = null,
  paces = null,
  chosen = null,
  insets = NO_INSETS,
  isUnpacked = false,
  shown = AS_IT_IS,
  isKept = false,
  onTap,
  onReady,
}: LiveMapProps) {
  const dashboard = useDashboard()
  const fleet = shownFleet ?? dashboard.fleet
  const target = useRef<HTMLDivElement>(null)
  const tapped = useRef(onTap)
  tapped.current = onTap
  const map = useSignal<CourseMap | null>(null)
  const texts = mapTexts()
  const helpId = useId()
  useEffect(() => {
    if (target.current === null) return
    const courseMap = new CourseMap({
      fleet,
      zones: zones.current,
      words: mapTexts,
      isUnpacked,
      insets,
      location: () => dashboard.settings.value?.location ?? null,
      kept: isKept ? dashboard.keptView : null,
      onTap: (cart, place, near) => tapped.current(cart, place, near),
    })
    courseMap.start(target.current)
    map.value = courseMap
    onReady?.(courseMap)
    return () => {
      if (isKept) dashboard.keptView = courseMap.kept
      courseMap.stop()
    }
  }, [fleet, zones])
  const baseMap = useBaseMap(dashboard, map.value, shown)
  useEffect(() => {
    if (baseMap !== null) baseMap.shown = shown
  }, [baseMap, shown])
  const { top, right, bottom, left } = insets
  useEffect(() => {
    if (map.value !== null) map.value.insets = { top, right, bottom, left }
  }, [map.value, top, right, bottom, left])
  useEffect(() => {
    if (map.value !== null) map.value.filter = filter
  }, [map.value, filter])
  useEffect(() => {
    if (map.value !== null) map.value.paces = paces
  }, [map.value, paces])
  useEffect(() => {
    if (map.value !== null) map.value.chosen = chosen
  }, [map.value, chosen])
  return (
    <div class="live-map">
      <div
        ref={target}
        class="map-ground"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys, + and - move it
        tabIndex={0}
        role="application"
        aria-label={texts.mapOfCourse}
        aria-describedby={helpId}
      />
      <p id={helpId} class="visually-hidden">
        {texts.mapHelp}
      </p>
      {map.value !== null && <MapButtons map={map.value} />}
      {map.value?.isPlaced === true && <MapScale map={map.value} />}
      {baseMap !== null && <MapCredit baseMap={baseMap} />}
    </div>
  )
}

/** Adds the course below a map, if there is one. Its code and data load after the map: carts do not wait for them. */
function useBaseMap(dashboard: Dashboard, map: CourseMap | null, shown: ShownCourse): CourseBaseMap | null {
  const [baseMap, setBaseMap] = useState<CourseBaseMap | null>(null)
  const isWanted = useHasCourse(dashboard) || Object.keys(shown).length > 0
  useEffect(() => {
    if (map === null || !isWanted) return
    let started: CourseBaseMap | undefined
    let isHere = true
    import('./course-base-map.ts').then(
      ({ CourseBaseMap }) => {
        if (!isHere) return
        started = new CourseBaseMap(dashboard, map)
        started.start()
        setBaseMap(started)
      },
      // zones and carts are shown without it
      () => undefined,
    )
    return () => {
      isHere = false
      started?.stop()
    }
  }, [dashboard, map, isWanted])
  return baseMap
}

/** True if the gateway has a course map or photo, or had one since the first check. */
function useHasCourse(dashboard: Dashboard): boolean {
  const [hasCourse, setHasCourse] = useState(false)
  useEffect(() => {
    if (hasCourse) return
    let isHere = true
    const update = () =>
      dashboard.api.call('GET /course').then(
        ({ features, photo }) => isHere && setHasCourse(features.length > 0 || photo !== null),
        () => undefined,
      )
    void update()
    const stop = dashboard.listen(({ type }) => {
      if (type === 'course_changed' || type === 'snapshot') void update()
    })
    return () => {
      isHere = false
      stop()
    }
  }, [dashboard, hasCourse])
  return hasCourse
}

function MapCredit({ baseMap }: { baseMap: CourseBaseMap }) {
  const credit = baseMap.course.value?.attribution ?? null
  return credit === null ? null : <p class="map-credit">{credit}</p>
}

function MapButtons({ map }: { map: CourseMap }) {
  const texts = mapTexts()
  const buttons: [IconName, string, () => void][] = [
    ['plus', texts.closer, () => map.zoomBy(1)],
    ['minus', texts.further, () => map.zoomBy(-1)],
    ['home', texts.wholeCourse, () => map.home()],
  ]
  const element = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const [buttons, area] = [element.current, element.current?.parentElement]
    if (buttons === null || area == null) return
    const update = () => {
      const { offsetLeft: left, offsetTop: top, offsetWidth, offsetHeight } = buttons
      map.buttons = { left, top, right: left + offsetWidth, bottom: top + offsetHeight }
    }
    const observer = new ResizeObserver(update)
    for (const one of [area, buttons]) observer.observe(one)
    return () => observer.disconnect()
  }, [map])
  return (
    <div ref={element} class="map-buttons">
      {buttons.map(([icon, label, act]) => (
        <button key={icon} type="button" aria-label={label} title={label} onClick={act}>
          <Icon name={icon} />
        </button>
      ))}
    </div>
  )
}

/** Scale bar, and a north arrow on a rotated map. */
function MapScale({ map }: { map: CourseMap }) {
  const { site } = useDashboard()
  const { metresPerPx, rotation } = map.labels.value
  const { widthPx, label } = scaleOf(metresPerPx, site.value.units)
  return (
    <div class="map-scale" aria-hidden="true">
      {rotation !== 0 && (
        <svg width="28" height="34" viewBox="0 0 28 34" aria-hidden="true">
          <g transform={`rotate(${Math.round((rotation * 180) / Math.PI)} 14 17)`}>
            <path d="M14 3l7 12H7Z" />
            <path d="M14 15v16" />
          </g>
        </svg>
      )}
      {rotation !== 0 && <span>N</span>}
      <svg width={Math.ceil(widthPx) + 4} height="14" viewBox={`0 0 ${Math.ceil(widthPx) + 4} 14`} aria-hidden="true">
        <path d={`M2 2v10H${Math.round(widthPx) + 2}V2`} />
      </svg>
      <span>{label}</span>
    </div>
  )
}
