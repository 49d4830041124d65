import type { ComponentChildren } from 'preact'
import { recordsToCsv } from '#dashboard/live/csv.ts'
import { reportTexts } from '#dashboard/texts/reports.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { saveCsv } from '#dashboard/ui/save-file.ts'
import { VirtualTable } from '#dashboard/ui/virtual-table.tsx'
import { type DayLine, drawDays } from './day-chart.ts'
import { ReportPlaceholder } from './report-placeholder.tsx'
import { SpanStepper } from './span-stepper.tsx'
import type { useMonth } from './use-month.ts'
import 'uplot/dist/uPlot.min.css'
import { useEffect, useRef } from 'preact/hooks'
import { useDarkness } from './use-dark-mode.ts'

/** Row of one cart: its cells, and a flag for its days being in the chart. */
export interface ReportRow {
  cart: string
  cells: readonly string[]
}

interface MonthReportProps<Sort extends string> {
  of: ReturnType<typeof useMonth>
  /** Each day of each cart, for a spreadsheet. */
  file: { name: string; records: readonly object[] }
  waiting: { fault: string | null; again: () => void; isHere: boolean }
  title: string
  sum: string | null
  columns: readonly string[]
  rows: readonly ReportRow[]
  sort: Sort
  sorts: Record<Sort, string>
  onSort: (sort: Sort) => void
  chosen: string | null
  onChoose: (cart: string | null) => void
  chart: {
    name: string
    lines: readonly DayLine[]
    isBars: boolean
    format: (value: number) => string
  } | null
}

const ROW_PX = 56

/** Monthly report: a line for each cart, and the days of one cart as a chart. */
export function MonthReport<Sort extends string>(props: MonthReportProps<Sort>) {
  const { of, file, waiting, title, sum, columns, rows, chosen, onChoose, chart } = props
  const { site } = useDashboard()
  const texts = reportTexts()
  return (
    <>
      <div class="report-tools">
        <SpanStepper name={of.name} onEarlier={of.onEarlier} onLater={of.onLater} />
        <SortChoice {...props} />
        <button
          type="button"
          class="button"
          disabled={file.records.length === 0}
          onClick={() => saveCsv(file.name, recordsToCsv(file.records, site.value.language))}
        >
          {texts.csv}
        </button>
        <button type="button" class="button" disabled={rows.length === 0} onClick={() => print()}>
          {texts.print}
        </button>
      </div>
      <ReportPlaceholder {...waiting} message={waiting.isHere && rows.length === 0 ? texts.nothing : sum} />
      {chart !== null && <DaysChart {...chart} />}
      <div class="report-table">
        <VirtualTable label={`${title}, ${of.name}`} items={rows} rowPx={ROW_PX} head={<Head columns={columns} />}>
          {({ cart, cells }) => (
            <tr key={cart} class={cart === chosen ? 'report-row chosen' : 'report-row'}>
              <td>
                <button
                  type="button"
                  class="report-cart cut"
                  aria-label={texts.show(cart)}
                  aria-pressed={cart === chosen}
                  onClick={() => onChoose(cart === chosen ? null : cart)}
                >
                  {cart}
                </button>
              </td>
              {cells.map((cell, i) => (
                <td key={columns[i + 1]}>{cell}</td>
              ))}
            </tr>
          )}
        </VirtualTable>
      </div>
      <Sheet title={title} columns={columns} rows={rows} sum={sum} name={of.name} />
    </>
  )
}

function SortChoice<Sort extends string>({
  sort,
  sorts,
  onSort,
}: Pick<MonthReportProps<Sort>, 'sort' | 'sorts' | 'onSort'>) {
  const texts = reportTexts()
  // the keys of the record are the sorts
  const names = Object.keys(sorts) as Sort[]
  return (
    <label class="report-choice">
      <span class="small">{texts.sort}</span>
      <select
        class="input"
        value={sort}
        onChange={({ currentTarget }) => {
          const chosen = names.find((name) => name === currentTarget.value)
          if (chosen !== undefined) onSort(chosen)
        }}
      >
        {names.map((name) => (
          <option key={name} value={name}>
            {sorts[name]}
          </option>
        ))}
      </select>
    </label>
  )
}

function Head({ columns }: { columns: readonly string[] }): ComponentChildren {
  return (
    <tr class="report-head">
      {columns.map((column) => (
        <th key={column}>{column}</th>
      ))}
    </tr>
  )
}

interface SheetProps extends Pick<MonthReportProps<string>, 'title' | 'columns' | 'rows' | 'sum'> {
  name: string
}

/** Printed version of the screen: all carts on one page. */
function Sheet({ title, name, columns, rows, sum }: SheetProps) {
  const { site } = useDashboard()
  return (
    <section class="report-sheet" aria-hidden="true">
      <h1 dir="auto">
        {title}, {name} {site.value.name}
      </h1>
      <p>{[sum, columns.join(' · ')].filter((text) => text !== null).join(' – ')}</p>
      <ul>
        {rows.map(({ cart, cells }) => (
          <li key={cart}>
            <b>{cart}</b> {cells.join(' · ')}
          </li>
        ))}
      </ul>
    </section>
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
