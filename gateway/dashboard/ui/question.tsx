import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { PinCancelled } from '#dashboard/live/pin-prompt.ts'
import { questionTexts } from '#dashboard/texts/question.ts'
import { ApiError } from '#shared/client.ts'
import { Button } from './button.tsx'
import { useDashboard } from './dashboard-context.ts'
import { Dialog } from './dialog.tsx'

interface QuestionProps {
  title: string
  /** Label of the button that confirms. */
  action: string
  isDanger?: boolean
  isReady?: boolean
  onCancel: () => void
  /** Its errors are shown, and everything typed stays. */
  onAnswer: () => void | Promise<void>
  /** Formats an error of the gateway; by default with its own text. */
  refusal?: (error: ApiError) => string
  children?: ComponentChildren
}

/** Dialog before something is sent; it stays open until it is. */
export function Question(props: QuestionProps) {
  const { title, action, isDanger, isReady = true, onCancel, onAnswer, children } = props
  const { gate, line } = useDashboard()
  const texts = questionTexts()
  const [message, setMessage] = useState<string | null>(null)
  const answer = async (event: Event) => {
    event.preventDefault()
    if (!isReady || message === texts.working) return
    if (line.state.value.kind !== 'live') return setMessage(texts.noContact)
    setMessage(texts.working)
    try {
      await gate.act(async () => onAnswer())
    } catch (error) {
      if (error instanceof PinCancelled) setMessage(null)
      else setMessage(error instanceof ApiError ? (props.refusal?.(error) ?? error.detail) : texts.noContact)
    }
  }
  return (
    <Dialog title={title} onCancel={onCancel}>
      <form class="stack" onSubmit={(event) => void answer(event)}>
        {children}
        <p role="status" class={message === null ? 'visually-hidden' : ''}>
          {message}
        </p>
        <div class="dialog-buttons">
          <Button text={texts.cancel} onClick={onCancel} />
          <button type="submit" class={isDanger === true ? 'button danger' : 'button main'} disabled={!isReady}>
            {action}
          </button>
        </div>
      </form>
    </Dialog>
  )
}
