import uPlot from 'uplot'
import { type ChartLine, columnsOf } from '#dashboard/live/replay/chart-columns.ts'
import type { Span } from '#dashboard/live/replay/playback.ts'
import { formatTime } from '#dashboard/texts/format.ts'

export interface ChartOptions {
  span: Span
  timeZone: string
  /** True for a scale that begins at zero, as for speeds; voltages would be a flat line then. */
  isFromZero: boolean
  /** True to show the hours below. */
  hasHours: boolean
  format: (value: number) => string
}

/** Same values as `--lane-left` and `--lane-right` in time-bar.css: charts, marks and slider share one time axis. */
const LEFT_PX = 56
const RIGHT_PX = 24
const HOURS_PX = 22
const HEIGHT_PX = 64

/** Draws a chart that fills the width of an element; the returned function removes it. */
export function drawChart(element: HTMLElement, line: ChartLine, options: ChartOptions): () => void {
  const { span, timeZone, isFromZero, hasHours, format } = options
  const colors = getComputedStyle(element)
  const color = (name: string) => colors.getPropertyValue(name).trim()
  const height = HEIGHT_PX + (hasHours ? HOURS_PX : 0)
  const axis = {
    stroke: color('--ink'),
    font: '14.5px "Atkinson Hyperlegible Next", system-ui, sans-serif',
    grid: { stroke: color('--line'), width: 1 },
    ticks: { show: false },
  }
  const chart = new uPlot(
    {
      width: element.clientWidth,
      height,
      padding: [8, RIGHT_PX, hasHours ? 0 : 6, 0],
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), timeZone),
      legend: { show: false },
      cursor: { show: false },
      scales: {
        x: { time: true, range: [span.fromMs / 1000, span.toMs / 1000] },
        y: { range: (_, least, most) => scaleOf(least, most, isFromZero) },
      },
      axes: [
        {
          ...axis,
          show: hasHours,
          size: HOURS_PX,
          space: 60,
          gap: 2,
          values: (_, splits) => splits.map((seconds) => formatTime(seconds * 1000, timeZone)),
        },
        {
          ...axis,
          size: LEFT_PX,
          space: 26,
          gap: 6,
          values: (_, splits) => splits.map(format),
        },
      ],
      series: [{}, { stroke: color('--out'), width: 1.5, points: { show: false } }],
    },
    columnsOf(line),
    element,
  )
  const resized = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height }))
  resized.observe(element)
  return () => {
    resized.disconnect()
    chart.destroy()
  }
}

function scaleOf(least: number | null, most: number | null, isFromZero: boolean): [number, number] {
  if (least === null || most === null) return [0, 1]
  const room = Math.max(isFromZero ? 1 : 0.2, (most - least) * 0.1)
  return [isFromZero ? 0 : least - room, most + room]
}
