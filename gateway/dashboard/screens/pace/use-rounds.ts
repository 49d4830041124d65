import { useEffect, useState } from 'preact/hooks'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import type { PaceJson, RoundJson } from '#shared/wire/rounds.ts'

/** Entering a hole sends no realtime message. */
const ROUNDS_EVERY_MS = 5_000
const PACE_EVERY_MS = 15_000

/** Answer to the newest request; null until there is one. */
export interface Polled<Answer> {
  known: Answer | null
  isFailed: boolean
}

/** Polls the active rounds, if they are wanted. */
export function useRounds(isWanted = true): Polled<readonly RoundJson[]> {
  const { api } = useDashboard()
  return usePolled(async () => (await api.call('GET /rounds/active')).rounds, ROUNDS_EVERY_MS, isWanted)
}

/** Polls the pace of the parties on the course, if it is wanted, also after a change of a party. */
export function usePace(isWanted = true): Polled<PaceJson> {
  const { api } = useDashboard()
  return usePolled(() => api.call('GET /pace'), PACE_EVERY_MS, isWanted, true)
}

/** Asks immediately and at an interval while the page is visible and the connection is live. */
function usePolled<Answer>(
  call: () => Promise<Answer>,
  everyMs: number,
  isWanted: boolean,
  dependsOnParties = false,
): Polled<Answer> {
  const dashboard = useDashboard()
  const { line } = dashboard
  const [known, setKnown] = useState<Answer | null>(null)
  const [isFailed, setIsFailed] = useState(false)
  const isLive = line.state.value.kind === 'live'
  useEffect(() => {
    if (!isLive || !isWanted) return
    let isHere = true
    const ask = async () => {
      if (document.visibilityState !== 'visible') return
      try {
        const answer = await call()
        if (!isHere) return
        setKnown(answer)
        setIsFailed(false)
      } catch {
        if (isHere) setIsFailed(true)
      }
    }
    void ask()
    const timer = setInterval(() => void ask(), everyMs)
    const stop = dashboard.listen(({ type }) => {
      if (dependsOnParties && type === 'party') void ask()
    })
    return () => {
      isHere = false
      stop()
      clearInterval(timer)
    }
  }, [isLive, isWanted])
  return { known, isFailed }
}
