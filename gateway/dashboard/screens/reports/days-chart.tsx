import 'uplot/dist/uPlot.min.css'
import { useEffect, useRef } from 'preact/hooks'
import { type DayLine, drawDays } from './day-chart.ts'
import { useDarkness } from './use-darkness.ts'

interface DaysChartProps {
  name: string
  lines: readonly DayLine[]
  isBars: boolean
  format: (value: number) => string
}

/** Values by the days of a month; what it shows stands in the table too. */
export function DaysChart({ name, lines, isBars, format }: DaysChartProps) {
  const element = useRef<HTMLDivElement>(null)
  const isDark = useDarkness()
  useEffect(() => {
    if (element.current === null) return
    return drawDays(element.current, lines, { isBars, format })
  }, [lines, isBars, isDark])
  return (
    <figure class="report-chart">
      <figcaption>
        {name}
        {lines.length > 1 && (
          <span class="report-lines">
            {lines.map((line, i) => (
              <span key={line.name} class={i === 0 ? 'report-line' : 'report-line dashed'}>
                {line.name}
              </span>
            ))}
          </span>
        )}
      </figcaption>
      <div ref={element} />
    </figure>
  )
}
