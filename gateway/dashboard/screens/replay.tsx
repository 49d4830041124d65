import './map/map.css'
import './day/day.css'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { countCarts } from '#dashboard/live/fleet/cart-filter.ts'
import { dayEndMs } from '#dashboard/live/replay/cart-day.ts'
import { CourseReplay } from '#dashboard/live/replay/course-replay.ts'
import { type DayEvent, dayEvents } from '#dashboard/live/replay/day-events.ts'
import type { Playback, Span } from '#dashboard/live/replay/playback.ts'
import { readReplayPath, replayPath } from '#dashboard/live/replay/replay-address.ts'
import { replaySettingsOf } from '#dashboard/live/replay/replay-settings.ts'
import { ReplayZones } from '#dashboard/live/replay/replay-zones.ts'
import { LiveMap } from '#dashboard/map/live-map.tsx'
import { alertTexts } from '#dashboard/texts/alerts.ts'
import { dayTexts } from '#dashboard/texts/day.ts'
import { formatSpan } from '#dashboard/texts/format.ts'
import { replayTexts } from '#dashboard/texts/replay.ts'
import { BackToMore } from '#dashboard/ui/back-to-more.tsx'
import { Button } from '#dashboard/ui/button.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Fault } from '#dashboard/ui/fault.tsx'
import { HelpLink } from '#dashboard/ui/help-link.tsx'
import { NotKnown } from '#dashboard/ui/not-known.tsx'
import { refusalText } from '#dashboard/ui/refusal.ts'
import { TimeZone } from '#shared/site/time-zone.ts'
import { toIso } from '#shared/time.ts'
import type { ZonesJson } from '#shared/wire/zones.ts'
import { DatePicker } from './day/date-picker.tsx'
import { DayList } from './day/day-list.tsx'
import { Strip } from './day/strip.tsx'
import { TimeBar } from './day/time-bar.tsx'
import { useOwnZones } from './day/use-own-zones.ts'
import { usePlayback } from './day/use-playback.ts'
import { useSiteZones } from './day/use-site-zones.ts'
import { useToday } from './day/use-today.ts'
import { ReplayedCartCard } from './replay/replayed-cart-card.tsx'

const MOST = 1000
const NOTHING = { trips: [], stops: [], locks: [], zones: [] }

/** Loads the cart alerts opened on a day, oldest first; null until they are known, or if they cannot be loaded. */
function useDayAlerts({ fromMs, toMs }: Span): { alerts: readonly DayEvent[]; isFailed: boolean } {
  const { api } = useDashboard()
  const [alerts, setAlerts] = useState<readonly DayEvent[]>([])
  const [isFailed, setIsFailed] = useState(false)
  useEffect(() => {
    const reading = new AbortController()
    const query = { from: toIso(fromMs), to: toIso(toMs), limit: MOST }
    api.call('GET /alerts', { query, signal: reading.signal }).then(
      (answer) => {
        const ofCarts = answer.alerts.filter(({ cart }) => cart !== null)
        setAlerts(dayEvents({ ...NOTHING, alerts: ofCarts }))
      },
      () => !reading.signal.aborted && setIsFailed(true),
    )
    return () => reading.abort()
  }, [api, fromMs, toMs])
  return { alerts, isFailed }
}

/** Start of the replay of a past day: the time at which most courses open. */
const MORNING_SHARE = 8 / 24

/** Replay screen: the whole course at any minute of the day in the address. */
export function ReplayScreen() {
  const { router } = useDashboard()
  const texts = replayTexts()
  const today = useToday()
  const date = readReplayPath(router.route.value.rest) ?? today
  return (
    <div class="screen-column">
      <header class="bar">
        <BackToMore />
        <h1 class="grow">{texts.title}</h1>
        {date !== null && <DatePicker date={date} onDate={(to) => router.go('more', replayPath(to))} />}
        <HelpLink topic="replay" />
        <p class="day-explained small">{texts.explained}</p>
      </header>
      {date !== null && today !== null && date > today && (
        <p class="page" role="status">
          {dayTexts().future}
        </p>
      )}
      {date !== null && today !== null && date <= today && <ReplayedDay key={date} date={date} />}
    </div>
  )
}

