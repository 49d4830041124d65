import './alert-bars.css'
import { useMemo } from 'preact/hooks'
import { openAlerts } from '#dashboard/live/alert-list.ts'
import { recallList } from '#dashboard/live/recall-list.ts'
import { toHash } from '#dashboard/live/route.ts'
import { alertTexts } from '#dashboard/texts/alerts.ts'
import { formatAge } from '#dashboard/texts/format.ts'
import { recallTexts } from '#dashboard/texts/recall.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Icon } from '#dashboard/ui/icons.tsx'
import { alertTitle } from './alert-row.tsx'

/** Bar on every screen while an alert is open: the newest alert, and the number of others. */
export function AlertBar() {
  const { fleet, clock, second, me } = useDashboard()
  const version = fleet.version.value
  const [newest, ...others] = useMemo(() => openAlerts(fleet.alerts.values()), [version])
  const isShown = newest !== undefined && me.value?.role !== 'user'
  const texts = alertTexts()
  const ago = isShown && second.value >= 0 ? formatAge(newest.opened_at, clock.nowMs()) : ''
  return (
    <>
      <p class="visually-hidden" role="alert">
        {isShown && alertTitle(newest)}
      </p>
      {isShown && (
        <a class="alert-bar" href={toHash('alerts')}>
          <Icon name="alerts" />
          <strong dir="auto">{alertTitle(newest)}</strong>
          <span class="alert-bar-age">{ago}</span>
          {others.length > 0 && <span class="alert-bar-more">{texts.more(others.length)}</span>}
        </a>
      )}
    </>
  )
}

/** Bar on every screen during a recall. */
export function RecallBar() {
  const { recall, fleet } = useDashboard()
  const now = recall.now.value
  const texts = recallTexts()
  if (now === null || fleet.version.value < 0 || !fleet.isKnown) return null
  const list = recallList(now, fleet.carts)
  return (
    <a class="alert-bar recall-bar" href={toHash('alerts', 'recall')}>
      <Icon name="bolt" />
      <strong>{list.out.length === 0 ? texts.barDone : texts.bar(list.out.length)}</strong>
      <span class="alert-bar-more">{texts.barConfirmed(list.confirmed, list.screens)}</span>
    </a>
  )
}
