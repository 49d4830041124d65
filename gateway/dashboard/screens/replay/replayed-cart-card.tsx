import { markerStyleOf } from '#dashboard/live/fleet/marker-style.ts'
import { dayPath } from '#dashboard/live/replay/day-address.ts'
import type { ReplayFleet } from '#dashboard/live/replay/replay-fleet.ts'
import { toHash } from '#dashboard/live/route.ts'
import { dayTexts } from '#dashboard/texts/day.ts'
import { formatSpan, formatSpeed } from '#dashboard/texts/format.ts'
import { replayTexts } from '#dashboard/texts/replay.ts'
import { Button, ButtonLink } from '#dashboard/ui/button.tsx'
import { CartShape } from '#dashboard/ui/cart-shape.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { stateText } from '../cart/state-text.ts'
import { placeText } from '../place-text.ts'

interface ReplayedCartCardProps {
  fleet: ReplayFleet
  cart: string
  date: string
  onClose: () => void
}

/** Maximum age of a position that counts as current. */
const FRESH_MS = 60_000

/** Card of a cart at the shown moment. */
export function ReplayedCartCard({ fleet, cart: name, date, onClose }: ReplayedCartCardProps) {
  const { site } = useDashboard()
  const texts = dayTexts()
  const cart = fleet.version.value >= 0 ? fleet.carts.get(name) : undefined
  const agoMs = cart?.position == null ? 0 : fleet.atMs - Date.parse(cart.position.at)
  const facts =
    cart === undefined
      ? [texts.noneYet]
      : [
          stateText(cart),
          placeText(cart),
          ...(cart.is_moving ? [formatSpeed(cart.position?.speed ?? 0, site.value.units)] : []),
          ...(agoMs < FRESH_MS ? [] : [texts.heard(formatSpan(agoMs))]),
        ]
  return (
    <section class="replayed-cart box" aria-label={texts.ofCart(name)}>
      {cart !== undefined && <CartShape markerStyle={markerStyleOf(cart)} label={name} size={44} />}
      <div>
        <h2 dir="auto">{texts.ofCart(name)}</h2>
        <p dir="auto">{facts.join(' · ')}</p>
      </div>
      <Button icon="close" aria-label={replayTexts().close} onClick={onClose} />
      <ButtonLink text={replayTexts().theDay} href={toHash('more', dayPath(name, date))} />
    </section>
  )
}
