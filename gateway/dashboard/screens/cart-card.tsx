import './cart/cart-card.css'
import { useEffect, useRef } from 'preact/hooks'
import { markerStyleOf } from '#dashboard/live/fleet/marker-style.ts'
import { cartWithName } from '#dashboard/live/fleet/party-name.ts'
import { cartTexts } from '#dashboard/texts/cart.ts'
import { shellTexts } from '#dashboard/texts/shell.ts'
import { CartShape } from '#dashboard/ui/cart-shape.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Icon } from '#dashboard/ui/icons.tsx'
import { lazy } from '#dashboard/ui/lazy.tsx'
import { CartActions } from './cart/actions.tsx'
import { CartBattery, CartDetails, CartNotesPanel } from './cart/facts.tsx'
import { stateText } from './cart/state-text.ts'

/** Loaded later, because a cart in the barn does not need it. */
const CartPace = lazy(
  () => import('./cart/pace-line.tsx').then(({ CartPaceLine }) => CartPaceLine),
  () => null,
)

const CartParty = lazy(
  () => import('./parties/cart-party.tsx').then(({ CartParty }) => CartParty),
  () => null,
)

const CartService = lazy(
  () => import('./service/cart-service.tsx').then(({ CartService }) => CartService),
  () => null,
)

export function CartCard({ cart: name, onClose }: { cart: string; onClose: () => void }) {
  const { fleet } = useDashboard()
  const cart = fleet.version.value >= 0 ? fleet.carts.get(name) : undefined
  const texts = cartTexts()
  const card = useRef<HTMLElement>(null)
  useEffect(() => {
    // the field of the search would keep the keyboard of a phone open, and Tab far from the actions
    card.current?.focus({ preventScroll: true })
    // a dialog and the search keep their Escape to themselves
    const press = ({ key }: KeyboardEvent) => key === 'Escape' && onClose()
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [])
  return (
    <section ref={card} tabIndex={-1} class="cart-card" aria-label={texts.cart(name)}>
      <header>
        {cart !== undefined && <CartShape kind={cart.kind} markerStyle={markerStyleOf(cart)} label={name} />}
        <div class="cart-title">
          <h2 dir="auto">{texts.cart(cart === undefined ? name : cartWithName(cart))}</h2>
          {cart !== undefined && <p class={`cart-state ${markerStyleOf(cart)}`}>{stateText(cart)}</p>}
        </div>
        <button type="button" class="button close" aria-label={texts.close} onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      {cart === undefined ? (
        <p dir="auto">{fleet.isKnown ? texts.noCart(name) : `${shellTexts().loading} …`}</p>
      ) : (
        <>
          <CartActions key={name} cart={cart}>
            {cart.kind === 'golf_cart' && <CartParty cart={cart} />}
            {cart.out_since !== null && <CartPace cart={name} />}
            <CartDetails cart={cart} />
            <CartBattery cart={cart} />
          </CartActions>
          <CartNotesPanel cart={cart} />
          <CartService key={name} cart={name} />
        </>
      )}
    </section>
  )
}
