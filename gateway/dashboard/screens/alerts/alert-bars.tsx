import './alert-bars.css'
import { useMemo } from 'preact/hooks'
import { openAlerts, toneOf } from '#dashboard/live/alert-list.ts'
import { recallList } from '#dashboard/live/recall-list.ts'
import { toHash } from '#dashboard/live/route.ts'
import { alertTexts } from '#dashboard/texts/alerts.ts'
import { formatAge } from '#dashboard/texts/format.ts'
import { recallTexts } from '#dashboard/texts/recall.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Icon } from '#dashboard/ui/icons.tsx'
import { useAlertActions } from './acknowledge.ts'
import { AcknowledgeButton, alertTitle } from './alert-title.tsx'

/** Bar on every screen while an alert is open: the most urgent alert, and the number of others. */
export function AlertBar() {
  const { fleet, clock, second, me } = useDashboard()
  const version = fleet.version.value
  const [first, ...others] = useMemo(() => openAlerts(fleet.alerts.values()), [version])
  const isShown = first !== undefined && me.value?.role !== 'user'
  const actions = useAlertActions()
  const texts = alertTexts()
  const ago = isShown && second.value >= 0 ? formatAge(first.opened_at, clock.nowMs()) : ''
  return (
    <>
      <p class="visually-hidden" role="alert">
        {isShown && alertTitle(first, fleet)}
      </p>
      {isShown && (
        <div class={`alert-bar ${toneOf(first)}`}>
          <a href={toHash('alerts')}>
            <Icon name="alerts" />
            <strong dir="auto">{alertTitle(first, fleet)}</strong>
            <span class="alert-bar-age">{actions.fault ?? ago}</span>
            {others.length > 0 && <span class="alert-bar-more">{texts.more(others.length)}</span>}
          </a>
          <AcknowledgeButton alert={first} actions={actions} />
        </div>
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
    <div class="alert-bar recall-bar">
      <a href={toHash('alerts', 'recall')}>
        <Icon name="bolt" />
        <strong>{list.out.length === 0 ? texts.barDone : texts.bar(list.out.length)}</strong>
        <span class="alert-bar-more">{texts.barConfirmed(list.confirmed, list.screens)}</span>
      </a>
    </div>
  )
}
