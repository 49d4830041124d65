import { useMemo, useState } from 'preact/hooks'
import { hoursByDay, sortedUse, type UseSort, useByCart } from '#dashboard/live/reports/by-cart.ts'
import { daysIn } from '#dashboard/live/reports/months.ts'
import { formatDistance, formatNumber } from '#dashboard/texts/format.ts'
import { reportTexts } from '#dashboard/texts/reports.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { MonthReport } from './month-report.tsx'
import { useAnswer } from './use-answer.ts'
import { useMonth } from './use-month.ts'

/** How long each cart was out in a month and how far it drove. */
export function UseReport() {
  const { api, site } = useDashboard()
  const texts = reportTexts()
  const of = useMonth()
  const { month } = of
  const { answer, fault, again } = useAnswer(month, (signal) =>
    api.call('GET /reports/utilisation', { query: { month }, signal }),
  )
  const [sort, setSort] = useState<UseSort>('hours')
  const [chosen, setChosen] = useState<string | null>(null)
  const uses = useMemo(() => sortedUse(useByCart(answer?.rows ?? []), sort), [answer, sort])
  const rows = answer?.rows ?? []
  const lines = useMemo(() => {
    const shown = chosen === null ? rows : rows.filter(({ cart }) => cart === chosen)
    return [{ name: texts.columns.hours, values: hoursByDay(shown, daysIn(month)) }]
  }, [answer, chosen, month])
  const { units } = site.value
  const hours = (value: number) => formatNumber(value, 1)
  const total = uses.reduce((sum, use) => sum + use.hours, 0)
  const totalM = uses.reduce((sum, use) => sum + use.distanceM, 0)
  const who = chosen === null ? texts.allCarts : texts.cart(chosen)
  return (
    <MonthReport
      {...{ of, sort, chosen }}
      file={{ name: `utilisation-${month}.csv`, records: answer?.rows ?? [] }}
      waiting={{ fault, again, isHere: answer !== null }}
      title={texts.names.use}
      sum={uses.length === 0 ? null : texts.sum(uses.length, hours(total), formatDistance(totalM, units))}
      columns={[texts.columns.cart, texts.columns.rounds, texts.columns.hours, texts.columns.distance]}
      rows={uses.map((use) => ({
        cart: use.cart,
        cells: [String(use.rounds), hours(use.hours), formatDistance(use.distanceM, units)],
      }))}
      sorts={texts.useSorts}
      onSort={setSort}
      onChoose={setChosen}
      chart={
        uses.length === 0
          ? null
          : { name: texts.chartUse(who), lines, isBars: true, format: (value) => formatNumber(value, 0) }
      }
    />
  )
}
