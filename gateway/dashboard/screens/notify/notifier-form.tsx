import { useState } from 'preact/hooks'
import { notifyTexts } from '#dashboard/texts/notify.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { TickField } from '#dashboard/ui/fields/tick-field.tsx'
import { Question } from '#dashboard/ui/question.tsx'
import { TextField } from '#dashboard/ui/text-field.tsx'
import type { AlertKind } from '#shared/wire/alert-kinds.ts'
import type { NotifierChannel, NotifierJson } from '#shared/wire/notifiers.ts'
import { errorText } from './error-text.ts'
import { KindsField } from './kinds-field.tsx'

const CHANNELS = ['email', 'ntfy', 'telegram'] as const
const TO_MAX = 2_000
const TOKEN_MAX = 500

interface NotifierFormProps {
  /** Notifier to change, whose channel is fixed; without it a new one is added. */
  notifier?: NotifierJson
  onDone: () => void
}

/** Form for a person who receives alerts by e-mail, ntfy or Telegram. */
export function NotifierForm({ notifier, onDone }: NotifierFormProps) {
  const { api } = useDashboard()
  const texts = notifyTexts()
  const [channel, setChannel] = useState<NotifierChannel>(notifier?.channel ?? 'email')
  const [to, setTo] = useState(notifier?.to ?? '')
  const [token, setToken] = useState('')
  const [kinds, setKinds] = useState<AlertKind[] | null>(notifier?.kinds ?? null)
  const [between, setBetween] = useState<[string, string] | null>(notifier?.between ?? null)
  const [after, setAfter] = useState(String(notifier?.after_unacknowledged_min ?? ''))
  const save = async () => {
    const hasToken = channel !== 'email' && token.trim() !== ''
    const body = {
      to: to.trim(),
      kinds,
      between,
      ...(hasToken ? { token: token.trim() } : {}),
      after_unacknowledged_min: after === '' ? null : Number(after),
    }
    if (notifier === undefined) await api.call('POST /notifiers', { body: { channel, ...body } })
    else await api.call('PATCH /notifiers/{id}', { path: { id: notifier.notifier_id }, body })
    onDone()
  }
  return (
    <Question
      title={notifier === undefined ? texts.addNotifier : texts.changeNotifier}
      action={texts.save}
      onCancel={onDone}
      onAnswer={save}
      refusal={errorText}
    >
      <fieldset class="ticks" disabled={notifier !== undefined}>
        <legend>{texts.channel}</legend>
        {CHANNELS.map((one) => (
          <label key={one} class="tick">
            <input type="radio" name="channel" checked={one === channel} onChange={() => setChannel(one)} />
            {texts.channels[one]}
          </label>
        ))}
      </fieldset>
      <TextField name={texts.to[channel]} max={TO_MAX} value={to} onInput={setTo} />
      {channel !== 'email' && (
        <TextField
          name={texts.token[channel]}
          hint={notifier !== undefined ? texts.tokenStays : channel === 'ntfy' ? texts.optional : undefined}
          max={TOKEN_MAX}
          isSecret
          value={token}
          onInput={setToken}
        />
      )}
      <KindsField kinds={kinds} onKinds={setKinds} />
      <BetweenField between={between} onBetween={setBetween} />
      <div class="field">
        <label for="after-min">{texts.after}</label>
        <input
          id="after-min"
          type="number"
          min={0}
          max={1_440}
          step="any"
          placeholder={texts.afterHint}
          value={after}
          onInput={({ currentTarget }) => setAfter(currentTarget.value)}
        />
      </div>
    </Question>
  )
}

interface BetweenFieldProps {
  between: [string, string] | null
  onBetween: (between: [string, string] | null) => void
}

function BetweenField({ between, onBetween }: BetweenFieldProps) {
  const texts = notifyTexts()
  return (
    <div>
      <TickField
        name={texts.onlyNight}
        isOn={between !== null}
        onChange={(isOn) => onBetween(isOn ? ['20:00', '07:00'] : null)}
      />
      {between !== null && (
        <div class="row">
          <label class="field">
            {texts.from}
            <input
              type="time"
              required
              value={between[0]}
              onInput={({ currentTarget }) => onBetween([currentTarget.value, between[1]])}
            />
          </label>
          <label class="field">
            {texts.until}
            <input
              type="time"
              required
              value={between[1]}
              onInput={({ currentTarget }) => onBetween([between[0], currentTarget.value])}
            />
          </label>
        </div>
      )}
    </div>
  )
}
