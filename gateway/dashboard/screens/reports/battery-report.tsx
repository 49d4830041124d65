import { useMemo, useState } from 'preact/hooks'
import { packByCart, unknownLast, voltsByDay } from '#dashboard/live/reports/by-cart.ts'
import { daysIn } from '#dashboard/live/reports/months.ts'
import { formatNumber, formatVoltage } from '#dashboard/texts/format.ts'
import { reportTexts } from '#dashboard/texts/reports.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { MonthReport } from './month-report.tsx'
import { useAnswer } from './use-answer.ts'
import { useMonth } from './use-month.ts'

/** Battery report: morning and lowest voltages of each cart in a month; the weakest first. */
export function BatteryReport() {
  const { api } = useDashboard()
  const texts = reportTexts()
  const of = useMonth()
  const { month } = of
  const { answer, fault, again } = useAnswer(month, (signal) =>
    api.call('GET /reports/battery', { query: { month }, signal }),
  )
  const [chosen, setChosen] = useState<string | null>(null)
  const packs = useMemo(
    () => packByCart(answer?.rows ?? []).sort((a, b) => unknownLast(a.morningV, b.morningV)),
    [answer],
  )
  // by default the top cart, which is the most relevant
  const shown = packs.find(({ cart }) => cart === chosen) ?? packs[0]
  const lines = useMemo(() => {
    const rows = shown?.rows ?? []
    return [
      { name: texts.morningLine, values: voltsByDay(rows, daysIn(month), 'rest_voltage_morning') },
      { name: texts.lowestLine, values: voltsByDay(rows, daysIn(month), 'lowest_voltage') },
    ]
  }, [shown, month, texts])
  const volts = (value: number | null) => (value === null ? texts.unknown : formatVoltage(value))
  const signed = (value: number | null) =>
    value === null ? texts.unknown : `${value > 0 ? '+' : ''}${formatVoltage(value)}`
  return (
    <MonthReport
      of={of}
      chosen={chosen}
      file={{ name: `battery-${month}.csv`, records: answer?.rows ?? [] }}
      waiting={{ fault, again, isHere: answer !== null }}
      title={texts.names.batteries}
      sum={packs.length === 0 ? null : texts.chooseCart}
      columns={[
        {
          key: 'morning',
          title: texts.columns.morning,
          compare: (a, b) => unknownLast(a.morningV, b.morningV),
          cell: (pack) => volts(pack.morningV),
        },
        {
          key: 'trend',
          title: texts.columns.trend,
          compare: (a, b) => unknownLast(a.trendV, b.trendV),
          cell: (pack) => signed(pack.trendV),
        },
        {
          key: 'lowest',
          title: texts.columns.lowest,
          compare: (a, b) => unknownLast(a.lowestV, b.lowestV),
          cell: (pack) => volts(pack.lowestV),
        },
      ]}
      rows={packs}
      onChoose={setChosen}
      chart={
        shown === undefined
          ? null
          : {
              name: texts.chartPack(texts.cart(shown.cart)),
              lines,
              isBars: false,
              format: (value) => formatNumber(value, 1),
            }
      }
    />
  )
}
