import { useEffect, useState } from 'preact/hooks'
import { type AlertFilter, isShown } from '#dashboard/live/alert-list.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import type { AlertJson } from '#shared/wire/alerts.ts'

const PAGE = 50

interface Closed {
  alerts: AlertJson[]
  hasMore: boolean
  isFailed: boolean
}

const NONE: Closed = { alerts: [], hasMore: false, isFailed: false }

/** Loads closed alerts page by page; an alert that closes meanwhile is added at the top. */
export function useClosedAlerts({ kind, cart }: AlertFilter): Closed & { more: () => void } {
  const dashboard = useDashboard()
  const [closed, setClosed] = useState(NONE)
  const isLive = dashboard.line.state.value.kind === 'live'

  const load = async (known: readonly AlertJson[], isWanted: () => boolean = () => true) => {
    const query = {
      state: 'closed' as const,
      limit: PAGE,
      offset: known.length,
      ...(kind === null ? {} : { kind }),
      ...(cart === '' ? {} : { cart }),
    }
    try {
      const { alerts } = await dashboard.api.call('GET /alerts', { query })
      if (isWanted()) setClosed({ alerts: merged(known, alerts), hasMore: alerts.length === PAGE, isFailed: false })
    } catch {
      if (isWanted()) setClosed({ alerts: [...known], hasMore: false, isFailed: true })
    }
  }

  useEffect(() => {
    let isHere = true
    if (isLive) void load([], () => isHere)
    return () => {
      isHere = false
    }
  }, [dashboard, kind, cart, isLive])

  useEffect(
    () =>
      dashboard.listen((message) => {
        if (message.type !== 'alert' || message.alert.closed_at === null) return
        const { alert } = message
        if (isShown(alert, { kind, cart })) setClosed((known) => ({ ...known, alerts: merged([alert], known.alerts) }))
      }),
    [dashboard, kind, cart],
  )
  return { ...closed, more: () => void load(closed.alerts) }
}

/** Removes duplicates: alerts that closed meanwhile shift the pages. */
function merged(first: readonly AlertJson[], others: readonly AlertJson[]): AlertJson[] {
  const known = new Set(first.map(({ alert_id }) => alert_id))
  return [...first, ...others.filter(({ alert_id }) => !known.has(alert_id))]
}
