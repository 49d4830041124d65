import type { CartDay } from '#dashboard/live/replay/cart-day.ts'
import type { ReplayFleet } from '#dashboard/live/replay/replay-fleet.ts'
import { lastIndexAt } from '#dashboard/live/replay/track.ts'
import { dayTexts } from '#dashboard/texts/day.ts'
import { formatDistance, formatSpan, formatSpeed, formatVoltage } from '#dashboard/texts/format.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import type { Units } from '#shared/units.ts'

/** Maximum age of a position whose speed is shown. */
const FRESH_MS = 60_000

/** Summary of the day in one line, and the state of the cart at the shown moment. */
export function DaySummary({ known, fleet }: { known: CartDay; fleet: ReplayFleet }) {
  const { site } = useDashboard()
  const texts = dayTexts()
  const { units } = site.value
  const now = fleet.version.value > 0 ? momentInWords(known, fleet, units) : ''
  const trips = known.events.filter(({ kind }) => kind === 'trip').length
  return (
    <div class="stack">
      <p>
        <strong>{trips === 0 ? texts.noTrips : texts.trips(trips, formatDistance(known.drivenM, units))}</strong>
      </p>
      {known.hasGaps && <p class="box">{texts.gaps}</p>}
      <p class="day-now">{now}</p>
    </div>
  )
}

function momentInWords({ track, voltages }: CartDay, fleet: ReplayFleet, units: Units): string {
  const texts = dayTexts()
  const { atMs } = fleet
  const index = lastIndexAt(track.atMs, atMs)
  if (index < 0) return texts.noneYet
  const agoMs = atMs - (track.atMs[index] ?? atMs)
  const [cart] = fleet.carts.values()
  const drives = cart?.is_moving === true ? texts.drives(formatSpeed(cart.position?.speed ?? 0, units)) : texts.stands
  const voltage = voltages.voltageV[lastIndexAt(voltages.atMs, atMs)]
  return [
    agoMs < FRESH_MS ? drives : texts.heard(formatSpan(agoMs)),
    ...(voltage === undefined ? [] : [formatVoltage(voltage)]),
  ].join(' · ')
}
