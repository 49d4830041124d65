import { useEffect, useState } from 'preact/hooks'
import { type DayEvent, dayEvents } from '#dashboard/live/replay/day-events.ts'
import type { Span } from '#dashboard/live/replay/playback.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { toIso } from '#shared/time.ts'

const MOST = 1000
const NOTHING = { trips: [], stops: [], locks: [], zones: [] }

/** Alerts of carts that were opened on a day, oldest first; null until they are known, or when they cannot be. */
export function useDayAlerts({ fromMs, toMs }: Span): { alerts: readonly DayEvent[]; isFailed: boolean } {
  const { api } = useDashboard()
  const [alerts, setAlerts] = useState<readonly DayEvent[]>([])
  const [isFailed, setIsFailed] = useState(false)
  useEffect(() => {
    const reading = new AbortController()
    const query = { from: toIso(fromMs), to: toIso(toMs), limit: MOST }
    api.call('GET /alerts', { query, signal: reading.signal }).then(
      (answer) => {
        const ofCarts = answer.alerts.filter(({ cart }) => cart !== null)
        setAlerts(dayEvents({ ...NOTHING, alerts: ofCarts }))
      },
      () => !reading.signal.aborted && setIsFailed(true),
    )
    return () => reading.abort()
  }, [api, fromMs, toMs])
  return { alerts, isFailed }
}
