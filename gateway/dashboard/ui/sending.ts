import { useState } from 'preact/hooks'
import { PinCancelled } from '#dashboard/live/pin-prompt.ts'
import { refusalTexts } from '#dashboard/texts/refusals.ts'
import { useDashboard } from './dashboard-context.ts'
import { refusalText } from './refusal.ts'

/** Single request at a time, with the error text of the last one. */
export interface Sending {
  isSending: boolean
  /** Reason why it failed; null if it did not. */
  fault: string | null
  setFault: (fault: string | null) => void
  /** Runs `action`, which handles its own result; an error is stored in `fault`. */
  send: (action: () => Promise<void>) => Promise<void>
}

export function useSending(): Sending {
  const { line } = useDashboard()
  const [isSending, setSending] = useState(false)
  const [fault, setFault] = useState<string | null>(null)
  const send = async (action: () => Promise<void>) => {
    if (isSending) return
    // a request to a lost gateway may take minutes to fail
    if (line.state.value.kind === 'lost') return setFault(refusalTexts().noAnswer)
    setSending(true)
    setFault(null)
    try {
      await action()
    } catch (error) {
      // a cancelled PIN prompt is not an error
      if (!(error instanceof PinCancelled)) setFault(refusalText(error))
    } finally {
      setSending(false)
    }
  }
  return { isSending, fault, setFault, send }
}
