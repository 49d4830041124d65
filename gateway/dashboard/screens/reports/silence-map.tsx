import { useEffect, useRef, useState } from 'preact/hooks'
import type { CourseMap } from '#dashboard/map/course-map.ts'
import { expandedExtent } from '#dashboard/map/first-view.ts'
import { extentOfPlaces } from '#dashboard/map/heat-layer.ts'
import { SilenceLayer } from '#dashboard/map/silence-layer.ts'
import { formatMoment, formatSpan } from '#dashboard/texts/format.ts'
import { reportTexts } from '#dashboard/texts/reports.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { VirtualList } from '#dashboard/ui/virtual-list.tsx'
import type { SilencesJson } from '#shared/wire/reports.ts'
import { ReportMap } from './report-map.tsx'
import { ReportPlaceholder } from './report-placeholder.tsx'
import { useAnswer } from './use-answer.ts'
import { useWeek } from './use-week.ts'

type SilenceJson = SilencesJson['silences'][number]

const ROW_PX = 64
const NONE: readonly SilenceJson[] = []

/** Map of the places at which carts lost their signal for a long time. */
export function SilenceMap() {
  const { api, clock, site } = useDashboard()
  const texts = reportTexts()
  const of = useWeek()
  const { range } = of
  const { answer, fault, again } = useAnswer(range.from, (signal) =>
    api.call('GET /reports/silence', { query: range, signal }),
  )
  const [map, setMap] = useState<CourseMap | null>(null)
  const [chosen, setChosen] = useState<SilenceJson | null>(null)
  const layer = useRef<SilenceLayer>(null)
  layer.current ??= new SilenceLayer()
  const silences = answer?.silences ?? NONE
  useEffect(() => layer.current?.show(silences, chosen), [silences, chosen])
  useEffect(() => {
    const extent = extentOfPlaces(silences)
    if (map !== null && extent !== null) map.show(expandedExtent(extent, 0.1))
  }, [map, silences])
  const choose = (silence: SilenceJson) => {
    setChosen(silence)
    const extent = extentOfPlaces([silence])
    if (extent !== null) map?.show(expandedExtent(extent, 0))
  }
  const whenOf = ({ at, until, duration }: SilenceJson) => {
    const moment = formatMoment(Date.parse(at), clock.nowMs(), site.value.time_zone)
    return until === null ? texts.stillSilent(moment) : texts.silentFor(moment, formatSpan(duration * 1000))
  }
  const isHere = answer !== null
  const message = !isHere ? null : answer.total === 0 ? texts.noSilence : texts.silences(answer.total)
  return (
    <ReportMap
      of={of}
      name={texts.names.silence}
      onReady={(ready) => {
        if (layer.current !== null) ready.add(layer.current.layer)
        setMap(ready)
      }}
    >
      <ReportPlaceholder fault={fault} again={again} isHere={isHere} message={message} />
      <VirtualList label={texts.listOf} items={silences} rowPx={ROW_PX} keyOf={({ cart, at }) => `${at} ${cart}`}>
        {(silence) => (
          <button
            type="button"
            class={silence === chosen ? 'line chosen' : 'line'}
            aria-pressed={silence === chosen}
            onClick={() => choose(silence)}
          >
            <span class="words">
              <b>{texts.rowOf(silence.cart)}</b>
              <span>{whenOf(silence)}</span>
            </span>
          </button>
        )}
      </VirtualList>
    </ReportMap>
  )
}
