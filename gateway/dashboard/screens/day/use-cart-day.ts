import { useEffect, useState } from 'preact/hooks'
import { type CartDay, readCartDay } from '#dashboard/live/replay/cart-day.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { refusalText } from '#dashboard/ui/refusal.ts'

/** A day that is not over is read again so often. */
const AGAIN_MS = 60_000

interface Reading {
  known: CartDay | null
  fault: string | null
  again: () => void
}

/** The day of a cart; while it lasts it is read again and again, as long as the line is live. */
export function useCartDay(cart: string, date: string, isToday: boolean): Reading {
  const { api, line } = useDashboard()
  const [known, setKnown] = useState<CartDay | null>(null)
  const [fault, setFault] = useState<string | null>(null)
  const [tries, setTries] = useState(0)
  useEffect(() => {
    const reading = new AbortController()
    setFault(null)
    readCartDay(api, cart, date, reading.signal).then(
      (day) => setKnown(day),
      (error: unknown) => {
        if (!reading.signal.aborted) setFault(refusalText(error))
      },
    )
    return () => reading.abort()
  }, [api, cart, date, tries])
  const again = () => setTries((before) => before + 1)
  const goesOn = isToday && line.state.value.kind === 'live'
  useEffect(() => {
    if (!goesOn) return
    const timer = setInterval(again, AGAIN_MS)
    return () => clearInterval(timer)
  }, [goesOn, cart, date])
  return { known, fault, again }
}
