import { useState } from 'preact/hooks'
import { partyNameOf } from '#dashboard/live/fleet/party-name.ts'
import { partyTexts } from '#dashboard/texts/parties/parties.ts'
import { Button } from '#dashboard/ui/button.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import type { CartJson } from '#shared/wire/carts.ts'
import { GiveOut } from './give-out.tsx'
import { givenText } from './party-text.ts'
import { ReturnButton } from './return-button.tsx'

/** Who has the cart, and its hand-out and return by staff. */
export function CartParty({ cart }: { cart: CartJson }) {
  const { me, site } = useDashboard()
  const texts = partyTexts()
  const [isGiving, give] = useState(false)
  const [status, setStatus] = useState('')
  const { party } = cart
  const isStaff = me.value?.role !== 'user'
  const done = (text: string) => {
    setStatus(text)
    give(false)
  }
  return (
    <div class="stack">
      {party !== null && (
        <p dir="auto">
          <strong>{givenText(partyNameOf(cart), party.until, party.is_overdue, site.value.time_zone)}</strong>
          <span class="small">{` ${texts.whenParked}`}</span>
        </p>
      )}
      {isStaff && (
        <div class="row">
          {party !== null &&
            (['return', 'returnAndLock'] as const).map((is) => (
              <ReturnButton key={is} is={is} partyId={party.party_id} carts={[cart.cart]} onDone={done} />
            ))}
          {party === null && cart.out_of_service === null && <Button text={texts.giveOut} onClick={() => give(true)} />}
        </div>
      )}
      <p role="status" class={status === '' ? 'visually-hidden' : 'small'}>
        {status}
      </p>
      {isGiving && <GiveOut cart={cart.cart} party={null} onCancel={() => give(false)} onDone={done} />}
    </div>
  )
}
