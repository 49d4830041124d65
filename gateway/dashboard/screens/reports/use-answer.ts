import { useEffect, useState } from 'preact/hooks'
import { refusalText } from '#dashboard/ui/refusal.ts'

/** An answer that takes a while; `ask` is asked anew whenever `key` is another. */
export function useAnswer<Answer>(key: string, ask: (signal: AbortSignal) => Promise<Answer>) {
  const [known, setKnown] = useState<{ key: string; answer: Answer } | null>(null)
  const [fault, setFault] = useState<string | null>(null)
  const [tries, setTries] = useState(0)
  useEffect(() => {
    const stopping = new AbortController()
    setFault(null)
    ask(stopping.signal).then(
      (answer) => setKnown({ key, answer }),
      (error: unknown) => {
        if (!stopping.signal.aborted) setFault(refusalText(error))
      },
    )
    return () => stopping.abort()
  }, [key, tries])
  // what was asked for before is not what is shown now
  const answer = known?.key === key ? known.answer : null
  return { answer, fault, again: () => setTries(tries + 1) }
}
