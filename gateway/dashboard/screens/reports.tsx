import './reports/reports.css'
import type { ComponentType } from 'preact'
import { toHash } from '#dashboard/live/route.ts'
import { reportTexts } from '#dashboard/texts/reports.ts'
import { shellTexts } from '#dashboard/texts/shell.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { HelpLink } from '#dashboard/ui/help-link.tsx'
import { Icon } from '#dashboard/ui/icons.tsx'
import { lazy } from '#dashboard/ui/lazy.tsx'
import { BatteryReport } from './reports/battery-report.tsx'
import { UseReport } from './reports/use-report.tsx'

const NAMES = ['use', 'batteries', 'traffic', 'silence'] as const
export type ReportName = (typeof NAMES)[number]

const REPORTS: Record<ReportName, ComponentType> = {
  use: UseReport,
  batteries: BatteryReport,
  // the map is code of its own
  traffic: lazy(() => import('./reports/traffic-map.tsx').then(({ TrafficMap }) => TrafficMap)),
  silence: lazy(() => import('./reports/silence-map.tsx').then(({ SilenceMap }) => SilenceMap)),
}

/** What carts did: their use and their packs by month, their traffic and their silences on the map. */
export function ReportsScreen() {
  const { router, line, clock } = useDashboard()
  const texts = reportTexts()
  const [, asked] = (router.route.value.rest ?? '').split('/')
  const name = NAMES.find((one) => one === asked) ?? 'use'
  const Report = REPORTS[name]
  // which month and week it is the gateway says with its first message
  const isTimeKnown = line.state.value.kind !== 'ended' && clock.nowMs() > 0
  return (
    <div class="reports">
      <header class="reports-top">
        <a class="button" href={toHash('more')} aria-label={texts.back}>
          <Icon name="back" />
        </a>
        <h1>{texts.title}</h1>
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
