import { byNumber } from '#dashboard/live/fleet/cart-look.ts'
import { dayTexts } from '#dashboard/texts/day.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'

/** Which cart's day is shown. */
export function CartChoice({ cart, onCart }: { cart: string | null; onCart: (cart: string) => void }) {
  const { fleet } = useDashboard()
  const texts = dayTexts()
  const carts = fleet.version.value >= 0 ? [...fleet.carts.values()].sort(byNumber) : []
  const isGone = cart !== null && !fleet.carts.has(cart)
  return (
    <select
      class="input"
      aria-label={texts.which}
      value={cart ?? ''}
      onChange={({ currentTarget }) => currentTarget.value !== '' && onCart(currentTarget.value)}
    >
      {cart === null && <option value="">{texts.which}</option>}
      {isGone && <option value={cart}>{texts.ofCart(cart)}</option>}
      {carts.map(({ cart: name }) => (
        <option key={name} value={name}>
          {texts.ofCart(name)}
        </option>
      ))}
    </select>
  )
}
