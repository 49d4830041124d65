import { toneOf } from '#dashboard/live/alert-list.ts'
import { markerStyleOf } from '#dashboard/live/fleet/marker-style.ts'
import { partyNameOf } from '#dashboard/live/fleet/party-name.ts'
import { lockDeviceOf } from '#dashboard/live/safe-lock.ts'
import { alertTexts, ON_MY_WAY } from '#dashboard/texts/alerts.ts'
import { formatAge, formatMoment } from '#dashboard/texts/format.ts'
import { CartShape } from '#dashboard/ui/cart-shape.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Icon } from '#dashboard/ui/icons.tsx'
import type { AlertJson } from '#shared/wire/alerts.ts'
import type { CartJson } from '#shared/wire/carts.ts'
import { type AlertActions, useAlertActions } from './acknowledge.ts'
import { detailsInWords } from './details.ts'

export const ALERT_ROW_PX = 92

/** "Cart 74: Outside the course", or "Cart 74 (Miller) calls for help, hole 7" */
export function alertTitle(
  { cart, kind, details }: AlertJson,
  { carts }: { carts: ReadonlyMap<string, Pick<CartJson, 'party'>> },
): string {
  const texts = alertTexts()
  if (cart === null) return `${texts.gateway}: ${texts.kinds[kind]}`
  const name = partyNameOf(carts.get(cart) ?? { party: null })
  const named = name === null ? texts.cartNamed(cart) : `${texts.cartNamed(cart)} (${name})`
  const calls: Partial<Record<string, string>> = texts.calls
  const call = kind === 'call' ? calls[String(details.call)] : undefined
  if (call === undefined) return `${named}: ${texts.kinds[kind]}`
  return `${named} ${call}${typeof details.hole === 'number' ? `, ${texts.hole(details.hole)}` : ''}`
}

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

/** Acknowledges an alert with one tap; the driver of a calling cart reads that staff are on their way. */
export function AcknowledgeButton({ alert, actions }: { alert: AlertJson; actions: AlertActions }) {
  const { fleet, settings, site } = useDashboard()
  const texts = alertTexts()
  const isCall = alert.kind === 'call'
  const name = isCall ? texts.onMyWay : texts.acknowledge
  const words = isCall ? { reply: ON_MY_WAY[settings.value?.language ?? site.value.language] } : {}
  return (
    <button
      type="button"
      class="button"
      disabled={actions.isSending}
      aria-label={`${name}: ${alertTitle(alert, fleet)}`}
      onClick={() => void actions.act('acknowledge', [alert], words)}
    >
      <Icon name="check" />
      <span>{name}</span>
    </button>
  )
}
