import './alerts/alerts.css'
import { useMemo, useState } from 'preact/hooks'
import { type AlertFilter, acknowledgedAlerts, isShown, openAlerts } from '#dashboard/live/alert-list.ts'
import { alertTexts } from '#dashboard/texts/alerts.ts'
import { shellTexts } from '#dashboard/texts/shell.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Fault } from '#dashboard/ui/fault.tsx'
import { HelpButton } from '#dashboard/ui/help-button.tsx'
import { VirtualList } from '#dashboard/ui/virtual-list.tsx'
import type { AlertJson } from '#shared/wire/alerts.ts'
import { useAlertActions } from './alerts/acknowledge.ts'
import { AlertDialog } from './alerts/alert-dialog.tsx'
import { AlertFilters, SoundButton, useAlertFilter } from './alerts/alert-filters.tsx'
import { ALERT_ROW_PX, AlertRow } from './alerts/alert-row.tsx'
import { useClosedAlerts } from './alerts/closed-alerts.ts'
import { RecallScreen } from './alerts/recall-screen.tsx'

/** Row of the list: a heading, an alert, or a placeholder for further alerts. */
type Item =
  | { kind: 'heading'; name: 'open' | 'acknowledged' | 'closed'; alerts: readonly AlertJson[] }
  | { kind: 'alert'; alert: AlertJson }
  | { kind: 'more' | 'failed' }

/** Screen of open, acknowledged and closed alerts. */
export function AlertsScreen() {
  const { router } = useDashboard()
  return router.route.value.rest === 'recall' ? <RecallScreen /> : <AlertList />
}

function AlertList() {
  const { fleet, me } = useDashboard()
  const texts = alertTexts()
  const [filter, setFilter] = useAlertFilter()
  const [shown, setShown] = useState<AlertJson | null>(null)
  const closed = useClosedAlerts(filter)
  const { act, fault, isSending } = useAlertActions()
  const version = fleet.version.value
  const items = useMemo(() => itemsOf(fleet.alerts.values(), filter, closed), [version, filter, closed.alerts])
  const mayAct = me.value?.role !== 'user'
  return (
    <div class="alerts">
      <header class="alerts-top">
        <h1>{texts.title}</h1>
        <AlertFilters filter={filter} onFilter={setFilter} />
        <SoundButton />
        <HelpButton screen="alerts" title={texts.title} />
        <Fault text={fault} />
      </header>
      <VirtualList items={items} rowPx={ALERT_ROW_PX} label={texts.title} keyOf={keyOf}>
        {(item) => {
          if (item.kind === 'heading')
            return (
              <div class="alerts-heading">
                <h2>{texts[item.name]}</h2>
                {item.name === 'open' && item.alerts.length === 0 && (
                  <span>{fleet.isKnown ? texts.noneOpen : `${shellTexts().loading} …`}</span>
                )}
                {item.alerts.length > 0 && <span class="alerts-count">{item.alerts.length}</span>}
                {mayAct && item.name === 'open' && item.alerts.length > 1 && (
                  <button
                    type="button"
                    class="button"
                    disabled={isSending}
                    onClick={() => void act('acknowledge', item.alerts)}
                  >
                    {texts.acknowledgeAll(item.alerts.length)}
                  </button>
                )}
              </div>
            )
          if (item.kind === 'alert') return <AlertRow alert={item.alert} onOpen={() => setShown(item.alert)} />
          return (
            <div class="alerts-heading">
              {item.kind === 'failed' && <span>{texts.cannotLoad}</span>}
              <button type="button" class="button" onClick={closed.more}>
                {item.kind === 'failed' ? texts.tryAgain : texts.older}
              </button>
            </div>
          )
        }}
      </VirtualList>
      {shown !== null && <AlertDialog alert={shown} onDone={() => setShown(null)} />}
    </div>
  )
}

function itemsOf(
  alerts: Iterable<AlertJson>,
  filter: AlertFilter,
  closed: Pick<ReturnType<typeof useClosedAlerts>, 'alerts' | 'hasMore' | 'isFailed'>,
): Item[] {
  const wanted = [...alerts].filter((alert) => isShown(alert, filter))
  const [open, known] = [openAlerts(wanted), acknowledgedAlerts(wanted)]
  const rows = (some: readonly AlertJson[]) => some.map((alert): Item => ({ kind: 'alert', alert }))
  const items: Item[] = [{ kind: 'heading', name: 'open', alerts: open }, ...rows(open)]
  if (known.length > 0) items.push({ kind: 'heading', name: 'acknowledged', alerts: known }, ...rows(known))
  if (closed.alerts.length > 0 || closed.isFailed)
    items.push({ kind: 'heading', name: 'closed', alerts: [] }, ...rows(closed.alerts))
  if (closed.isFailed) items.push({ kind: 'failed' })
  else if (closed.hasMore) items.push({ kind: 'more' })
  return items
}

function keyOf(item: Item): string {
  if (item.kind === 'alert') return item.alert.alert_id
  return item.kind === 'heading' ? item.name : item.kind
}
