import './cart/needs-you.css'
import { useMemo } from 'preact/hooks'
import { markerStyleOf } from '#dashboard/live/fleet/marker-style.ts'
import { type AttentionItem, type NeedGroup, needsOf } from '#dashboard/live/fleet/needs.ts'
import { toHash } from '#dashboard/live/route.ts'
import { formatAge, formatVoltage } from '#dashboard/texts/format.ts'
import { mapTexts } from '#dashboard/texts/map.ts'
import { needsTexts } from '#dashboard/texts/needs.ts'
import { shellTexts } from '#dashboard/texts/shell.ts'
import { CartShape } from '#dashboard/ui/cart-shape.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { HelpButton } from '#dashboard/ui/help-button.tsx'
import { Icon } from '#dashboard/ui/icons.tsx'
import type { CartJson } from '#shared/wire/carts.ts'
import { placeText } from './place-text.ts'

/** Maximum number of lines; the fleet screen shows all carts. */
const LINES_MAX = 40
const GROUP_MAX = 24

/** List of everything that needs attention now: a line for each cart, the most urgent first. */
export function NeedsAttention() {
  const { fleet } = useDashboard()
  const version = fleet.version.value
  const { lines, groups, count } = useMemo(() => needsOf(fleet.carts.values(), fleet.alerts.values()), [version])
  const texts = needsTexts()
  const emptyText = fleet.carts.size === 0 ? texts.noCarts : texts.nothing
  const nothing = fleet.isKnown ? emptyText : `${shellTexts().loading} …`
  return (
    <section class="needs" aria-labelledby="needs-you">
      <header>
        <h2 id="needs-you">{texts.title}</h2>
        {count > 0 && <span class="needs-count">{count}</span>}
        <HelpButton screen="map" title={mapTexts().mapOfCourse} />
      </header>
      {count === 0 && <p class="needs-none">{nothing}</p>}
      <ul>
        {lines.slice(0, LINES_MAX).map((need) => (
          <NeedLine key={`${need.reason} ${need.cart?.cart ?? need.alert?.alert_id}`} need={need} />
        ))}
        {lines.length > LINES_MAX && (
          <li>
            <a class="need" href={toHash('fleet')}>
              {texts.more(lines.length - LINES_MAX)}
            </a>
          </li>
        )}
        {groups.map((group) => (
          <Group key={group.reason} group={group} />
        ))}
      </ul>
    </section>
  )
}

function NeedLine({ need: { cart, reason, at } }: { need: AttentionItem }) {
  const { clock, second } = useDashboard()
  const texts = needsTexts()
  const ago = second.value >= 0 && at !== null ? formatAge(at, clock.nowMs()) : null
  const what = texts.reasons[reason]
  return (
    <li>
      <a class="need" href={cart === null ? toHash('alerts') : toHash('map', cart.cart)}>
        {cart === null ? (
          <Icon name="alerts" />
        ) : (
          <CartShape kind={cart.kind} markerStyle={markerStyleOf(cart)} label={cart.cart} size={46} />
        )}
        <span class="need-words">
          <strong>
            {cart !== null && <span class="visually-hidden">{texts.cart(cart.cart)} </span>}
            {what}
          </strong>
          <span dir="auto">{cart === null ? ago : whereAndWhen(cart, reason, ago)}</span>
        </span>
        <Icon name="next" />
      </a>
    </li>
  )
}

/** Formats "46.4 V · Hole 8 · 3 min ago"; for a cart without a signal, the time and position last seen. */
function whereAndWhen(cart: CartJson, reason: AttentionItem['reason'], ago: string | null): string {
  const texts = needsTexts()
  const place = placeText(cart)
  if (reason === 'silent') return ago === null ? texts.never : texts.heardAt(ago, place)
  const voltage = cart.battery?.rest_voltage ?? cart.battery?.voltage
  const parts = [reason === 'low' && voltage !== undefined ? formatVoltage(voltage) : null]
  if (reason !== 'outside' && reason !== 'no_position') parts.push(place)
  return [...parts, ago].filter((part) => part !== null).join(' · ')
}

function Group({ group: { reason, carts } }: { group: NeedGroup }) {
  const texts = needsTexts()
  const what = texts.reasons[reason]
  return (
    <li class="need-group">
      <strong>{what}</strong>
      <span class="need-carts">
        {carts.slice(0, GROUP_MAX).map((cart) => (
          <a key={cart.cart} href={toHash('map', cart.cart)} aria-label={texts.open(cart.cart, what)}>
            <CartShape kind={cart.kind} markerStyle={markerStyleOf(cart)} label={cart.cart} size={44} />
          </a>
        ))}
        {carts.length > GROUP_MAX && <a href={toHash('fleet')}>{texts.more(carts.length - GROUP_MAX)}</a>}
      </span>
    </li>
  )
}
