import { recordsToCsv } from '#dashboard/live/csv.ts'
import { byCart } from '#dashboard/live/reports/by-cart.ts'
import { reportTexts } from '#dashboard/texts/reports.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { type Column, Table } from '#dashboard/ui/lists/table.tsx'
import { saveCsv } from '#dashboard/ui/save-file.ts'
import { type DayLine, drawDays } from './day-chart.ts'
import { ReportPlaceholder } from './report-placeholder.tsx'
import { SpanStepper } from './span-stepper.tsx'
import type { useMonth } from './use-month.ts'
import 'uplot/dist/uPlot.min.css'
import { useEffect, useRef } from 'preact/hooks'
import { Button } from '#dashboard/ui/button.tsx'
import { useDarkness } from './use-dark-mode.ts'

interface MonthReportProps<Row extends { cart: string }> {
  of: ReturnType<typeof useMonth>
  /** Each day of each cart, for a spreadsheet. */
  file: { name: string; records: readonly object[] }
  waiting: { fault: string | null; again: () => void; isHere: boolean }
  title: string
  sum: string | null
  /** Columns after the cart's. */
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  chosen: string | null
  onChoose: (cart: string | null) => void
  chart: DaysChartProps | null
}

/** Monthly report: a line for each cart, and the days of one cart as a chart. */
export function MonthReport<Row extends { cart: string }>(props: MonthReportProps<Row>) {
  const { of, file, waiting, title, sum, columns, rows, chosen, onChoose, chart } = props
  const { site } = useDashboard()
  const texts = reportTexts()
  const cart: Column<Row> = {
    key: 'cart',
    title: texts.columns.cart,
    compare: byCart,
    cell: (row) => (
      <button
        type="button"
        class="bare link cut"
        aria-label={texts.show(row.cart)}
        aria-pressed={row.cart === chosen}
        onClick={() => onChoose(row.cart === chosen ? null : row.cart)}
      >
        {row.cart}
      </button>
    ),
  }
  return (
    <>
      <div class="bar">
        <SpanStepper name={of.name} onEarlier={of.onEarlier} onLater={of.onLater} />
        <Button
          text={texts.csv}
          disabled={file.records.length === 0}
          onClick={() => saveCsv(file.name, recordsToCsv(file.records, site.value.language))}
        />
        <Button text={texts.print} disabled={rows.length === 0} onClick={() => print()} />
      </div>
      <ReportPlaceholder {...waiting} message={waiting.isHere && rows.length === 0 ? texts.nothing : sum} />
      {chart !== null && <DaysChart {...chart} />}
      <Table
        label={`${title}, ${of.name}`}
        items={rows}
        columns={[cart, ...columns.map((column) => ({ ...column, is: 'number' as const }))]}
        chosen={chosen}
        keyOf={(row) => row.cart}
        rowPx={56}
      />
    </>
  )
}

interface DaysChartProps {
  name: string
  lines: readonly DayLine[]
  isBars: boolean
  format: (value: number) => string
}

/** Values by day of a month; the table has the same values. */
function DaysChart({ name, lines, isBars, format }: DaysChartProps) {
  const element = useRef<HTMLDivElement>(null)
  const isDark = useDarkness()
  useEffect(() => {
    if (element.current === null) return
    return drawDays(element.current, lines, { isBars, format })
  }, [lines, isBars, isDark])
  return (
    <figure class="report-chart">
      <figcaption class="strong">
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
