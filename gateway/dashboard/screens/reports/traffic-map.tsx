import { useEffect, useRef, useState } from 'preact/hooks'
import { classesOf } from '#dashboard/live/reports/classes.ts'
import type { CourseMap } from '#dashboard/map/course-map.ts'
import { extentOfPlaces, HEAT_COLORS, HEAT_SHARES, HeatLayer } from '#dashboard/map/heat-layer.ts'
import { formatLength, formatSpan } from '#dashboard/texts/format.ts'
import { reportTexts } from '#dashboard/texts/reports.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { ReportMap } from './report-map.tsx'
import { ReportPlaceholder } from './report-placeholder.tsx'
import { useAnswer } from './use-answer.ts'
import { useDarkness } from './use-dark-mode.ts'
import { useWeek } from './use-week.ts'

const SIGN_PX = 26

/** Map of the areas in which carts spent their time in a week. */
export function TrafficMap() {
  const { api } = useDashboard()
  const texts = reportTexts()
  const of = useWeek()
  const { range } = of
  const { answer, fault, again } = useAnswer(range.from, (signal) =>
    api.call('GET /reports/traffic', { query: range, signal }),
  )
  const [map, setMap] = useState<CourseMap | null>(null)
  const layer = useRef<HeatLayer>(null)
  layer.current ??= new HeatLayer()
  const isDark = useDarkness()
  const classes = classesOf((answer?.cells ?? []).map(({ seconds }) => seconds))
  useEffect(() => {
    layer.current?.show(answer ?? { cell_m: 1, cells: [] }, classes, isDark)
  }, [answer, isDark])
  useEffect(() => {
    const extent = extentOfPlaces(answer?.cells ?? [])
    if (map !== null && extent !== null) map.show(extent)
  }, [map, answer])
  const isHere = answer !== null
  return (
    <ReportMap
      of={of}
      name={texts.names.traffic}
      onReady={(ready) => {
        if (layer.current !== null) ready.add(layer.current.layer)
        setMap(ready)
      }}
    >
      <ReportPlaceholder
        fault={fault}
        again={again}
        isHere={isHere}
        message={isHere && answer.cells.length === 0 ? texts.noTraffic : null}
      />
      {isHere && answer.cells.length > 0 && <Legend classes={classes} cellM={answer.cell_m} isDark={isDark} />}
    </ReportMap>
  )
}

/** Legend for the colours and sizes of the squares. */
function Legend({ classes, cellM, isDark }: { classes: readonly number[]; cellM: number; isDark: boolean }) {
  const texts = reportTexts()
  const { site } = useDashboard()
  const colors = HEAT_COLORS[isDark ? 'dark' : 'light']
  const span = (seconds: number) => formatSpan(seconds * 1000)
  const [first] = classes
  const names = [
    ...(first === undefined ? [] : [texts.lessThan(span(first))]),
    ...classes.map((least) => texts.from(span(least))),
  ]
  return (
    <section class="stack">
      <h2>{texts.legend}</h2>
      <ul class="stack">
        {names.map((name, i) => {
          const side = SIGN_PX * (HEAT_SHARES[i] ?? 1)
          return (
            <li key={name} class="row">
              <svg width={SIGN_PX} height={SIGN_PX} viewBox={`0 0 ${SIGN_PX} ${SIGN_PX}`} aria-hidden="true">
                <rect x={(SIGN_PX - side) / 2} y={(SIGN_PX - side) / 2} width={side} height={side} fill={colors[i]} />
              </svg>
              {name}
            </li>
          )
        })}
      </ul>
      <p class="small">{texts.squares(formatLength(cellM, site.value.units))}</p>
    </section>
  )
}
