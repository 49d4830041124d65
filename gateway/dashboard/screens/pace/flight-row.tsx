import type { CommandProgress } from '#dashboard/live/commands.ts'
import { type Pace, paceOf } from '#dashboard/live/pace.ts'
import { lockDeviceOf, screenOf } from '#dashboard/live/safe-lock.ts'
import { messageTexts } from '#dashboard/texts/cart-actions.ts'
import { formatTime } from '#dashboard/texts/format.ts'
import { paceTexts } from '#dashboard/texts/pace.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Icon } from '#dashboard/ui/icons.tsx'
import { useSending } from '#dashboard/ui/sending.ts'
import type { PaceJson, PacePartyJson } from '#shared/wire/rounds.ts'
import { causeText, holeText, partyName } from './pace-text.ts'

const OUTLINES: Record<Pace, string> = {
  late: 'M24 3 46 42H2Z',
  behind: 'M24 3 46 24 24 45 2 24Z',
  'on time': 'M24 4a20 20 0 1 0 0 40 20 20 0 0 0 0-40Z',
  between: 'M24 4a20 20 0 1 0 0 40 20 20 0 0 0 0-40Z',
}

/** Triangle: delays others. Diamond: late. Circle: on pace; with a dashed edge on no hole. The number is the hole. */
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
  flight: PacePartyJson
  pace: PaceJson
  onMessage: () => void
  onBeep: (sent: readonly CommandProgress[]) => void
}

/** Row of carts that play together: hole, cause of the delay, and gap to the party ahead. */
export function FlightRow({ flight, pace, onMessage, onBeep }: FlightRowProps) {
  const { api, gate, site, fleet, commands, screenTypes } = useDashboard()
  const texts = paceTexts()
  const { carts, party_id: partyId, last_note: note, gap_min: gapMin, gap_holes: gapHoles, projected_end: end } = flight
  const asking = useSending()
  const zone = site.value.time_zone
  const known = carts.flatMap((cart) => fleet.carts.get(cart) ?? [])
  const hasScreen = known.some((cart) => screenOf(cart, screenTypes.value) !== undefined)
  const locks = known.flatMap((cart) => {
    const device = lockDeviceOf(cart)
    return device === undefined ? [] : [{ cart: cart.cart, hardwareId: device.hardware_id }]
  })
  const beep = () => onBeep(locks.map((one) => commands.send({ ...one, command: 'locate', params: { beep: true } })))
  const askToKeepUp = (id: string) =>
    asking.send(async () => {
      await gate.act(() => api.call('POST /parties/{id}/notes', { path: { id }, body: { text: texts.askedToKeepUp } }))
    })
  const facts = [
    ...(asking.fault === null ? [] : [asking.fault]),
    ...(note === null ? [] : [`${note.text} ${formatTime(Date.parse(note.at), zone)}`]),
    ...(gapMin === null || gapHoles === null ? [] : [texts.gap(Math.round(gapMin), gapHoles)]),
    ...(flight.is_waiting ? [texts.waits] : []),
    ...(end === null ? [] : [texts.finish(formatTime(Date.parse(end), zone))]),
  ]
  return (
    <div class={`flight-row ${paceOf(flight).replace(' ', '-')}`}>
      <PaceShape pace={paceOf(flight)} hole={flight.current_hole} />
      <div class="flight-words">
        <strong dir="auto">{partyName(flight)}</strong>
        <span class="flight-pace">{`${holeText(flight)} · ${causeText(flight, pace)}`}</span>
        <span class="small" dir="auto">
          {facts.join(' · ')}
        </span>
        <span class="small">{texts.startedOn(flight.start_hole, formatTime(Date.parse(flight.started_at), zone))}</span>
      </div>
      {partyId !== null && (
        <button
          type="button"
          class="button"
          disabled={asking.isSending}
          aria-label={`${texts.askedToKeepUp}: ${partyName(flight)}`}
          onClick={() => void askToKeepUp(partyId)}
        >
          <Icon name="check" />
          <span>{texts.askedToKeepUp}</span>
        </button>
      )}
      {hasScreen && (
        <button type="button" class="button" aria-label={messageTexts().messageTo(carts)} onClick={onMessage}>
          <Icon name="message" />
          <span>{texts.message}</span>
        </button>
      )}
      {!hasScreen && locks.length > 0 && (
        <button type="button" class="button" aria-label={messageTexts().beepAt(carts)} onClick={beep}>
          <Icon name="beep" />
          <span>{texts.beep}</span>
        </button>
      )}
    </div>
  )
}
