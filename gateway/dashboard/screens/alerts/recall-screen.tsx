import './recall-screen.css'
import { useState } from 'preact/hooks'
import { lookOf } from '#dashboard/live/fleet/cart-look.ts'
import { type RecalledCart, recallList } from '#dashboard/live/recall-list.ts'
import { toHash } from '#dashboard/live/route.ts'
import { formatMoment } from '#dashboard/texts/format.ts'
import { recallTexts } from '#dashboard/texts/recall.ts'
import { shellTexts } from '#dashboard/texts/shell.ts'
import { CartShape } from '#dashboard/ui/cart-shape.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Icon } from '#dashboard/ui/icons.tsx'
import { VirtualList } from '#dashboard/ui/virtual-list.tsx'
import { ApiError } from '#shared/client.ts'
import { placeText } from '../cart-row.tsx'

const ROW_PX = 72

/** All carts are called in: who is still out, and which screens have confirmed. */
export function RecallScreen() {
  const { recall, fleet, clock, gate, site } = useDashboard()
  const texts = recallTexts()
  const [says, setSays] = useState<string | null>(null)
  const now = recall.now.value
  const isKnown = fleet.version.value >= 0 && fleet.isKnown && (now !== null || recall.isKnown.value)
  if (now === null || !isKnown)
    return (
      <div class="page">
        <h1>{texts.allIn}</h1>
        <p role="status">{isKnown ? texts.isOver : `${shellTexts().loading} …`}</p>
      </div>
    )
  const list = recallList(now, fleet.carts)
  const { text, by, started_at } = now.recall
  const end = async () => {
    setSays(texts.sending)
    try {
      await gate.act(() => recall.end())
      setSays(null)
    } catch (error) {
      setSays(texts.failed(error instanceof ApiError ? error.detail : texts.noContact))
    }
  }
  return (
    <div class="recall">
      <header>
        <h1>{texts.allIn}</h1>
        <p dir="auto" class="recall-text">
          {text}
        </p>
        <p class="small" dir="auto">
          {texts.startedBy(
            by.name,
            formatMoment(Date.parse(started_at), clock.nowMs(), site.value.time_zone),
          )}
        </p>
        <p role="status">{says}</p>
        <button type="button" class="button main" onClick={() => void end()}>
          {texts.over}
        </button>
      </header>
      <h2>
        {texts.stillOut}: {list.out.length} · {texts.inBarn}: {list.in.length}
      </h2>
      <VirtualList items={list.out} rowPx={ROW_PX} label={texts.stillOut} keyOf={({ cart }) => cart.cart}>
        {(one) => <StillOut one={one} />}
      </VirtualList>
    </div>
  )
}

function StillOut({ one: { cart, screen } }: { one: RecalledCart }) {
  const texts = recallTexts()
  return (
    <a class={`still-out ${screen}`} href={toHash('map', cart.cart)}>
      <CartShape look={lookOf(cart)} label={cart.cart} size={46} />
      <span class="still-out-words">
        <strong dir="auto">{placeText(cart)}</strong>
        <span>{texts.screens[screen]}</span>
      </span>
      <Icon name="next" />
    </a>
  )
}
