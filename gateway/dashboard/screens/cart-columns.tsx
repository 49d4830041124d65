import { cartStateKey } from '#dashboard/live/fleet/cart-state-key.ts'
import { FLEET_COMPARE } from '#dashboard/live/fleet/fleet-order.ts'
import { markerStyleOf } from '#dashboard/live/fleet/marker-style.ts'
import { cartWithName } from '#dashboard/live/fleet/party-name.ts'
import { fleetTexts } from '#dashboard/texts/fleet.ts'
import { formatAge, formatVoltage } from '#dashboard/texts/format.ts'
import { BatteryBar } from '#dashboard/ui/battery-bar.tsx'
import { CartShape } from '#dashboard/ui/cart-shape.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Icon } from '#dashboard/ui/icons.tsx'
import type { Column } from '#dashboard/ui/lists/table.tsx'
import type { CartJson } from '#shared/wire/carts.ts'
import { placeText } from './place-text.ts'

/** Returns the columns of a table of carts; a tap on a cart opens it next to the table. */
export function useCartColumns(toCart: (cart: string) => string): Column<CartJson>[] {
  const { clock, second } = useDashboard()
  const texts = fleetTexts()
  const nowMs = second.value >= 0 ? clock.nowMs() : 0
  return [
    {
      key: 'cart',
      title: texts.columns.cart,
      compare: FLEET_COMPARE.cart,
      cell: (cart) => (
        <a class="cart-name" href={toCart(cart.cart)}>
          <CartShape kind={cart.kind} markerStyle={markerStyleOf(cart)} label={cart.cart} size={44} />
          <span class="words">
            <strong dir="auto">{texts.cart(cartWithName(cart))}</strong>
            <span class="small">
              {cart.kind !== 'golf_cart' && `${texts.kinds[cart.kind]} · `}
              {texts.states[cartStateKey(cart)]}
              <span class="narrow-only">{` · ${placeText(cart)}`}</span>
            </span>
          </span>
        </a>
      ),
    },
    {
      key: 'place',
      title: texts.columns.place,
      is: 'wide',
      cell: (cart) => <bdi>{placeText(cart)}</bdi>,
    },
    {
      key: 'battery',
      title: texts.columns.battery,
      compare: FLEET_COMPARE.battery,
      cell: ({ battery, is_low }) => (
        <span class="cell-line">
          <BatteryBar percent={battery?.percent ?? null} isLow={is_low} />
          {battery === null ? texts.unknown : formatVoltage(battery.rest_voltage ?? battery.voltage)}
        </span>
      ),
    },
    {
      key: 'lock',
      title: texts.columns.lock,
      compare: FLEET_COMPARE.lock,
      cell: ({ lock }) => <LockWord isLocked={lock?.is_locked} />,
    },
    {
      key: 'heard',
      title: texts.columns.heard,
      compare: FLEET_COMPARE.heard,
      is: 'wide',
      cell: ({ last_heard_at }) => (last_heard_at === null ? texts.never : formatAge(last_heard_at, nowMs)),
    },
  ]
}

/** State of a lock; its word is left to screen readers where the table is narrow. */
function LockWord({ isLocked }: { isLocked: boolean | undefined }) {
  const texts = fleetTexts()
  if (isLocked === undefined) return <>{texts.unknown}</>
  return (
    <span class="cell-line">
      <Icon name={isLocked ? 'lock' : 'unlock'} />
      <span class="narrow-hidden">{isLocked ? texts.locked : texts.unlocked}</span>
    </span>
  )
}
