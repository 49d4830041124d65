import { useEffect, useState } from 'preact/hooks'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import type { AnswerOf } from '#shared/wire/operation-types.ts'

export type Health = AnswerOf<'GET /health'>

const ASK_EVERY_MS = 30_000

/** How the gateway is, as it says while the line is there; null until then. `again` asks at once. */
export function useHealth(): { health: Health | null; again: () => void } {
  const { api, line } = useDashboard()
  const [health, setHealth] = useState<Health | null>(null)
  const [asked, setAsked] = useState(0)
  const isLive = line.state.value.kind === 'live'
  useEffect(() => {
    if (!isLive) return
    // no answer is no news: the line tells of a gateway that is gone
    const ask = () => void api.call('GET /health').then(setHealth, () => undefined)
    ask()
    const timer = setInterval(ask, ASK_EVERY_MS)
    return () => clearInterval(timer)
  }, [api, isLive, asked])
  return { health, again: () => setAsked((count) => count + 1) }
}
