import './recall-screen.css'
import { useState } from 'preact/hooks'
import { markerStyleOf } from '#dashboard/live/fleet/marker-style.ts'
import { type RecalledCart, recallList } from '#dashboard/live/recall-list.ts'
import { toHash } from '#dashboard/live/route.ts'
import { formatMoment } from '#dashboard/texts/format.ts'
import { recallTexts } from '#dashboard/texts/recall.ts'
import { shellTexts } from '#dashboard/texts/shell.ts'
import { CartShape } from '#dashboard/ui/cart-shape.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Fault } from '#dashboard/ui/fault.tsx'
import { Icon } from '#dashboard/ui/icons.tsx'
import { Question } from '#dashboard/ui/question.tsx'
import { useSending } from '#dashboard/ui/sending.ts'
import { VirtualList } from '#dashboard/ui/virtual-list.tsx'
import { placeText } from '../place-text.ts'

const ROW_PX = 72

/** Recall screen: carts that are still out, and screens that have confirmed. */
export function RecallScreen() {
  const { recall, fleet, clock, site } = useDashboard()
  const texts = recallTexts()
  const [isAsking, setAsking] = useState(false)
  const now = recall.now.value
  const isKnown = fleet.version.value >= 0 && fleet.isKnown && (now !== null || recall.isKnown.value)
  if (now === null || !isKnown)
    return (
      <div class="page">
        <h1>{texts.allIn}</h1>
        <p role="status">{isKnown ? texts.isOver : `${shellTexts().loading} …`}</p>
        {isKnown && <CallAgain />}
      </div>
    )
  const list = recallList(now, fleet.carts)
  const { text, by, started_at } = now.recall
  return (
    <div class="recall">
      <header>
        <h1>{texts.allIn}</h1>
        <p dir="auto" class="recall-text">
          {text}
        </p>
        <p class="small" dir="auto">
          {texts.startedBy(by.name, formatMoment(Date.parse(started_at), clock.nowMs(), site.value.time_zone))}
        </p>
        <button type="button" class="button main" onClick={() => setAsking(true)}>
          {texts.over}
        </button>
        {isAsking && (
          <Question
            title={texts.askOver(now.screens.size)}
            action={texts.over}
            onCancel={() => setAsking(false)}
            onAnswer={async () => {
              await recall.end()
              setAsking(false)
            }}
          />
        )}
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

/** Reverses an end by mistake: sends the same text to all carts again. */
function CallAgain() {
  const { recall, gate } = useDashboard()
  const texts = recallTexts()
  const { send, fault, isSending } = useSending()
  const text = recall.endedText.value
  if (text === null) return null
  return (
    <>
      <p dir="auto" class="recall-text">
        {text}
      </p>
      <Fault text={fault} />
      <button
        type="button"
        class="button"
        disabled={isSending}
        onClick={() => void send(() => gate.act(() => recall.begin(text)))}
      >
        {texts.again}
      </button>
    </>
  )
}

function StillOut({ one: { cart, screen } }: { one: RecalledCart }) {
  const texts = recallTexts()
  return (
    <a class={`still-out ${screen}`} href={toHash('map', cart.cart)}>
      <CartShape kind={cart.kind} markerStyle={markerStyleOf(cart)} label={cart.cart} size={46} />
      <span class="still-out-words">
        <strong dir="auto">{placeText(cart)}</strong>
        <span>{texts.screens[screen]}</span>
      </span>
      <Icon name="next" />
    </a>
  )
}