function ReplayedDay({ date }: { date: string }) {
  const { clock, site } = useDashboard()
  const { time_zone: zoneName } = site.value
  const zones = useSiteZones()
  const span = useMemo(() => spanOf(date, zoneName, clock.nowMs()), [date, zoneName])
  const playback = usePlayback(span, firstMoment(span, clock.nowMs()))
  const replay = useCourseReplay(span, playback, zones.current.value)
  const { alerts, isFailed } = useDayAlerts(span)
  const [chosen, setChosen] = useState<string | null>(null)
  const texts = replayTexts()
  return (
    <div class="split">
      <div class="day-main">
        <div class="split-map">
          <LiveMap zones={zones} fleet={replay.fleet} chosen={chosen} onTap={setChosen} />
          <Waiting replay={replay} isWaiting={playback.isHeld.value} />
        </div>
        <TimeBar playback={playback} span={span}>
          <Strip events={alerts} span={span} />
        </TimeBar>
      </div>
      <section class="side" aria-label={texts.title}>
        <Counts replay={replay} />
        {chosen !== null && (
          <ReplayedCartCard fleet={replay.fleet} cart={chosen} date={date} onClose={() => setChosen(null)} />
        )}
        <NotReplayed replay={replay} />
        <h2>{texts.alerts}</h2>
        <DayList
          events={alerts}
          playback={playback}
          label={texts.alerts}
          wordsOf={alertInWords}
          none={isFailed ? texts.alertsFailed : texts.noAlerts}
          onChoose={(event) => event.kind === 'alert' && setChosen(event.alert.cart)}
        />
      </section>
    </div>
  )
}

function Waiting({ replay, isWaiting }: { replay: CourseReplay; isWaiting: boolean }) {
  const fault = replay.fault.value
  if (fault === null)
    return (
      <p class="replay-wait box" role="status">
        {isWaiting ? dayTexts().loading : ''}
      </p>
    )
  return (
    <div class="replay-wait box">
      <Fault text={refusalText(fault)} />
      <Button text={dayTexts().tryAgain} onClick={() => replay.again()} />
    </div>
  )
}

function Counts({ replay: { fleet } }: { replay: CourseReplay }) {
  const texts = replayTexts()
  const { line } = useDashboard()
  // an unread fleet does not mean an empty one
  if (fleet.carts.size === 0 && line.state.value.kind === 'lost') return <NotKnown />
  const counts = countCarts(fleet.version.value >= 0 ? fleet.carts.values() : [])
  const words = fleet.carts.size === 0 ? texts.noData : texts.seen(counts.out, counts.in, counts.outside, counts.silent)
  return <p class="strong">{words}</p>
}

function NotReplayed({ replay }: { replay: CourseReplay }) {
  const { settings } = useDashboard()
  const texts = replayTexts()
  const { silentOnCourseAfterS } = replaySettingsOf(settings.value)
  return (
    <p class="small">
      {replay.hasGaps.value && `${texts.gaps} `}
      {texts.notReplayed(formatSpan(silentOnCourseAfterS * 1000))}
    </p>
  )
}

function alertInWords(event: DayEvent): string {
  if (event.kind !== 'alert') return ''
  const { cart, kind } = event.alert
  return replayTexts().alertRow(cart ?? '', alertTexts().kinds[kind])
}

function spanOf(date: string, zoneName: string, nowMs: number): Span {
  const { fromMs, untilMs } = new TimeZone(zoneName).day(date)
  return dayEndMs({ fromMs, toMs: untilMs - 1 }, nowMs)
}

/** Returns the start of the replay: a quarter of an hour ago for today, the morning for another day. */
function firstMoment({ fromMs, toMs }: Span, nowMs: number): number {
  const isToday = nowMs - toMs < 60_000
  return isToday ? toMs - 900_000 : fromMs + MORNING_SHARE * (toMs - fromMs)
}

/** Returns the course at the moment of the playback, which waits while data is loading. */
function useCourseReplay(span: Span, playback: Playback, zones: ZonesJson | null): CourseReplay {
  const { api, fleet, settings } = useDashboard()
  const site = settings.value
  const own = useOwnZones()
  const replay = useMemo(
    () => new CourseReplay({ api, onWait: (isWaiting) => playback.hold(isWaiting) }, span),
    [api, playback, span],
  )
  useEffect(() => {
    replay.rules = {
      zones: new ReplayZones(zones, own),
      settings: replaySettingsOf(site),
      groupOf: (hardwareId) => fleet.devices.get(hardwareId)?.group_id ?? null,
    }
  }, [replay, zones, own, site, fleet])
  useEffect(() => {
    const end = playback.follow((atMs) => replay.show(atMs))
    return () => {
      end()
      replay.stop()
    }
  }, [replay, playback])
  return replay
}
