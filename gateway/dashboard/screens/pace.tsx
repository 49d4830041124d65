import './pace/pace.css'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { type PlayingGroup, playingGroupsOf } from '#dashboard/live/playing-groups.ts'
import { toHash } from '#dashboard/live/route.ts'
import { paceTexts } from '#dashboard/texts/pace.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { NotKnown } from '#dashboard/ui/not-known.tsx'
import { VirtualList } from '#dashboard/ui/virtual-list.tsx'
import { DEFAULT_SITE_SETTINGS } from '#shared/site/settings.ts'
import { FlightMessage } from './pace/flight-message.tsx'
import { FLIGHT_ROW_PX, FlightRow } from './pace/flight-row.tsx'
import { useRounds } from './pace/use-rounds.ts'

/** Active rounds with hole and delay: a page of More, which provides its title. */
export function PacePage() {
  const { settings } = useDashboard()
  const texts = paceTexts()
  const { rounds, isFailed } = useRounds()
  const course = useCourseHoles()
  const [asked, setAsked] = useState<PlayingGroup | null>(null)
  const [sent, setSent] = useState<readonly string[] | null>(null)
  const flights = useMemo(() => playingGroupsOf(rounds ?? []), [rounds])
  const minutesPerHole = settings.value?.minutes_per_hole ?? DEFAULT_SITE_SETTINGS.minutesPerHole
  return (
    <div class="pace">
      <p class="small">{texts.why}</p>
      <p role="status" class={sent === null ? 'visually-hidden' : ''} dir="auto">
        {sent !== null && texts.sent(texts.cart(sent))}
      </p>
      {isFailed && <p role="alert">{texts.cannotLoad}</p>}
      {rounds === null && !isFailed && <NotKnown />}
      {flights.length === 0 && course !== null && <NoRounds {...course} isKnown={rounds !== null} />}
      {flights.length > 0 && (
        <div class="pace-list">
          <VirtualList items={flights} rowPx={FLIGHT_ROW_PX} label={texts.title} keyOf={({ key }) => key}>
            {(flight) => (
              <FlightRow
                flight={flight}
                minutesPerHole={minutesPerHole}
                holesOfCourse={course?.holes ?? 0}
                onMessage={() => setAsked(flight)}
              />
            )}
          </VirtualList>
        </div>
      )}
      {asked !== null && (
        <FlightMessage
          carts={asked.carts}
          onCancel={() => setAsked(null)}
          onSent={(carts) => {
            setAsked(null)
            setSent(carts)
          }}
        />
      )}
    </div>
  )
}

/** Explains why the list is empty, with the remedy. */
function NoRounds({ holes, hasParking, isKnown }: { holes: number; hasParking: boolean; isKnown: boolean }) {
  const texts = paceTexts()
  const { me } = useDashboard()
  const isAdmin = me.value?.role === 'admin'
  if (!hasParking)
    return (
      <>
        <p>{texts.noParking}</p>
        {isAdmin && (
          <a class="button main" href={`${toHash('more')}/barn`}>
            {texts.toBarn}
          </a>
        )}
      </>
    )
  if (holes === 0)
    return (
      <>
        <p>{texts.noHoles}</p>
        {isAdmin && (
          <a class="button main" href={`${toHash('more')}/zones`}>
            {texts.toZones}
          </a>
        )}
      </>
    )
  return isKnown ? <p>{texts.noRounds}</p> : null
}

/** Zones of the site that rounds depend on. */
interface CourseHoles {
  /** Number of holes with a zone. */
  holes: number
  hasParking: boolean
}

/** Loads the holes; null until they are known; loaded again when zones change. */
function useCourseHoles(): CourseHoles | null {
  const { api, zones } = useDashboard()
  const [known, setKnown] = useState<CourseHoles | null>(null)
  const version = zones.value
  useEffect(() => {
    let isHere = true
    const ask = async () => {
      const { features } = await api.call('GET /zones')
      const enabled = features.map(({ properties }) => properties).filter((zone) => zone.enabled)
      const holes = new Set(enabled.flatMap(({ type, hole }) => (type === 'hole' && hole != null ? [hole] : [])))
      if (isHere) setKnown({ holes: holes.size, hasParking: enabled.some(({ type }) => type === 'parking') })
    }
    // the page is correct without it, with less detail
    ask().catch(() => undefined)
    return () => {
      isHere = false
    }
  }, [api, version])
  return known
}
