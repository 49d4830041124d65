import 'uplot/dist/uPlot.min.css'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { CartDay } from '#dashboard/live/replay/cart-day.ts'
import type { ChartLine } from '#dashboard/live/replay/chart-columns.ts'
import type { Span } from '#dashboard/live/replay/playback.ts'
import { dayTexts } from '#dashboard/texts/day.ts'
import { formatNumber, unitName } from '#dashboard/texts/format.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { KM_PER_MILE } from '#shared/units.ts'
import { drawChart } from './chart.ts'

/** Charts of the cart's speed and battery over the day. */
export function DayCharts({ known, span }: { known: CartDay; span: Span }) {
  const { site } = useDashboard()
  const texts = dayTexts()
  const { units } = site.value
  const { atMs, speedKmh } = known.track
  const speeds = useMemo(
    () => ({ atMs, values: speedKmh.map((kmh) => (units === 'metric' ? kmh : kmh / KM_PER_MILE)) }),
    [atMs, speedKmh, units],
  )
  return (
    <>
      <Chart
        span={span}
        isFromZero
        hasHours={false}
        name={`${texts.speedChart} (${unitName('speed', units)})`}
        line={speeds}
        format={(speed) => formatNumber(speed, 0)}
      />
      <Chart
        span={span}
        isFromZero={false}
        hasHours
        name={`${texts.voltageChart} (V)`}
        line={{ atMs: known.voltages.atMs, values: known.voltages.voltageV }}
        format={(volts) => formatNumber(volts, 1)}
      />
    </>
  )
}

interface ChartProps {
  name: string
  line: ChartLine
  span: Span
  isFromZero: boolean
  hasHours: boolean
  format: (value: number) => string
}

function Chart({ name, line, span: { fromMs, toMs }, isFromZero, hasHours, format }: ChartProps) {
  const { site } = useDashboard()
  const element = useRef<HTMLDivElement>(null)
  const isDark = useDarkness()
  const { time_zone: timeZone } = site.value
  useEffect(() => {
    if (element.current === null) return
    const options = { span: { fromMs, toMs }, timeZone, isFromZero, hasHours, format }
    return drawChart(element.current, line, options)
  }, [line.values, fromMs, toMs, timeZone, isDark])
  return (
    <div class={hasHours ? 'day-chart hours' : 'day-chart'}>
      <span class="day-chart-name">{name}</span>
      <div ref={element} />
    </div>
  )
}

/** Redraws in dark mode, because a canvas has fixed colours. */
function useDarkness(): boolean {
  const [isDark, setIsDark] = useState(false)
  useEffect(() => {
    const darkness = matchMedia('(prefers-color-scheme: dark)')
    const update = () => setIsDark(darkness.matches)
    darkness.addEventListener('change', update)
    update()
    return () => darkness.removeEventListener('change', update)
  }, [])
  return isDark
}
