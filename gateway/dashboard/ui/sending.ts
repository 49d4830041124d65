import { useState } from 'preact/hooks'
import { PinCancelled } from '#dashboard/live/pin-prompt.ts'
import { refusalTexts } from '#dashboard/texts/refusals.ts'
import { useDashboard } from './dashboard-context.ts'
import { refusalText } from './refusal.ts'

/** One request at a time, and the words for what became of the last one. */
export interface Sending {
  isSending: boolean
  /** Why it was refused; null when it was not. */
  fault: string | null
  setFault: (fault: string | null) => void
  /** What `action` comes to is for the caller; a refusal is in `fault`. */
  send: (action: () => Promise<void>) => Promise<void>
}

export function useSending(): Sending {
  const { line } = useDashboard()
  const [isSending, setSending] = useState(false)
  const [fault, setFault] = useState<string | null>(null)
  const send = async (action: () => Promise<void>) => {
    if (isSending) return
    // a gateway that is gone may take minutes not to answer
    if (line.state.value.kind === 'lost') return setFault(refusalTexts().noAnswer)
    setSending(true)
    setFault(null)
    try {
      await action()
    } catch (error) {
      // nobody said who it is: that is no fault
      if (!(error instanceof PinCancelled)) setFault(refusalText(error))
    } finally {
      setSending(false)
    }
  }
  return { isSending, fault, setFault, send }
}
