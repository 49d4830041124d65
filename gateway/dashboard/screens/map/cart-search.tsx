import './cart-search.css'
import { useId, useState } from 'preact/hooks'
import { searchCarts } from '#dashboard/live/fleet/cart-filter.ts'
import { lookOf } from '#dashboard/live/fleet/cart-look.ts'
import { mapTexts } from '#dashboard/texts/map.ts'
import { CartShape } from '#dashboard/ui/cart-shape.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Icon } from '#dashboard/ui/icons.tsx'
import type { CartJson } from '#shared/wire/carts.ts'

/** Finds a cart by its number, or by the name of one of its devices; Enter opens the first. */
export function CartSearch({ onChoose }: { onChoose: (cart: string) => void }) {
  const { fleet } = useDashboard()
  const texts = mapTexts()
  const listId = useId()
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const isAsking = text.trim() !== ''
  const found = isAsking && fleet.version.value >= 0 ? searchCarts(fleet.carts.values(), text) : []
  const current = Math.min(at, found.length - 1)
  const ask = (next: string) => {
    setText(next)
    setAt(0)
  }
  const choose = (cart: CartJson | undefined) => {
    if (cart === undefined) return
    ask('')
    onChoose(cart.cart)
  }
  const press = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (step !== 0 && found.length > 0) {
      event.preventDefault()
      setAt((current + step + found.length) % found.length)
    }
    if (event.key === 'Escape') ask('')
  }
  return (
    <form
      class="cart-search"
      onSubmit={(event) => {
        event.preventDefault()
        choose(found[current])
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
        onInput={({ currentTarget }) => ask(currentTarget.value)}
        onKeyDown={press}
      />
      {isAsking && (
        <div class="found">
          <p role="status" class={found.length > 0 ? 'visually-hidden' : 'nothing'}>
            {found.length > 0 ? texts.found(found.length) : texts.noSuchCart}
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
                <CartShape look={lookOf(cart)} label={cart.cart} size={40} />
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

function namesOf({ devices, cart }: CartJson): string {
  const names = devices.flatMap(({ name }) => (name === null || name === cart ? [] : [name]))
  return [...new Set(names)].join(', ')
}
