import { byNumber } from '#dashboard/live/fleet/marker-style.ts'
import { toX, toY } from '#dashboard/map/mercator.ts'
import { barnTexts } from '#dashboard/texts/barn.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'

interface CartPlacesProps {
  label?: string
  onPlace: (place: [x: number, y: number]) => void
}

/** Chooses a place by the cart that stands there, for a user whose tablet is elsewhere. */
export function CartPlaces({ label, onPlace }: CartPlacesProps) {
  const { fleet } = useDashboard()
  const texts = barnTexts()
  const carts = fleet.version.value >= 0 ? [...fleet.carts.values()].sort(byNumber) : []
  const choose = (cart: string) => {
    const position = fleet.carts.get(cart)?.position
    if (position != null) onPlace([toX(position.long), toY(position.lat)])
  }
  return (
    <label class="field">
      {label ?? texts.cart}
      <select value="" onChange={({ currentTarget }) => choose(currentTarget.value)}>
        <option value="">{texts.noCart}</option>
        {carts
          .filter(({ position }) => position !== null)
          .map(({ cart }) => (
            <option key={cart} value={cart}>
              {cart}
            </option>
          ))}
      </select>
    </label>
  )
}
