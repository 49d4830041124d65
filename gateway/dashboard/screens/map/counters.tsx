import './counters.css'
import { CART_FILTERS, type CartFilter, countCarts } from '#dashboard/live/fleet/cart-filter.ts'
import { mapTexts } from '#dashboard/texts/map.ts'
import { CartShape } from '#dashboard/ui/cart-shape.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'

interface CountersProps {
  filter: CartFilter | null
  onFilter: (filter: CartFilter | null) => void
}

/** Number of carts of each kind; a tap filters the map, a second tap shows all carts again. */
export function Counters({ filter, onFilter }: CountersProps) {
  const { fleet } = useDashboard()
  const texts = mapTexts()
  const counts = countCarts(fleet.version.value >= 0 ? fleet.carts.values() : [])
  return (
    <fieldset class="counters" aria-label={texts.counters}>
      {CART_FILTERS.filter((one) => one !== 'others' || filter === one || counts[one] > 0).map((one) => (
        <button
          key={one}
          type="button"
          class="counter"
          aria-pressed={filter === one}
          onClick={() => onFilter(filter === one ? null : one)}
        >
          {one !== 'others' && <CartShape markerStyle={one} label="" size={22} />}
          <b>{fleet.isKnown ? counts[one] : '–'}</b> <span>{texts.counts[one]}</span>
        </button>
      ))}
    </fieldset>
  )
}
