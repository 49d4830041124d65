import './map/map.css'
import './day/day.css'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { type CartDay, untilNow } from '#dashboard/live/replay/cart-day.ts'
import { dayPath, readDayPath } from '#dashboard/live/replay/day-address.ts'
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
import { dayTexts } from '#dashboard/texts/day.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Fault } from '#dashboard/ui/fault.tsx'
import { HelpLink } from '#dashboard/ui/help-link.tsx'
import { Icon } from '#dashboard/ui/icons.tsx'
import type { ZonesJson } from '#shared/wire/zones.ts'
import { CartChoice } from './day/cart-choice.tsx'
import { DatePicker } from './day/date-picker.tsx'
import { DayCharts } from './day/day-charts.tsx'
import { DayList } from './day/day-list.tsx'
import { DaySummary } from './day/day-summary.tsx'
import { eventInWords } from './day/event-words.ts'
import { Strip } from './day/strip.tsx'
import { TimeBar } from './day/time-bar.tsx'
import { useCartDay } from './day/use-cart-day.ts'
import { useOwnZones } from './day/use-own-zones.ts'
import { usePlayback } from './day/use-playback.ts'
import { useSiteZones } from './day/use-site-zones.ts'
import { useToday } from './day/use-today.ts'

/** Where a cart was on a day and what happened to it: the address says which cart and day. */
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
    <div class="day-screen">
      <header class="day-head">
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
        <p class="day-explained">{texts.explained}</p>
      </header>
      {cart !== null && date !== null && today !== null && (
        <CartDayView key={`${cart} ${date} ${atMs}`} {...{ cart, date, today, atMs }} />
      )}
    </div>
  )
}

interface ShownDay {
  cart: string
  date: string
  today: string
  /** Where the replay begins; null at the first thing that happened. */
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
        <button type="button" class="button" onClick={again}>
          {texts.tryAgain}
        </button>
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
  return <KnownDay {...{ cart, known, atMs }} />
}

function KnownDay({ cart, known, atMs }: Pick<ShownDay, 'cart' | 'atMs'> & { known: CartDay }) {
  const { clock, site } = useDashboard()
  const texts = dayTexts()
  const zones = useSiteZones()
  const span = useMemo(() => untilNow(known.span, clock.nowMs()), [known])
  const playback = usePlayback(span, atMs ?? firstMoment(known, span))
  const fleet = useReplayedDay(cart, { known, zones: zones.current.value }, playback)
  return (
    <div class="day-body">
      <div class="day-main">
        <DayMap {...{ known, fleet, zones }} />
        <TimeBar playback={playback} span={span}>
          <Strip events={known.events} span={span} />
          <DayCharts known={known} span={span} />
        </TimeBar>
      </div>
      <section class="day-panel" aria-label={texts.events}>
        <DaySummary {...{ known, fleet }} />
        <h2>{texts.events}</h2>
        <p class="small">{texts.signs}</p>
        <DayList
          {...{ playback, events: known.events, label: texts.events, none: texts.noEvents }}
          wordsOf={(event) => eventInWords(event, site.value.units)}
        />
      </section>
    </div>
  )
}

/** The cart as it was, fed to the map in place of the fleet of now. */
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
    <div class="day-map">
      <LiveMap
        {...{ zones, fleet, isUnpacked: true }}
        onTap={() => undefined}
        onReady={(ready) => {
          ready.add(layer.layer)
          setMap(ready)
        }}
      />
    </div>
  )
}

/** Where the replay begins: with the first thing that happened. */
function firstMoment({ track, events }: CartDay, span: Span): number {
  const firstTrip = events.find(({ kind }) => kind === 'trip')
  return firstTrip?.atMs ?? track.atMs[0] ?? span.fromMs
}
