import { useState } from 'preact/hooks'
import { formatMoment } from '#dashboard/texts/format.ts'
import { notifyTexts } from '#dashboard/texts/notify.ts'
import { Button } from '#dashboard/ui/button.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { SelectField } from '#dashboard/ui/fields/select-field.tsx'
import { Question } from '#dashboard/ui/question.tsx'
import { TextField } from '#dashboard/ui/text-field.tsx'
import type { MailReportJson } from '#shared/wire/notifiers.ts'
import { AdminList } from './more/admin-list.tsx'
import { useAdminList } from './more/use-admin-list.ts'
import { errorText } from './notify/error-text.ts'
import { TargetPanel } from './notify/target-panel.tsx'

/** Polling interval: mails send no realtime message. */
const RELOAD_EVERY_MS = 3_000
const TO_MAX = 320
const CLOSING = 'closing'
const MORNING = '06:00'

/** Reports that are sent by e-mail: a page of More, which provides its title. */
export function MailReportsPage() {
  const { api, clock, second, site } = useDashboard()
  const texts = notifyTexts()
  const nowMs = second.value >= 0 ? clock.nowMs() : 0
  const list = useAdminList(() => api.call('GET /mail-reports'), RELOAD_EVERY_MS)
  const [changed, change] = useState<MailReportJson | 'new' | null>(null)
  return (
    <>
      <p>{texts.reportsWhy}</p>
      <AdminList of={list}>
        {(reports) => (
          <>
            {reports.length === 0 && <p class="small">{texts.noReports}</p>}
            <ul class="stack">
              {reports.map((report) => {
                const path = { id: report.report_id }
                return (
                  <TargetPanel
                    key={report.report_id}
                    target={{
                      name: report.to,
                      when: whenOf(report, nowMs, site.value.time_zone),
                      last_success_at: report.last_sent_at,
                      last_error: report.last_error,
                      waiting: 0,
                    }}
                    means={texts.reportRemoveMeans}
                    onChange={() => change(report)}
                    onTest={() => api.call('POST /mail-reports/{id}/test', { path })}
                    onRemove={() => api.call('DELETE /mail-reports/{id}', { path }).then(list.again)}
                  />
                )
              })}
            </ul>
            <p>
              <Button text={texts.addReport} is="main" onClick={() => change('new')} />
            </p>
          </>
        )}
      </AdminList>
      {changed !== null && (
        <MailReportForm
          report={changed === 'new' ? null : changed}
          onDone={() => {
            change(null)
            void list.again()
          }}
        />
      )}
    </>
  )
}

/** "Day", "Half an hour after closing", "Next 20:30" */
function whenOf({ report, at, next_at }: MailReportJson, nowMs: number, zone: string): string[] {
  const texts = notifyTexts()
  const next = next_at === null ? [] : [texts.next(formatMoment(Date.parse(next_at), nowMs, zone))]
  return [texts.reports[report], at === CLOSING ? texts.atClosing : at, ...next]
}

/** Form for a report; null adds one. */
function MailReportForm({ report: known, onDone }: { report: MailReportJson | null; onDone: () => void }) {
  const { api, site } = useDashboard()
  const texts = notifyTexts()
  const [to, setTo] = useState(known?.to ?? '')
  const [report, setReport] = useState(known?.report ?? 'day')
  const [at, setAt] = useState(known?.at ?? MORNING)
  const [language, setLanguage] = useState(known?.language ?? site.value.language)
  const isClosing = report === 'day' && at === CLOSING
  const save = async () => {
    const body = { to: to.trim(), report, at: isClosing || at !== CLOSING ? at : MORNING, language }
    if (known === null) await api.call('POST /mail-reports', { body })
    else await api.call('PATCH /mail-reports/{id}', { path: { id: known.report_id }, body })
    onDone()
  }
  return (
    <Question
      title={known === null ? texts.addReport : texts.changeReport}
      action={texts.save}
      onCancel={onDone}
      onAnswer={save}
      refusal={errorText}
    >
      <TextField name={texts.to.email} max={TO_MAX} value={to} onInput={setTo} />
      <SelectField name={texts.period} value={report} options={texts.reports} onChoose={setReport} />
      {report === 'day' && (
        <SelectField
          name={texts.at}
          value={isClosing ? CLOSING : 'time'}
          options={{ time: texts.atTime, [CLOSING]: texts.atClosing }}
          onChoose={(chosen) => setAt(chosen === CLOSING ? CLOSING : MORNING)}
        />
      )}
      {!isClosing && (
        <label class="field">
          {texts.time}
          <input
            class="input"
            type="time"
            required
            value={at === CLOSING ? MORNING : at}
            onInput={({ currentTarget }) => setAt(currentTarget.value)}
          />
        </label>
      )}
      <SelectField name={texts.language} value={language} options={texts.languages} onChoose={setLanguage} />
    </Question>
  )
}
