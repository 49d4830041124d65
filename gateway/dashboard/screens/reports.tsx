import './reports/reports.css'
import type { ComponentType } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { hoursByDay, useByCart } from '#dashboard/live/reports/by-cart.ts'
import { daysIn } from '#dashboard/live/reports/months.ts'
import { toHash } from '#dashboard/live/route.ts'
import { formatDistance, formatNumber } from '#dashboard/texts/format.ts'
import { reportTexts } from '#dashboard/texts/reports.ts'
import { shellTexts } from '#dashboard/texts/shell.ts'
import { BackToMore } from '#dashboard/ui/back-to-more.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { HelpLink } from '#dashboard/ui/help-link.tsx'
import { lazy } from '#dashboard/ui/lazy.tsx'
import { BatteryReport } from './reports/battery-report.tsx'
import { DayReport } from './reports/day-report.tsx'
import { MonthReport } from './reports/month-report.tsx'
import { useAnswer } from './reports/use-answer.ts'
import { useMonth } from './reports/use-month.ts'

const NAMES = ['day', 'use', 'batteries', 'traffic', 'silence'] as const
export type ReportName = (typeof NAMES)[number]

const REPORTS: Record<ReportName, ComponentType> = {
  day: DayReport,
  use: UseReport,
  batteries: BatteryReport,
  // loaded separately, because of the map's code
  traffic: lazy(() => import('./reports/traffic-map.tsx').then(({ TrafficMap }) => TrafficMap)),
  silence: lazy(() => import('./reports/silence-map.tsx').then(({ SilenceMap }) => SilenceMap)),
}

/** Reports screen: usage and batteries by month, traffic and signal losses on the map. */
export function ReportsScreen() {
  const { router, line, clock } = useDashboard()
  const texts = reportTexts()
  const [, asked] = (router.route.value.rest ?? '').split('/')
  const name = NAMES.find((one) => one === asked) ?? 'use'
  const Report = REPORTS[name]
  // the present month and week follow from the time in the gateway's first message
  const isTimeKnown = line.state.value.kind !== 'ended' && clock.nowMs() > 0
  return (
    <div class="screen-column">
      <header class="bar">
        <BackToMore />
        <h1 class="grow">{texts.title}</h1>
        <nav class="reports-names" aria-label={texts.title}>
          {NAMES.map((one) => (
            <a
              key={one}
              class={one === name ? 'button main' : 'button'}
              href={`${toHash('more')}/reports/${one}`}
              aria-current={one === name ? 'page' : undefined}
            >
              {texts.names[one]}
            </a>
          ))}
        </nav>
        <HelpLink topic="reports" />
        <p class="reports-why">{texts.why[name]}</p>
      </header>
      {isTimeKnown ? <Report key={name} /> : <p class="reports-says">{shellTexts().loading} …</p>}
    </div>
  )
}

/** Usage report: time out and distance of each cart in a month. */
function UseReport() {
  const { api, site } = useDashboard()
  const texts = reportTexts()
  const of = useMonth()
  const { month } = of
  const { answer, fault, again } = useAnswer(month, (signal) =>
    api.call('GET /reports/utilisation', { query: { month }, signal }),
  )
  const [chosen, setChosen] = useState<string | null>(null)
  const uses = useMemo(() => useByCart(answer?.rows ?? []).sort((a, b) => b.hours - a.hours), [answer])
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
      of={of}
      chosen={chosen}
      file={{ name: `utilisation-${month}.csv`, records: answer?.rows ?? [] }}
      waiting={{ fault, again, isHere: answer !== null }}
      title={texts.names.use}
      sum={uses.length === 0 ? null : texts.sum(uses.length, hours(total), formatDistance(totalM, units))}
      columns={[
        {
          key: 'rounds',
          title: texts.columns.rounds,
          compare: (a, b) => a.rounds - b.rounds,
          cell: (use) => use.rounds,
        },
        {
          key: 'hours',
          title: texts.columns.hours,
          compare: (a, b) => a.hours - b.hours,
          cell: (use) => hours(use.hours),
        },
        {
          key: 'distance',
          title: texts.columns.distance,
          compare: (a, b) => a.distanceM - b.distanceM,
          cell: (use) => formatDistance(use.distanceM, units),
        },
      ]}
      rows={uses}
      onChoose={setChosen}
      chart={
        uses.length === 0
          ? null
          : { name: texts.chartUse(who), lines, isBars: true, format: (value) => formatNumber(value, 0) }
      }
    />
  )
}
