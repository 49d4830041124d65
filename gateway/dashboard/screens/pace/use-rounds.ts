import { useEffect, useState } from 'preact/hooks'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import type { RoundJson } from '#shared/wire/rounds.ts'

/** Polling interval: entering a hole sends no realtime message. */
const ASK_EVERY_MS = 5_000

/** Active rounds; null until they are known. */
export interface Rounds {
  rounds: readonly RoundJson[] | null
  isFailed: boolean
}

/** Polls the active rounds while the page is visible and the connection is live, if they are wanted. */
export function useRounds(isWanted = true): Rounds {
  const { api, line } = useDashboard()
  const [rounds, setRounds] = useState<readonly RoundJson[] | null>(null)
  const [isFailed, setIsFailed] = useState(false)
  const isLive = line.state.value.kind === 'live'
  useEffect(() => {
    if (!isLive || !isWanted) return
    let isHere = true
    const ask = async () => {
      if (document.visibilityState !== 'visible') return
      try {
        const answer = await api.call('GET /rounds/active')
        if (!isHere) return
        setRounds(answer.rounds)
        setIsFailed(false)
      } catch {
        if (isHere) setIsFailed(true)
      }
    }
    void ask()
    const timer = setInterval(() => void ask(), ASK_EVERY_MS)
    return () => {
      isHere = false
      clearInterval(timer)
    }
  }, [api, isLive, isWanted])
  return { rounds, isFailed }
}
