import { partyNameOf } from '#dashboard/live/fleet/party-name.ts'
import { alertTexts, ON_MY_WAY } from '#dashboard/texts/alerts.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Icon } from '#dashboard/ui/icons.tsx'
import type { AlertJson } from '#shared/wire/alerts.ts'
import type { CartJson } from '#shared/wire/carts.ts'
import type { AlertActions } from './acknowledge.ts'

// Part of the first load, unlike the rows of the list.

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
