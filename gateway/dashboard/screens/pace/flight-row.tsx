import type { CommandProgress } from '#dashboard/live/commands.ts'
import { finishMs, onHoleSince, type Pace, type PlayingGroup, paceOf } from '#dashboard/live/playing-groups.ts'
import { lockDeviceOf, screenOf } from '#dashboard/live/safe-lock.ts'
import { messageTexts } from '#dashboard/texts/cart-actions.ts'
import { formatSpan, formatTime } from '#dashboard/texts/format.ts'
import { paceTexts } from '#dashboard/texts/pace.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Icon } from '#dashboard/ui/icons.tsx'
import { holeText, paceText } from './pace-text.ts'

const OUTLINES: Record<Pace, string> = {
  late: 'M24 3 46 42H2Z',
  behind: 'M24 3 46 24 24 45 2 24Z',
  'on time': 'M24 4a20 20 0 1 0 0 40 20 20 0 0 0 0-40Z',
  between: 'M24 4a20 20 0 1 0 0 40 20 20 0 0 0 0-40Z',
}

/** Triangle: late. Diamond: behind. Circle: on time; with a dashed edge on no hole. The number is that of the hole. */
function PaceShape({ pace, hole }: { pace: Pace; hole: number | null }) {
  return (
    <svg class={`pace-shape ${pace.replace(' ', '-')}`} width="48" height="48" viewBox="0 0 48 48" aria-hidden="true">
      <path d={OUTLINES[pace]} />
      <text x="24" y={pace === 'late' ? 36 : 30} font-size="18" text-anchor="middle">
        {hole ?? '–'}
      </text>
    </svg>
  )
}

export const FLIGHT_ROW_PX = 128

interface FlightRowProps {
  flight: PlayingGroup
  minutesPerHole: number
  holesOfCourse: number
  onMessage: () => void
  onBeep: (sent: readonly CommandProgress[]) => void
}

/** Row of carts that play together: hole, delay, and time on the hole. */
export function FlightRow({ flight, minutesPerHole, holesOfCourse, onMessage, onBeep }: FlightRowProps) {
  const { clock, second, site, me, fleet, commands, screenTypes } = useDashboard()
  const texts = paceTexts()
  const nowMs = second.value >= 0 ? clock.nowMs() : 0
  const { carts, round } = flight
  const zone = site.value.time_zone
  const since = onHoleSince(round)
  const doneMs = finishMs(round, { holesOfCourse, minutesPerHole, nowMs })
  const name = texts.cart(carts)
  const known = carts.flatMap((cart) => fleet.carts.get(cart) ?? [])
  const hasScreen = known.some((cart) => screenOf(cart, screenTypes.value) !== undefined)
  const locks = known.flatMap((cart) => {
    const device = lockDeviceOf(cart)
    return device === undefined ? [] : [{ cart: cart.cart, hardwareId: device.hardware_id }]
  })
  const beep = () => onBeep(locks.map((one) => commands.send({ ...one, command: 'locate', params: { beep: true } })))
  const words = paceText(round)
  const place = [holeText(round), ...(words === null ? [] : [words])].join(' · ')
  const facts = [
    ...(since === null ? [] : [texts.onHoleFor(formatSpan(nowMs - Date.parse(since)))]),
    texts.playedFor(formatSpan(nowMs - Date.parse(round.started_at))),
    ...(doneMs === null ? [] : [texts.finish(formatTime(doneMs, zone))]),
  ]
  return (
    <div class={`flight-row ${paceOf(round, minutesPerHole).replace(' ', '-')}`}>
      <PaceShape pace={paceOf(round, minutesPerHole)} hole={round.current_hole} />
      <div class="flight-words">
        <strong dir="auto">{name}</strong>
        <span class="flight-pace">{place}</span>
        <span class="small">{facts.join(' · ')}</span>
        <span class="small">{texts.startedOn(round.start_hole, formatTime(Date.parse(round.started_at), zone))}</span>
      </div>
      {me.value?.role !== 'user' && hasScreen && (
        <button type="button" class="button" aria-label={messageTexts().messageTo(carts)} onClick={onMessage}>
          <Icon name="message" />
          <span>{texts.message}</span>
        </button>
      )}
      {me.value?.role !== 'user' && !hasScreen && locks.length > 0 && (
        <button type="button" class="button" aria-label={messageTexts().beepAt(carts)} onClick={beep}>
          <Icon name="beep" />
          <span>{texts.beep}</span>
        </button>
      )}
    </div>
  )
}
