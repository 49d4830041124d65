import type { ComponentChildren } from 'preact'
import { useDashboard } from '../dashboard-context.ts'
import { Fault } from '../fault.tsx'
import { useSending } from '../sending.ts'

interface SendFormProps {
  /** Label of the button that sends. */
  action: string
  isReady?: boolean
  /** Its errors are shown, and everything typed stays. */
  onSend: () => Promise<void>
  children?: ComponentChildren
}

/** Form on a page, sent with the rights of the PIN user. */
export function SendForm({ action, isReady = true, onSend, children }: SendFormProps) {
  const { gate } = useDashboard()
  const { send, fault, isSending } = useSending()
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault()
        void send(() => gate.act(onSend))
      }}
    >
      {children}
      <Fault text={fault} />
      <button type="submit" class={children === undefined ? 'button' : 'button main'} disabled={isSending || !isReady}>
        {action}
      </button>
    </form>
  )
}
