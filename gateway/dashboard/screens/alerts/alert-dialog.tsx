import { useState } from 'preact/hooks'
import { toHash } from '#dashboard/live/route.ts'
import { alertTexts, ON_MY_WAY } from '#dashboard/texts/alerts.ts'
import { formatAge, formatMoment } from '#dashboard/texts/format.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Dialog } from '#dashboard/ui/dialog.tsx'
import { Fault } from '#dashboard/ui/fault.tsx'
import { TextField } from '#dashboard/ui/text-field.tsx'
import type { AlertJson } from '#shared/wire/alerts.ts'
import { useAlertActions } from './acknowledge.ts'
import { alertTitle } from './alert-title.tsx'
import { detailsInWords } from './details.ts'

const NOTE_MAX = 500
const REPLY_MAX = 200

/** Details of an alert, with a field for a note; for a call, with one for the text on the screen of its cart. */
export function AlertDialog({ alert, onDone }: { alert: AlertJson; onDone: () => void }) {
  const { fleet, me, settings, site } = useDashboard()
  const texts = alertTexts()
  const isCall = alert.kind === 'call'
  const [words, setWords] = useState(isCall ? '' : (alert.note ?? ''))
  const { act, fault, isSending } = useAlertActions()
  const isLasting = alert.closed_at === null
  const isSeen = alert.acknowledged_at !== null
  const mayAct = me.value?.role !== 'user'
  const finish = (action: 'acknowledge' | 'close', reply = '') =>
    void act(action, [alert], isCall ? { reply: words.trim() || reply } : { note: words }, onDone)
  const names = isCall
    ? { first: texts.onMyWay, again: texts.sendReply }
    : { first: texts.acknowledge, again: texts.saveNote }
  const mayAdd = isLasting && (isCall ? words.trim() !== '' : alert.note === null)
  return (
    <Dialog title={alertTitle(alert, fleet)} onCancel={onDone}>
      <AlertFacts alert={alert} />
      {mayAct && isLasting && (
        <TextField
          name={isCall ? texts.reply : texts.note}
          hint={texts.optional}
          max={isCall ? REPLY_MAX : NOTE_MAX}
          isLong={!isCall}
          value={words}
          onInput={setWords}
        />
      )}
      <Fault text={fault} />
      <div class="dialog-buttons">
        <button type="button" class="button" onClick={onDone}>
          {texts.cancel}
        </button>
        {mayAct && (!isSeen || mayAdd) && (isLasting || !isCall) && (
          <button
            type="button"
            class="button main"
            disabled={isSending}
            onClick={() =>
              finish('acknowledge', isSeen ? '' : ON_MY_WAY[settings.value?.language ?? site.value.language])
            }
          >
            {isSeen ? names.again : names.first}
          </button>
        )}
        {mayAct && isLasting && (
          <button type="button" class="button" disabled={isSending} onClick={() => finish('close')}>
            {isCall ? texts.done : texts.close}
          </button>
        )}
        {alert.cart !== null && (
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
