import './map/map.css'
import './day/day.css'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { byNumber } from '#dashboard/live/fleet/marker-style.ts'
import { type CartDay, dayEndMs, readCartDay } from '#dashboard/live/replay/cart-day.ts'
import { dayPath, readDayPath } from '#dashboard/live/replay/day-address.ts'
import type { DayEvent } from '#dashboard/live/replay/day-events.ts'
import { lockSourceOf } from '#dashboard/live/replay/lock-source.ts'
import type { Playback, Span } from '#dashboard/live/replay/playback.ts'
import { ReplayFleet } from '#dashboard/live/replay/replay-fleet.ts'
import { replaySettingsOf } from '#dashboard/live/replay/replay-settings.ts'
import { ReplayZones } from '#dashboard/live/replay/replay-zones.ts'
import { ReplayedCart } from '#dashboard/live/replay/replayed-cart.ts'
import { toHash } from '#dashboard/live/route.ts'
import type { CourseMap } from '#dashboard/map/course-map.ts'
import { LiveMap } from '#dashboard/map/live-map.tsx'
import type { SiteZones } from '#dashboard/map/site-zones.ts'
import { extentOfTrack, TrackLayer } from '#dashboard/map/track-layer.ts'
import { alertTexts } from '#dashboard/texts/alerts.ts'
import { dayTexts } from '#dashboard/texts/day.ts'
import { formatDistance, formatSpan } from '#dashboard/texts/format.ts'
import { Button } from '#dashboard/ui/button.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Fault } from '#dashboard/ui/fault.tsx'
import { HelpLink } from '#dashboard/ui/help-link.tsx'
import { Icon } from '#dashboard/ui/icons.tsx'
import { refusalText } from '#dashboard/ui/refusal.ts'
import type { Units } from '#shared/units.ts'
import type { ZonesJson } from '#shared/wire/zones.ts'
import { DatePicker } from './day/date-picker.tsx'
import { DayCharts } from './day/day-charts.tsx'
import { DayList } from './day/day-list.tsx'
import { DaySummary } from './day/day-summary.tsx'
import { Strip } from './day/strip.tsx'
import { TimeBar } from './day/time-bar.tsx'
import { useOwnZones } from './day/use-own-zones.ts'
import { usePlayback } from './day/use-playback.ts'
import { useSiteZones } from './day/use-site-zones.ts'
import { useToday } from './day/use-today.ts'

/** Interval of reading a day that is not over. */
const AGAIN_MS = 60_000

interface Reading {
  known: CartDay | null
  fault: string | null
  again: () => void
}

/** Reads the day of a cart; the present day is read repeatedly while the connection is live. */
function useCartDay(cart: string, date: string, isToday: boolean): Reading {
  const { api, line } = useDashboard()
  const [known, setKnown] = useState<CartDay | null>(null)
  const [fault, setFault] = useState<string | null>(null)
  const [tries, setTries] = useState(0)
  useEffect(() => {
    const reading = new AbortController()
    setFault(null)
    readCartDay(api, cart, date, reading.signal).then(
      (day) => setKnown(day),
      (error: unknown) => {
        if (!reading.signal.aborted) setFault(refusalText(error))
      },
    )
    return () => reading.abort()
  }, [api, cart, date, tries])
  const again = () => setTries((before) => before + 1)
  const goesOn = isToday && line.state.value.kind === 'live'
  useEffect(() => {
    if (!goesOn) return
    const timer = setInterval(again, AGAIN_MS)
    return () => clearInterval(timer)
  }, [goesOn, cart, date])
  return { known, fault, again }
}

/** Day screen: track and events of the cart and day in the address. */
export function DayScreen() {
  const { router } = useDashboard()
  const texts = dayTexts()
  const today = useToday()
  const address = readDayPath(router.route.value.rest)
  const { cart, atMs } = address
  const date = address.date ?? today
  const go = (to: { cart?: string; date?: string }) => {
    const next = { cart, date, ...to }
    if (next.cart !== null && next.date !== null) router.go('more', dayPath(next.cart, next.date))
  }
  return (
    <div class="screen-column">
      <header class="bar">
        <a
          class="button"
          href={cart === null ? toHash('more') : toHash('map', cart)}
          aria-label={cart === null ? texts.title : texts.toCart}
        >
          <Icon name="back" />
        </a>
        <h1 class="visually-hidden">{texts.title}</h1>
        <CartChoice cart={cart} onCart={(to) => go({ cart: to })} />
        {date !== null && <DatePicker date={date} onDate={(to) => go({ date: to })} />}
        <HelpLink topic="day" />
        <p class="day-explained small">{texts.explained}</p>
      </header>
      {cart !== null && date !== null && today !== null && (
        <CartDayView key={`${cart} ${date} ${atMs}`} cart={cart} date={date} today={today} atMs={atMs} />
      )}
    </div>
  )
}

interface ShownDay {
  cart: string
  date: string
  today: string
  /** Start of the replay; null starts at the first event. */
  atMs: number | null
}

function CartDayView({ cart, date, today, atMs }: ShownDay) {
  const texts = dayTexts()
  const { known, fault, again } = useCartDay(cart, date, date === today)
  const hasRecords = known !== null && (known.track.atMs.length > 0 || known.voltages.atMs.length > 0)
  if (fault !== null)
    return (
      <div class="page">
        <Fault text={fault} />
        <Button text={texts.tryAgain} onClick={again} />
      </div>
    )
  if (known === null)
    return (
      <p class="page" role="status">
        {texts.loading}
      </p>
    )
  if (!hasRecords && known.events.length === 0)
    return (
      <p class="page" role="status">
        {date > today ? texts.future : texts.noRecords}
      </p>
    )
  return <KnownDay cart={cart} known={known} atMs={atMs} />
}

