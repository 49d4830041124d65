import './cart-search.css'
import { useEffect, useId, useState } from 'preact/hooks'
import { searchAgain, searchCarts, typedCart } from '#dashboard/live/fleet/cart-filter.ts'
import { markerStyleOf } from '#dashboard/live/fleet/marker-style.ts'
import { mapTexts } from '#dashboard/texts/map.ts'
import { CartShape } from '#dashboard/ui/cart-shape.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Icon } from '#dashboard/ui/icons.tsx'
import type { CartJson } from '#shared/wire/carts.ts'

/** Entered text whose cart opens when it appears. */
interface Awaited {
  /** True if it was entered before the first list of carts. */
  isFirst: boolean
  /** Cart whose card was open, if any: opening a different card ends the wait. */
  openCart: string | null
}

/**
 * Finds a cart by its number, or by the name of one of its devices. A number that is complete opens its cart without
 * Enter, which otherwise opens the first match. A cart that is not
 * known yet opens when it appears, unless other text is typed or another cart opened.
 */
export function CartSearch({ onChoose }: { onChoose: (cart: string) => void }) {
  const { fleet, router } = useDashboard()
  const texts = mapTexts()
  const listId = useId()
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const [awaited, setAwaited] = useState<Awaited | null>(null)
  const opened = router.route.value.rest
  const isAsking = text.trim() !== ''
  const found = isAsking && fleet.version.value >= 0 ? searchCarts(fleet.carts.values(), text) : []
  const current = Math.min(at, found.length - 1)
  const ask = (next: string) => {
    setText(next)
    setAt(0)
    setAwaited(null)
  }
  const choose = (cart: CartJson) => {
    ask('')
    onChoose(cart.cart)
  }
  const enter = () => {
    // the rendered list may lag behind the fleet
    const cart = found[current] ?? searchCarts(fleet.carts.values(), text, 1)[0]
    if (cart !== undefined) choose(cart)
    else if (isAsking) setAwaited({ isFirst: !fleet.isKnown, openCart: opened })
  }
  useEffect(() => {
    if (awaited === null || awaited.openCart !== opened || !fleet.isKnown) return
    const cart = searchAgain(fleet.carts.values(), text, awaited.isFirst)
    if (cart !== undefined) choose(cart)
    else if (awaited.isFirst) setAwaited({ ...awaited, isFirst: false })
  })
  const loading = awaited === null ? texts.loading : texts.opensSoon
  const noneFound = fleet.isKnown ? texts.noSuchCart : loading
  const press = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (step !== 0 && found.length > 0) {
      event.preventDefault()
      setAt((current + step + found.length) % found.length)
    }
    if (event.key !== 'Escape' || !isAsking) return
    event.stopPropagation()
    ask('')
  }
  return (
    <form
      class="cart-search"
      onSubmit={(event) => {
        event.preventDefault()
        enter()
      }}
    >
      <Icon name="search" />
      <input
        class="input"
        type="search"
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        enterkeyhint="go"
        aria-label={texts.cartNumber}
        placeholder={texts.cartNumber}
        aria-autocomplete="list"
        aria-controls={isAsking ? listId : undefined}
        aria-activedescendant={found.length > 0 ? `${listId}-${current}` : undefined}
        value={text}
        onInput={({ currentTarget: { value } }) => {
          const cart = typedCart(fleet.carts.values(), value)
          if (cart === undefined) ask(value)
          else choose(cart)
        }}
        onKeyDown={press}
      />
      {isAsking && (
        <div class="found">
          <p role="status" class={found.length > 0 ? 'visually-hidden' : 'nothing'}>
            {found.length > 0 ? texts.found(found.length) : noneFound}
          </p>
          <div id={listId} role="listbox" aria-label={texts.carts}>
            {found.map((cart, index) => (
              // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are the field's
              <div
                key={cart.cart}
                id={`${listId}-${index}`}
                role="option"
                tabIndex={-1}
                aria-selected={index === current}
                onClick={() => choose(cart)}
              >
                <CartShape kind={cart.kind} markerStyle={markerStyleOf(cart)} label={cart.cart} size={40} />
                <bdi class="number">{cart.cart}</bdi>
                <bdi class="small">{namesOf(cart)}</bdi>
              </div>
            ))}
          </div>
        </div>
      )}
    </form>
  )
}

function namesOf({ devices, cart, party }: CartJson): string {
  const names = devices.flatMap(({ name }) => (name === undefined || name === cart ? [] : [name]))
  const players = [party?.driver ?? [], party?.players ?? []].flat()
  return [...new Set([...players, ...names])].join(', ')
}
