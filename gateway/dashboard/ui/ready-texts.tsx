import './ready-texts.css'
import { useDashboard } from './dashboard-context.ts'
import { Fault } from './fault.tsx'
import { useSending } from './sending.ts'

interface ReadyTextsProps {
  name: string
  texts: readonly string[]
  /** Texts that come first, in red. */
  urgent?: readonly string[]
  onChosen: (text: string) => unknown
}

/** Texts that are sent with one tap, in place of typing them. */
export function ReadyTexts({ name, texts, urgent = [], onChosen }: ReadyTextsProps) {
  const { gate } = useDashboard()
  const { send, fault, isSending } = useSending()
  return (
    <fieldset class="ready-texts">
      <legend>{name}</legend>
      {[...urgent, ...texts].map((text, at) => (
        <button
          key={text}
          type="button"
          class={at < urgent.length ? 'button danger' : 'button'}
          dir="auto"
          disabled={isSending}
          onClick={() => void send(() => gate.act(async () => void (await onChosen(text))))}
        >
          {text}
        </button>
      ))}
      <Fault text={fault} />
    </fieldset>
  )
}
