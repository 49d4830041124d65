import { useEffect, useState } from 'preact/hooks'
import { refusalText } from '#dashboard/ui/refusal.ts'

/** Loads a slow response; `ask` runs again when `key` changes. */
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
  // ignores the response to an earlier key
  const answer = known?.key === key ? known.answer : null
  return { answer, fault, again: () => setTries(tries + 1) }
}
