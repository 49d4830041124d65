import { useEffect, useState } from 'preact/hooks'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import type { AnswerOf } from '#shared/wire/operation-types.ts'

export type Health = AnswerOf<'GET /health'>

const ASK_EVERY_MS = 30_000

/** Polls the gateway's health while the connection is live; null before the first response. `again` polls now. */
export function useHealth(): { health: Health | null; again: () => void } {
  const { api, line } = useDashboard()
  const [health, setHealth] = useState<Health | null>(null)
  const [asked, setAsked] = useState(0)
  const isLive = line.state.value.kind === 'live'
  useEffect(() => {
    if (!isLive) return
    // a missing response is ignored: the connection state shows a lost gateway
    const ask = () => void api.call('GET /health').then(setHealth, () => undefined)
    ask()
    const timer = setInterval(ask, ASK_EVERY_MS)
    return () => clearInterval(timer)
  }, [api, isLive, asked])
  return { health, again: () => setAsked((count) => count + 1) }
}
