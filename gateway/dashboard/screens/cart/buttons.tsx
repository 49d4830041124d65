import { toDayHash } from '#dashboard/live/route.ts'
import { lockDeviceOf, screenOf } from '#dashboard/live/safe-lock.ts'
import { cartActionTexts } from '#dashboard/texts/cart-actions.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Icon } from '#dashboard/ui/icons.tsx'
import type { CartJson } from '#shared/wire/carts.ts'
import type { Asking } from './ask-dialogs.tsx'

interface LockButtonsProps {
  cart: CartJson
  /** Id of the element that explains why the cart cannot be locked now. */
  whyNotId: string | null
  onAsk: (asking: Asking) => void
  onLock: () => void
  onBeep: () => void
}

/** Most frequent actions; of lock and unlock the more likely one is larger. */
export function LockButtons({ cart, whyNotId, onAsk, onLock, onBeep }: LockButtonsProps) {
  const { screenTypes, me } = useDashboard()
  const texts = cartActionTexts()
  const hasNone = lockDeviceOf(cart) === undefined
  return (
    <div class={`lock-buttons ${cart.lock?.is_locked === true ? 'locked' : ''}`}>
      <button
        type="button"
        class="button lock"
        disabled={whyNotId !== null || hasNone}
        aria-describedby={whyNotId ?? undefined}
        onClick={onLock}
      >
        <Icon name="lock" />
        {texts.lock}
      </button>
      <button type="button" class="button unlock" disabled={hasNone} onClick={() => onAsk('unlock')}>
        <Icon name="unlock" />
        {texts.unlock}
      </button>
      <button type="button" class="button beep" disabled={hasNone} onClick={onBeep}>
        <Icon name="beep" />
        {texts.beep}
      </button>
      {me.value?.role !== 'user' && screenOf(cart, screenTypes.value) !== undefined && (
        <button type="button" class="button message" onClick={() => onAsk('message')}>
          <Icon name="message" />
          {texts.message}
        </button>
      )}
    </div>
  )
}

interface MoreButtonsProps {
  cart: CartJson
  isStaff: boolean
  onAsk: (asking: Asking) => void
}

/** Rare actions, behind one button. */
export function MoreButtons({ cart, isStaff, onAsk }: MoreButtonsProps) {
  const texts = cartActionTexts()
  const isInService = cart.out_of_service === null
  const { me } = useDashboard()
  return (
    <details>
      <summary class="button">{texts.more}</summary>
      <div class="more-buttons">
        {isStaff && (
          <>
            <button type="button" class="button" onClick={() => onAsk(isInService ? 'service' : 'back')}>
              <Icon name="wrench" />
              {isInService ? texts.outOfService : texts.backInService}
            </button>
            {isInService && (
              <button
                type="button"
                class="button"
                onClick={() => onAsk(cart.exempt === null ? 'exempt' : 'exempt-over')}
              >
                <Icon name="flag" />
                {cart.exempt === null ? texts.mayDrive : texts.mayNotDrive}
              </button>
            )}
            <button type="button" class="button" onClick={() => onAsk('note')}>
              {texts.note}
            </button>
          </>
        )}
        {me.value?.user.role === 'admin' && (
          <button type="button" class="button" onClick={() => onAsk('kind')}>
            {texts.kind}
          </button>
        )}
        <a class="button" href={toDayHash(cart.cart)}>
          {texts.day}
        </a>
      </div>
    </details>
  )
}
