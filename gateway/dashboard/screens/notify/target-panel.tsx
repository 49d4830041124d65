import { useState } from 'preact/hooks'
import { PinCancelled } from '#dashboard/live/pin-prompt.ts'
import { formatAge } from '#dashboard/texts/format.ts'
import { notifyTexts } from '#dashboard/texts/notify.ts'
import { AskButton } from '#dashboard/ui/ask-button.tsx'
import { Button } from '#dashboard/ui/button.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { ApiError } from '#shared/client.ts'
import type { AlertKind } from '#shared/wire/alert-kinds.ts'
import { errorText } from './error-text.ts'

/** Common properties of notifiers, webhooks and reports. */
export interface Target {
  name: string
  /** Conditions in addition to the kinds. */
  when: readonly string[]
  /** Absent for a recipient of other things than alerts. */
  kinds?: readonly AlertKind[] | null
  last_success_at: string | null
  last_error: string | null
  waiting: number
}

interface TargetPanelProps {
  target: Target
  onTest: () => Promise<unknown>
  /** Omitted for a target that cannot be changed. */
  onChange?: () => void
  onRemove: () => Promise<void>
  /** Consequence of a deletion. */
  means?: string
}

/** Panel of one recipient: delivery state, test, and deletion. */
export function TargetPanel({ target, onTest, onChange, onRemove, means }: TargetPanelProps) {
  const { clock, gate, second } = useDashboard()
  const texts = notifyTexts()
  const [message, setMessage] = useState<string | null>(null)
  const { name, when, kinds, last_success_at, last_error, waiting } = target
  const nowMs = second.value >= 0 ? clock.nowMs() : 0
  const ofKinds = kinds === undefined ? [] : [kinds === null ? texts.allKinds : texts.someKinds(kinds.length)]
  const test = async () => {
    setMessage(texts.working)
    try {
      await gate.act(onTest)
      setMessage(texts.tested)
    } catch (error) {
      if (error instanceof PinCancelled) setMessage(null)
      else setMessage(error instanceof ApiError ? errorText(error) : texts.noContact)
    }
  }
  return (
    <li class="panel">
      <h3 dir="auto">{name}</h3>
      <p class="small">{[...ofKinds, ...when].join(' · ')}</p>
      <p>
        {last_success_at === null ? texts.noSuccess : texts.lastSuccess(formatAge(last_success_at, nowMs))}
        {waiting > 0 && ` · ${texts.waiting(waiting)}`}
      </p>
      {last_error !== null && (
        <p class="bad" dir="auto">
          {texts.lastError(last_error)}
        </p>
      )}
      <p role="status">{message}</p>
      <div class="row">
        <Button text={texts.test} onClick={() => void test()} />
        {onChange !== undefined && (
          <Button text={texts.change} aria-label={`${texts.change}: ${name}`} onClick={onChange} />
        )}
        <AskButton
          action={texts.remove}
          title={texts.askRemove(name)}
          means={means ?? texts.removeMeans}
          refusal={errorText}
          onAnswer={onRemove}
        />
      </div>
    </li>
  )
}