function KnownDay({ cart, known, atMs }: Pick<ShownDay, 'cart' | 'atMs'> & { known: CartDay }) {
  const { clock, site } = useDashboard()
  const texts = dayTexts()
  const zones = useSiteZones()
  const span = useMemo(() => dayEndMs(known.span, clock.nowMs()), [known])
  const playback = usePlayback(span, atMs ?? firstMoment(known, span))
  const fleet = useReplayedDay(cart, { known, zones: zones.current.value }, playback)
  return (
    <div class="split">
      <div class="day-main">
        <DayMap known={known} fleet={fleet} zones={zones} />
        <TimeBar playback={playback} span={span}>
          <Strip events={known.events} span={span} />
          <DayCharts known={known} span={span} />
        </TimeBar>
      </div>
      <section class="side" aria-label={texts.events}>
        <DaySummary known={known} fleet={fleet} />
        <h2>{texts.events}</h2>
        <p class="small">{texts.signs}</p>
        <DayList
          playback={playback}
          events={known.events}
          label={texts.events}
          none={texts.noEvents}
          wordsOf={(event) => eventInWords(event, site.value.units)}
        />
      </section>
    </div>
  )
}

/** Returns the replayed cart, which the map shows in place of the live fleet. */
function useReplayedDay(
  cart: string,
  { known, zones }: { known: CartDay; zones: ZonesJson | null },
  playback: Playback,
): ReplayFleet {
  const { fleet: now, settings } = useDashboard()
  const site = settings.value
  const own = useOwnZones()
  const fleet = useMemo(() => new ReplayFleet(), [])
  useEffect(() => {
    const devices = known.devices.map((device) => ({
      ...device,
      groupId: now.devices.get(device.hardwareId)?.group_id ?? null,
    }))
    const rules = { zones: new ReplayZones(zones, own), settings: replaySettingsOf(site) }
    fleet.take([new ReplayedCart(cart, devices, rules)])
    return playback.follow((atMs) => fleet.show(atMs))
  }, [cart, known, zones, own, site, fleet, playback])
  return fleet
}

function DayMap({ known, fleet, zones }: { known: CartDay; fleet: ReplayFleet; zones: SiteZones }) {
  const [map, setMap] = useState<CourseMap | null>(null)
  const layer = useMemo(() => new TrackLayer(), [])
  useEffect(() => {
    layer.show(known.track, {
      trips: known.events.flatMap((event) =>
        event.kind === 'trip' ? [{ fromMs: event.atMs, untilMs: event.untilMs }] : [],
      ),
      stops: known.events.flatMap((event) => (event.kind === 'stop' ? [event.stop.location] : [])),
    })
  }, [layer, known])
  useEffect(() => {
    const extent = extentOfTrack(known.track)
    if (map !== null && extent !== null) map.show(extent)
  }, [map])
  return (
    <div class="split-map">
      <LiveMap
        zones={zones}
        fleet={fleet}
        isUnpacked
        onTap={() => undefined}
        onReady={(ready) => {
          ready.add(layer.layer)
          setMap(ready)
        }}
      />
    </div>
  )
}

/** Returns the time of the first event, at which the replay starts. */
function firstMoment({ track, events }: CartDay, span: Span): number {
  const firstTrip = events.find(({ kind }) => kind === 'trip')
  return firstTrip?.atMs ?? track.atMs[0] ?? span.fromMs
}

/** Field for the cart whose day is shown. */
function CartChoice({ cart, onCart }: { cart: string | null; onCart: (cart: string) => void }) {
  const { fleet } = useDashboard()
  const texts = dayTexts()
  const carts = fleet.version.value >= 0 ? [...fleet.carts.values()].sort(byNumber) : []
  const isGone = cart !== null && !fleet.carts.has(cart)
  return (
    <select
      class="input grow"
      aria-label={texts.which}
      value={cart ?? ''}
      onChange={({ currentTarget }) => currentTarget.value !== '' && onCart(currentTarget.value)}
    >
      {cart === null && <option value="">{texts.which}</option>}
      {isGone && <option value={cart}>{texts.ofCart(cart)}</option>}
      {carts.map(({ cart: name }) => (
        <option key={name} value={name}>
          {texts.ofCart(name)}
        </option>
      ))}
    </select>
  )
}

/** Formats an event, such as "Drove 2.4 km in 34 min". */
function eventInWords(event: DayEvent, units: Units): string {
  const texts = dayTexts()
  switch (event.kind) {
    case 'trip': {
      const { distance, duration } = event.trip
      return texts.tripRow(formatDistance(distance, units), formatSpan(duration * 1000))
    }
    case 'stop':
      return texts.stopRow(formatSpan(event.stop.duration * 1000))
    case 'lock': {
      const { event: what } = event.event
      const by = lockSourceOf(event.event, texts.sources)
      return what === 'lock' ? texts.locked(by) : texts.unlocked(by)
    }
    case 'zone': {
      const { event: way, zone_name } = event.event
      return way === 'enter' ? texts.entered(zone_name) : texts.left(zone_name)
    }
    case 'alert':
      return alertTexts().kinds[event.alert.kind]
  }
}
