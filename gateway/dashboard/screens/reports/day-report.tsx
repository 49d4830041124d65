import '../day/day.css'
import { useState } from 'preact/hooks'
import { alertTexts } from '#dashboard/texts/alerts.ts'
import { reportTexts } from '#dashboard/texts/reports.ts'
import { language } from '#dashboard/texts/texts.ts'
import { Button } from '#dashboard/ui/button.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { summarySections } from '#shared/wire/summaries/sections.ts'
import { DatePicker } from '../day/date-picker.tsx'
import { useToday } from '../day/use-today.ts'
import { ReportPlaceholder } from './report-placeholder.tsx'
import { useAnswer } from './use-answer.ts'

/** Report on a day: what the carts did, and what happened. */
export function DayReport() {
  const { api, site } = useDashboard()
  const texts = reportTexts()
  const today = useToday()
  const [asked, ask] = useState<string | null>(null)
  const date = asked ?? today ?? ''
  const { answer, fault, again } = useAnswer(date, (signal) =>
    api.call('GET /reports/day', { query: { date }, signal }),
  )
  const kinds = alertTexts().kinds
  const sections =
    answer === null
      ? []
      : summarySections(answer, { units: site.value.units, language: language.value, kindText: (kind) => kinds[kind] })
  return (
    <div class="day-report">
      <div class="row">
        {date !== '' && <DatePicker date={date} onDate={ask} />}
        <Button text={texts.print} disabled={answer === null} onClick={() => print()} />
      </div>
      {answer === null ? (
        <ReportPlaceholder fault={fault} again={again} message={null} isHere={false} />
      ) : (
        sections.map(([title, lines]) => (
          <section key={title} class="stack">
            <h2>{title}</h2>
            <dl class="day-report-lines">
              {lines.map(([label, value]) => (
                <div key={label}>
                  <dt>{label}</dt>
                  <dd>{value}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))
      )}
    </div>
  )
}
