import { useEffect, useState } from 'preact/hooks'
import { zoneReach } from '#dashboard/live/cart-path.ts'
import { toHash } from '#dashboard/live/route.ts'
import { screenOf } from '#dashboard/live/safe-lock.ts'
import { messageTexts } from '#dashboard/texts/cart-actions.ts'
import { cartPathTexts } from '#dashboard/texts/cart-path.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import type { AnswerOf } from '#shared/wire/operation-types.ts'
import { useMessages } from '../message.tsx'

const RELOAD_EVERY_MS = 3_000
/** Maximum number of carts listed by name. */
const NAMED_MAX = 20

type Applied = AnswerOf<'GET /zones/applied'>

/** Carts that have confirmed the present zones, and those that have not, with a message to those that cannot. */
export function DeliveryStatus({ version }: { version: number }) {
  const { fleet, screenTypes } = useDashboard()
  const texts = cartPathTexts()
  const { ask, status } = useMessages()
  const applied = useApplied(version)
  if (applied === null) return null
  const { has, waiting, cannot } = zoneReach(applied, fleet.version.value >= 0 ? fleet.carts.values() : [])
  const withScreen = cannot.filter((name) => {
    const cart = fleet.carts.get(name)
    return cart !== undefined && screenOf(cart, screenTypes.value) !== undefined
  })
  const total = has.length + waiting.length + cannot.length
  if (has.length + waiting.length === 0) return <p>{texts.noCarts}</p>
  return (
    <section class="panel who-has-it" role="status">
      <strong>{has.length === total ? texts.allHaveIt(total) : texts.haveIt(has.length, total)}</strong>
      <progress max={total} value={has.length} aria-label={texts.haveIt(has.length, total)} />
      <CartLinks title={texts.waiting} carts={waiting} />
      <CartLinks title={texts.cannot} carts={cannot} />
      {withScreen.length > 0 && (
        <button type="button" class="button" onClick={() => ask(withScreen)}>
          {messageTexts().messageTo(withScreen)}
        </button>
      )}
      {status}
    </section>
  )
}

/** Links to the carts. */
function CartLinks({ title, carts }: { title: string; carts: readonly string[] }) {
  if (carts.length === 0) return null
  return (
    <p class="path-waiting">
      {title}{' '}
      {carts.slice(0, NAMED_MAX).map((cart) => (
        <a key={cart} class="button" href={toHash('map', cart)} dir="auto">
          {cart}
        </a>
      ))}
      {carts.length > NAMED_MAX && ` + ${carts.length - NAMED_MAX}`}
    </p>
  )
}

function useApplied(version: number): Applied | null {
  const { api, line } = useDashboard()
  const [applied, setApplied] = useState<Applied | null>(null)
  const isLive = line.state.value.kind === 'live'
  useEffect(() => {
    if (!isLive) return
    let isHere = true
    const reload = () =>
      api.call('GET /zones/applied').then(
        (answer) => isHere && setApplied(answer),
        // the connection state shows the failure; the last result stays
        () => undefined,
      )
    void reload()
    const timer = setInterval(() => void reload(), RELOAD_EVERY_MS)
    return () => {
      isHere = false
      clearInterval(timer)
    }
  }, [api, isLive, version])
  return applied
}
