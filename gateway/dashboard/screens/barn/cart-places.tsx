import { byNumber } from '#dashboard/live/fleet/marker-style.ts'
import { toX, toY } from '#dashboard/map/mercator.ts'
import { barnTexts } from '#dashboard/texts/barn.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { SelectField } from '#dashboard/ui/fields/select-field.tsx'

interface CartPlacesProps {
  label?: string
  onPlace: (place: [x: number, y: number]) => void
}

/** Chooses a place by the cart that stands there, for a user whose tablet is elsewhere. */
export function CartPlaces({ label, onPlace }: CartPlacesProps) {
  const { fleet } = useDashboard()
  const texts = barnTexts()
  const carts = fleet.version.value >= 0 ? [...fleet.carts.values()].filter(({ position }) => position !== null) : []
  carts.sort(byNumber)
  const choose = (cart: string) => {
    const position = fleet.carts.get(cart)?.position
    if (position != null) onPlace([toX(position.long), toY(position.lat)])
  }
  return (
    <SelectField
      name={label ?? texts.cart}
      value=""
      options={new Map([['', texts.noCart], ...carts.map(({ cart }) => [cart, cart] as const)])}
      onChoose={choose}
    />
  )
}
