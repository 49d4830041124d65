import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { CommandInput, CommandName, CommandProgress } from '#dashboard/live/commands.ts'
import { isParked } from '#dashboard/live/fleet/marker-style.ts'
import { isMovingTooFast, lockDeviceOf } from '#dashboard/live/safe-lock.ts'
import { cartActionTexts } from '#dashboard/texts/cart-actions.ts'
import { formatSpeed, formatTime } from '#dashboard/texts/format.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import type { CartJson } from '#shared/wire/carts.ts'
import type { InputOf } from '#shared/wire/operation-types.ts'
import { type Asking, CartQuestion } from './ask-dialogs.tsx'
import { LockButtons, MoreButtons } from './buttons.tsx'
import { CommandOutcome } from './outcome.tsx'

/** Time for which the result of a command stays visible. */
const STATUS_SHOWN_MS = 60_000

type Patch = InputOf<'PATCH /carts/{cart}'>['body']

interface CartActionsProps {
  cart: CartJson
  /** Details of the cart, placed below the most frequent actions, which a phone shows without scrolling. */
  children: ComponentChildren
}

export function CartActions({ cart, children }: CartActionsProps) {
  const { api, commands, clock, second, me, settings, site } = useDashboard()
  const [asking, setAsking] = useState<Asking | null>(null)
  const [savedAtMs, setSavedAtMs] = useState<number | null>(null)
  const texts = cartActionTexts()
  const role = me.value?.role ?? 'user'
  const nowMs = second.value >= 0 ? clock.nowMs() : 0
  const isMoving = isMovingTooFast(cart, nowMs, settings.value?.lock_max_speed_kmh)
  const course = commands.courseOf(cart.cart)
  const why = overridable(course, isMoving, role)

  const send = (command: CommandName, more: Partial<CommandInput> = {}) => {
    const device = lockDeviceOf(cart)
    setAsking(null)
    if (device !== undefined) commands.send({ cart: cart.cart, hardwareId: device.hardware_id, command, ...more })
  }
  const patch = async (body: Patch) => {
    await api.call('PATCH /carts/{cart}', { path: { cart: cart.cart }, body })
    setAsking(null)
    setSavedAtMs(clock.nowMs())
  }
  return (
    <div class="cart-actions">
      {isMoving && (
        <p id="why-not-lock" class="why-not">
          {texts.moving(formatSpeed(cart.position?.speed ?? 0, site.value.units))}
        </p>
      )}
      {why !== null && (
        <button type="button" class="button force" onClick={() => setAsking('force')}>
          {texts.force}
        </button>
      )}
      <LockButtons
        cart={cart}
        whyNotId={isMoving ? 'why-not-lock' : null}
        onAsk={setAsking}
        // in the barn a lock strands no one
        onLock={() => (isParked(cart) ? send('lock') : setAsking('lock'))}
        onBeep={() => send('locate', { params: { beep: true } })}
      />
      <Outcome cart={cart} course={course} savedAtMs={savedAtMs} />
      {children}
      <MoreButtons cart={cart} isStaff={role !== 'user'} onAsk={setAsking} />
      {asking !== null && (
        <CartQuestion
          cart={cart}
          asking={asking}
          why={why}
          send={send}
          patch={patch}
          onCancel={() => setAsking(null)}
        />
      )}
    </div>
  )
}

interface OutcomeProps {
  cart: CartJson
  course: CommandProgress | null
  /** Time at which a change of the cart was saved. */
  savedAtMs: number | null
}

function Outcome({ cart, course, savedAtMs }: OutcomeProps) {
  const { clock, commands, line, site } = useDashboard()
  const savedAgoMs = savedAtMs === null ? STATUS_SHOWN_MS : clock.nowMs() - savedAtMs
  const isSaved = savedAgoMs < Math.min(STATUS_SHOWN_MS, course === null ? STATUS_SHOWN_MS : commands.ageMs(course))
  return (
    <div class="cart-outcome" role="status">
      {isSaved && (
        <p class="outcome done">{cartActionTexts().saved(formatTime(savedAtMs ?? 0, site.value.time_zone))}</p>
      )}
      {!isSaved && course !== null && isStatusShown(course, commands.ageMs(course)) && (
        <CommandOutcome
          course={course}
          isOnline={cart.devices.some(({ is_online }) => is_online)}
          isLive={line.state.value.kind === 'live'}
        />
      )}
    </div>
  )
}

function isStatusShown(course: CommandProgress, ageMs: number): boolean {
  const { kind } = course.stage.value
  return (kind !== 'done' && kind !== 'failed') || ageMs < STATUS_SHOWN_MS
}

/** Returns the rejection of a lock that this user may override; null if none. */
function overridable(
  course: CommandProgress | null,
  isMoving: boolean,
  role: 'user' | 'staff' | 'admin',
): string | null {
  if (role === 'user') return null
  const stage = course?.stage.value
  const code = course?.wanted.command === 'lock' && stage?.kind === 'failed' ? stage.code : null
  if (code === 'position_unknown') return code
  if (role !== 'admin') return null
  return isMoving || code === 'cart_is_moving' || code === 'admin_required' ? 'cart_is_moving' : null
}
