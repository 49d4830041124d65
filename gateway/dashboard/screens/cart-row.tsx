import './cart-row.css'
import type { ComponentChildren } from 'preact'
import { cartStateKey } from '#dashboard/live/fleet/cart-state-key.ts'
import { markerStyleOf } from '#dashboard/live/fleet/marker-style.ts'
import { positionLabel } from '#dashboard/live/place.ts'
import { toHash } from '#dashboard/live/route.ts'
import { fleetTexts } from '#dashboard/texts/fleet.ts'
import { formatAge, formatVoltage } from '#dashboard/texts/format.ts'
import { BatteryBar } from '#dashboard/ui/battery-bar.tsx'
import { CartShape } from '#dashboard/ui/cart-shape.tsx'
import { Icon } from '#dashboard/ui/icons.tsx'
import type { CartJson } from '#shared/wire/carts.ts'

export const CART_ROW_PX = 64

interface CartRowProps {
  cart: CartJson
  nowMs: number
  /** Replaces the time at which the cart was last seen. */
  children?: ComponentChildren
}

/** Table row of a cart; a tap opens its card. */
export function CartRow({ cart, nowMs, children }: CartRowProps) {
  const texts = fleetTexts()
  const lastSeen = cart.last_heard_at === null ? texts.never : formatAge(cart.last_heard_at, nowMs)
  return (
    <tr class="cart-row" aria-label={texts.cart(cart.cart)}>
      <td>
        <a class="cart-name" href={toHash('map', cart.cart)}>
          <CartShape markerStyle={markerStyleOf(cart)} label={cart.cart} size={44} />
          <span class="cart-words">
            <strong dir="auto">{texts.cart(cart.cart)}</strong>
            <span class="small">{texts.states[cartStateKey(cart)]}</span>
          </span>
        </a>
      </td>
      <td class="cart-place" dir="auto">
        <span>{placeText(cart)}</span>
      </td>
      <td class="wide-only">
        <span class="cart-battery">
          <BatteryBar percent={cart.battery?.percent ?? null} isLow={cart.is_low} />
          {cart.battery === null ? texts.unknown : formatVoltage(cart.battery.rest_voltage ?? cart.battery.voltage)}
        </span>
      </td>
      <td class="wide-only">
        <span class="cart-lock">
          <LockWord isLocked={cart.lock?.is_locked} />
        </span>
      </td>
      <td>{children ?? lastSeen}</td>
    </tr>
  )
}

/** Formats the position: "Hole 8", the name of a zone, or the best known substitute. */
export function placeText(cart: CartJson): string {
  const { places } = fleetTexts()
  const place = positionLabel(cart)
  if (place.kind === 'hole') return places.hole(place.hole)
  return place.kind === 'zone' ? place.name : places[place.kind]
}

function LockWord({ isLocked }: { isLocked: boolean | undefined }) {
  const texts = fleetTexts()
  if (isLocked === undefined) return <>{texts.unknown}</>
  return (
    <>
      <Icon name={isLocked ? 'lock' : 'unlock'} />
      {isLocked ? texts.locked : texts.unlocked}
    </>
  )
}
