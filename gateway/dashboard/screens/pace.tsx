import '#dashboard/ui/pages.css'
import './pace/pace.css'
import { useEffect, useState } from 'preact/hooks'
import { toHash } from '#dashboard/live/route.ts'
import { paceTexts } from '#dashboard/texts/pace.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { HelpLink } from '#dashboard/ui/help-link.tsx'
import { NotKnown } from '#dashboard/ui/not-known.tsx'
import { VirtualList } from '#dashboard/ui/virtual-list.tsx'
import type { PaceJson } from '#shared/wire/rounds.ts'
import { useMessages } from './message.tsx'
import { MessageButton } from './message-button.tsx'
import { FLIGHT_ROW_PX, FlightRow } from './pace/flight-row.tsx'
import { partyName } from './pace/pace-text.ts'
import { type Polled, usePace } from './pace/use-rounds.ts'

/** Pace of the parties: a page of More, which provides its title. */
export function PacePage() {
  return <PaceList {...usePace()} />
}

/** Pace of the parties as a screen of their own. */
export function PaceScreen() {
  return (
    <div class="page list">
      <header class="row">
        <h1 class="grow">{paceTexts().title}</h1>
        <HelpLink topic="pace" />
      </header>
      <PaceList {...usePace()} />
    </div>
  )
}

/** Parties on the course by the cause of their delay, and messages to their carts. */
export function PaceList({ known, isFailed }: Polled<PaceJson>) {
  const texts = paceTexts()
  const course = useCourseHoles()
  const { ask, show, status } = useMessages()
  const flights = known?.parties ?? []
  const holdUp = flights.find(({ pace_id }) => pace_id === known?.hold_up?.pace_id)
  return (
    <div class="pace">
      <p class={holdUp === undefined ? 'small' : 'flight-pace'}>
        {holdUp === undefined || known?.hold_up == null
          ? texts.why
          : texts.holdUp(known.hold_up.hole, partyName(holdUp), known.hold_up.delays.length)}
      </p>
      <MessageButton />
      {status}
      {isFailed && <p role="alert">{texts.cannotLoad}</p>}
      {known === null && !isFailed && <NotKnown />}
      {flights.length === 0 && course !== null && <NoRounds {...course} isKnown={known !== null} />}
      {known !== null && flights.length > 0 && (
        <div class="pace-list">
          <VirtualList items={flights} rowPx={FLIGHT_ROW_PX} label={texts.title} keyOf={({ pace_id }) => pace_id}>
            {(flight) => <FlightRow flight={flight} pace={known} onMessage={() => ask(flight.carts)} onBeep={show} />}
          </VirtualList>
        </div>
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
