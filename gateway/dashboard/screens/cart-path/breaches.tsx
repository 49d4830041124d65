import { useEffect, useState } from 'preact/hooks'
import { type Breach, breachesOf, breachQuery } from '#dashboard/live/breaches.ts'
import { dayPath } from '#dashboard/live/replay/day-address.ts'
import { toHash } from '#dashboard/live/route.ts'
import { cartPathTexts } from '#dashboard/texts/cart-path.ts'
import { formatMoment, formatSpan } from '#dashboard/texts/format.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { TimeZone } from '#shared/site/time-zone.ts'
import type { GeofenceEventJson } from '#shared/wire/geofence-events.ts'
import type { ZonesJson } from '#shared/wire/zones.ts'

const RELOAD_EVERY_MS = 10_000
const EVENTS_MAX = 1_000
/** Limit for a day on which many carts leave the path. */
const SHOWN_MAX = 100

type Zones = ZonesJson['features']

/** Carts that drove in forbidden zones during the override, with duration and a link to the day's track as evidence. */
export function Breaches({ zones }: { zones: Zones }) {
  const { fleet } = useDashboard()
  const texts = cartPathTexts()
  const events = useEvents(zones)
  const breaches = events !== null && fleet.version.value >= 0 ? breachesOf(zones, events, fleet.carts.values()) : null
  if (breaches === null) return null
  return (
    <section class="stack" aria-labelledby="breaches">
      <h2 id="breaches">{texts.breaches}</h2>
      {breaches.length === 0 && <p>{texts.noBreaches}</p>}
      <ul class="breaches">
        {breaches.slice(0, SHOWN_MAX).map((breach) => (
          <BreachRow key={JSON.stringify(breach)} breach={breach} />
        ))}
      </ul>
      {(breaches.length > SHOWN_MAX || (events?.length ?? 0) >= EVENTS_MAX) && (
        <p class="small">{texts.someBreaches}</p>
      )}
    </section>
  )
}

function BreachRow({ breach: { cart, zoneName, fromMs, untilMs } }: { breach: Breach }) {
  const { clock, site, second } = useDashboard()
  const texts = cartPathTexts()
  const nowMs = second.value >= 0 ? clock.nowMs() : 0
  const { time_zone } = site.value
  const span = texts.forSpan(formatSpan((untilMs ?? nowMs) - fromMs))
  const date = new TimeZone(time_zone).local(fromMs).date
  return (
    <li>
      <a href={toHash('more', dayPath(cart, date, fromMs))} aria-label={texts.track(cart)}>
        <b dir="auto">{cart}</b>
        <span dir="auto">{zoneName}</span>
        <span>{formatMoment(fromMs, nowMs, time_zone)}</span>
        <span>{untilMs === null ? `${span}, ${texts.stillThere}` : span}</span>
      </a>
    </li>
  )
}

/** Loads the events of the overridden zone types since the first override; repeated while the page is visible. */
function useEvents(zones: Zones): GeofenceEventJson[] | null {
  const { api, line } = useDashboard()
  const [events, setEvents] = useState<GeofenceEventJson[] | null>(null)
  const query = JSON.stringify(breachQuery(zones))
  const isLive = line.state.value.kind === 'live'
  useEffect(() => {
    // the query is the JSON of a `breachQuery` result
    const asked = JSON.parse(query) as ReturnType<typeof breachQuery>
    if (!isLive || asked === null) return
    let isHere = true
    const reload = async () => {
      const pages = await Promise.all(
        asked.types.map((zone_type) =>
          api.call('GET /geofence-events', { query: { zone_type, from: asked.from, limit: EVENTS_MAX } }),
        ),
      )
      if (isHere) setEvents(pages.flatMap((page) => page.events))
    }
    const reloadOrWait = () => void reload().catch(() => undefined)
    reloadOrWait()
    const timer = setInterval(reloadOrWait, RELOAD_EVERY_MS)
    return () => {
      isHere = false
      clearInterval(timer)
    }
  }, [api, isLive, query])
  return events
}
