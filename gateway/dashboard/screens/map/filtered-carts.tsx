import './filtered-carts.css'
import { type CartFilter, matchesFilter } from '#dashboard/live/fleet/cart-filter.ts'
import { byNumber, markerStyleOf } from '#dashboard/live/fleet/marker-style.ts'
import { toHash } from '#dashboard/live/route.ts'
import { fleetTexts } from '#dashboard/texts/fleet.ts'
import { formatAge } from '#dashboard/texts/format.ts'
import { mapTexts } from '#dashboard/texts/map.ts'
import { shellTexts } from '#dashboard/texts/shell.ts'
import { CartShape } from '#dashboard/ui/cart-shape.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { VirtualList } from '#dashboard/ui/virtual-list.tsx'
import { placeText } from '../place-text.ts'

const ROW_PX = 68

/** List of the carts of a counter, in place of those that need attention. */
export function FilteredCarts({ filter }: { filter: CartFilter }) {
  const { fleet, clock, second } = useDashboard()
  const nowMs = second.value >= 0 ? clock.nowMs() : 0
  const title = mapTexts().counts[filter]
  const carts = fleet.version.value >= 0 ? [...fleet.carts.values()].filter((cart) => matchesFilter(cart, filter)) : []
  return (
    <section class="filtered-carts">
      <header>
        <h2>{title}</h2>
        <span>{fleet.isKnown ? carts.length : `${shellTexts().loading} …`}</span>
      </header>
      <VirtualList items={carts.sort(byNumber)} rowPx={ROW_PX} label={title} keyOf={({ cart }) => cart}>
        {(cart) => (
          <a href={toHash('map', cart.cart)}>
            <CartShape kind={cart.kind} markerStyle={markerStyleOf(cart)} label={cart.cart} />
            <span>
              <bdi>{fleetTexts().cart(cart.cart)}</bdi>
              <bdi class="small">
                {placeText(cart)}
                {cart.last_heard_at !== null && ` · ${formatAge(cart.last_heard_at, nowMs)}`}
              </bdi>
            </span>
          </a>
        )}
      </VirtualList>
    </section>
  )
}
