import { holeText, paceText } from '../pace/pace-text.ts'
import { useRounds } from '../pace/use-rounds.ts'

/** Line such as "Hole 7 · 12 min behind"; empty for a cart without a round. */
export function CartPaceLine({ cart }: { cart: string }) {
  const { known } = useRounds()
  const round = known?.find((one) => one.cart === cart)
  if (round === undefined) return null
  const words = paceText(round)
  return <p class="cart-pace">{[holeText(round), ...(words === null ? [] : [words])].join(' · ')}</p>
}
