import { toneOf } from '#dashboard/live/alert-list.ts'
import { markerStyleOf } from '#dashboard/live/fleet/marker-style.ts'
import { lockDeviceOf } from '#dashboard/live/safe-lock.ts'
import { alertTexts } from '#dashboard/texts/alerts.ts'
import { formatAge, formatMoment } from '#dashboard/texts/format.ts'
import { CartShape } from '#dashboard/ui/cart-shape.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Icon } from '#dashboard/ui/icons.tsx'
import type { AlertJson } from '#shared/wire/alerts.ts'
import type { CartJson } from '#shared/wire/carts.ts'
import { useAlertActions } from './acknowledge.ts'
import { AcknowledgeButton, alertTitle } from './alert-title.tsx'
import { detailsInWords } from './details.ts'

export const ALERT_ROW_PX = 92

/** Row of an alert; a tap opens it. */
export function AlertRow({ alert, onOpen }: { alert: AlertJson; onOpen: () => void }) {
  const { fleet, clock, second, site, me } = useDashboard()
  const texts = alertTexts()
  const title = alertTitle(alert, fleet)
  const zone = site.value.time_zone
  const nowMs = second.value >= 0 ? clock.nowMs() : 0
  const time = (at: string) => formatMoment(Date.parse(at), nowMs, zone)
  const { cart: name, opened_at, closed_at, acknowledged_at, acknowledged_by, note } = alert
  const cart = name === null ? undefined : fleet.carts.get(name)
  const isOpen = acknowledged_at === null && closed_at === null
  const seen = acknowledged_at === null ? '' : texts.knows(acknowledged_by?.name ?? '–', time(acknowledged_at))
  const end = closed_at === null ? '' : texts.over(time(closed_at))
  const actions = useAlertActions()
  const isCall = alert.kind === 'call'
  const mayAct = me.value?.role !== 'user'
  const facts = [actions.fault ?? '', detailsInWords(alert, zone), seen, note ?? '', end].filter((part) => part !== '')
  return (
    <div class={`alert-row ${isOpen ? 'open' : ''} ${toneOf(alert)}`}>
      {name === null ? (
        <Icon name="alerts" />
      ) : (
        <CartShape
          kind={cart?.kind ?? 'golf_cart'}
          markerStyle={cart === undefined ? 'silent' : markerStyleOf(cart)}
          label={name}
          size={46}
        />
      )}
      <button type="button" class="alert-words" onClick={onOpen}>
        <strong dir="auto">{title}</strong>
        <span dir="auto">{facts.join(' · ')}</span>
        <span class="small">{texts.opened(time(opened_at), formatAge(opened_at, nowMs))}</span>
      </button>
      {alert.kind === 'standing' && closed_at === null && cart !== undefined && (
        <LockButton cart={cart} title={title} />
      )}
      {mayAct && isOpen && <AcknowledgeButton alert={alert} actions={actions} />}
      {mayAct && isCall && acknowledged_at !== null && closed_at === null && (
        <button
          type="button"
          class="button"
          disabled={actions.isSending}
          aria-label={`${texts.done}: ${title}`}
          onClick={() => void actions.act('close', [alert])}
        >
          {texts.done}
        </button>
      )}
      {mayAct && !isCall && acknowledged_at !== null && closed_at === null && note === null && (
        <button type="button" class="button" aria-label={`${texts.note}: ${title}`} onClick={onOpen}>
          {texts.note}
        </button>
      )}
    </div>
  )
}

/** Locks a standing cart with one tap; its card then shows the progress, and asks where the gateway refuses. */
function LockButton({ cart, title }: { cart: CartJson; title: string }) {
  const { commands, router } = useDashboard()
  const { lock } = alertTexts()
  const device = lockDeviceOf(cart)
  if (device === undefined) return null
  const send = () => {
    commands.send({ cart: cart.cart, hardwareId: device.hardware_id, command: 'lock' })
    router.go('map', cart.cart)
  }
  return (
    <button type="button" class="button" aria-label={`${lock}: ${title}`} onClick={send}>
      <Icon name="lock" />
      <span>{lock}</span>
    </button>
  )
}
