import uPlot from 'uplot'

/** Values for each day of a month; null for a day without one. */
export interface DayLine {
  name: string
  values: readonly (number | null)[]
}

export interface DayChartOptions {
  /** True to draw the first line as bars from zero; otherwise all are lines, each with distinct dots. */
  isBars: boolean
  format: (value: number) => string
}

const LEFT_PX = 58
const BELOW_PX = 26
const HEIGHT_PX = 190

/** Draws a chart that fills the width of an element; the returned function removes it. */
export function drawDays(element: HTMLElement, lines: readonly DayLine[], options: DayChartOptions): () => void {
  const { isBars, format } = options
  const styles = getComputedStyle(element)
  const color = (name: string) => styles.getPropertyValue(name).trim()
  const days = lines[0]?.values.length ?? 0
  const axis = {
    stroke: color('--ink'),
    font: '14.5px "Atkinson Hyperlegible Next", system-ui, sans-serif',
    grid: { stroke: color('--line'), width: 1 },
    ticks: { show: false },
  }
  const series = lines.map((_, i): uPlot.Series => {
    const paths = isBars ? uPlot.paths.bars?.({ size: [0.7, 40] }) : undefined
    if (paths !== undefined) return { paths, fill: color('--out'), points: { show: false } }
    // distinguishable without colour, too
    const stroke = color(i === 0 ? '--out' : '--ink')
    const dash = i === 0 ? {} : { dash: [6, 4] }
    return { stroke, width: 2.5, spanGaps: true, ...dash, points: { size: 7, fill: stroke } }
  })
  const chart = new uPlot(
    {
      width: element.clientWidth,
      height: HEIGHT_PX,
      padding: [10, 14, 0, 0],
      legend: { show: false },
      cursor: { show: false },
      scales: {
        x: { time: false, range: [0.4, days + 0.6] },
        y: { range: (_, least, most) => scaleOf(least, most, isBars) },
      },
      axes: [
        { ...axis, size: BELOW_PX, space: 34, gap: 4, grid: { show: false }, incrs: [1, 2, 5, 10] },
        { ...axis, size: LEFT_PX, space: 34, gap: 6, values: (_, splits) => splits.map(format) },
      ],
      series: [{}, ...series],
    },
    [Array.from({ length: days }, (_, i) => i + 1), ...lines.map(({ values }) => [...values])],
    element,
  )
  const resized = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height: HEIGHT_PX }))
  resized.observe(element)
  return () => {
    resized.disconnect()
    chart.destroy()
  }
}

function scaleOf(least: number | null, most: number | null, isBars: boolean): [number, number] {
  if (least === null || most === null) return [0, 1]
  const room = Math.max(isBars ? 0.5 : 0.2, (most - least) * 0.1)
  return [isBars ? 0 : least - room, most + room]
}
