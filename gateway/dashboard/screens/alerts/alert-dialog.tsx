import { useState } from 'preact/hooks'
import { toHash } from '#dashboard/live/route.ts'
import { alertTexts } from '#dashboard/texts/alerts.ts'
import { formatAge, formatMoment } from '#dashboard/texts/format.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Dialog } from '#dashboard/ui/dialog.tsx'
import { TextField } from '#dashboard/ui/text-field.tsx'
import { ApiError } from '#shared/client.ts'
import type { AlertJson } from '#shared/wire/alerts.ts'
import { detailsInWords } from './details.ts'

const NOTE_MAX = 500

interface AlertDialogProps {
  /** Single alert, or several to acknowledge together. */
  alerts: readonly AlertJson[]
  title: string
  onDone: () => void
}

/** Details of an alert, with a field for a note. */
export function AlertDialog({ alerts, title, onDone }: AlertDialogProps) {
  const { api, gate, me } = useDashboard()
  const texts = alertTexts()
  const [note, setNote] = useState('')
  const [message, setMessage] = useState<string | null>(null)
  const mayAct = me.value?.role !== 'user'
  const act = async (action: 'acknowledge' | 'close') => {
    setMessage(texts.working)
    const body = { note: note.trim() === '' ? null : note.trim() }
    try {
      for (const { alert_id: id } of alerts)
        await gate.act(() => api.call(`POST /alerts/{id}/${action}`, { path: { id }, body }))
      onDone()
    } catch (error) {
      setMessage(texts.failed(whyNot(error)))
    }
  }
  const [alert] = alerts
  return (
    <Dialog title={title} onCancel={onDone}>
      {alerts.length === 1 && alert !== undefined && <AlertFacts alert={alert} />}
      {mayAct && alerts.some(isLasting) && (
        <TextField name={texts.note} hint={texts.optional} max={NOTE_MAX} isLong value={note} onInput={setNote} />
      )}
      <p role="status">{message}</p>
      <div class="dialog-buttons">
        <button type="button" class="button" onClick={onDone}>
          {texts.cancel}
        </button>
        {mayAct && alerts.some(({ acknowledged_at }) => acknowledged_at === null) && (
          <button type="button" class="button main" onClick={() => void act('acknowledge')}>
            {texts.acknowledge}
          </button>
        )}
        {mayAct && alerts.length === 1 && alerts.every(isLasting) && (
          <button type="button" class="button" onClick={() => void act('close')}>
            {texts.close}
          </button>
        )}
        {alerts.length === 1 && alert?.cart != null && (
          <a class="button" href={toHash('map', alert.cart)}>
            {texts.showCart}
          </a>
        )}
      </div>
    </Dialog>
  )
}

function AlertFacts({ alert }: { alert: AlertJson }) {
  const { clock, second, site } = useDashboard()
  const texts = alertTexts()
  const zone = site.value.time_zone
  const nowMs = second.value >= 0 ? clock.nowMs() : 0
  const time = (at: string) => formatMoment(Date.parse(at), nowMs, zone)
  const { opened_at, closed_at, acknowledged_at, acknowledged_by, note } = alert
  const details = detailsInWords(alert, zone)
  return (
    <div class="alert-facts">
      {details !== '' && <p dir="auto">{details}</p>}
      <p>{texts.opened(time(opened_at), formatAge(opened_at, nowMs))}</p>
      {acknowledged_at !== null && <p dir="auto">{texts.knows(acknowledged_by?.name ?? '–', time(acknowledged_at))}</p>}
      {note !== null && <p dir="auto">{`${texts.note}: ${note}`}</p>}
      {closed_at !== null && <p>{texts.over(time(closed_at))}</p>}
    </div>
  )
}

function isLasting({ closed_at }: AlertJson): boolean {
  return closed_at === null
}

function whyNot(error: unknown): string {
  const texts = alertTexts()
  if (!(error instanceof ApiError)) return texts.noContact
  return error.code === 'staff_required' ? texts.staffOnly : error.detail
}
