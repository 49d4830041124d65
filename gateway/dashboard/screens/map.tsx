import './map/map.css'
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { pathHoles } from '#dashboard/live/cart-path.ts'
import type { CartFilter } from '#dashboard/live/fleet/cart-filter.ts'
import { paceOf } from '#dashboard/live/pace.ts'
import { keepScreenOn } from '#dashboard/live/page/screen-on.ts'
import { toHash } from '#dashboard/live/route.ts'
import { LiveMap } from '#dashboard/map/live-map.tsx'
import type { Paces } from '#dashboard/map/markers.ts'
import type { Insets } from '#dashboard/map/placing.ts'
import { SiteZones } from '#dashboard/map/site-zones.ts'
import { mapTexts } from '#dashboard/texts/map.ts'
import { paceTexts } from '#dashboard/texts/pace.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { lazy } from '#dashboard/ui/lazy.tsx'
import type { PaceJson } from '#shared/wire/rounds.ts'
import { CartSearch } from './map/cart-search.tsx'
import { Counters } from './map/counters.tsx'
import { FilteredCarts } from './map/filtered-carts.tsx'
import { SidePanel } from './map/side-panel.tsx'
import { MessageButton } from './message-button.tsx'
import { NeedsAttention } from './needs-attention.tsx'
import { type Polled, usePace } from './pace/use-rounds.ts'

const CartCard = lazy(() => import('./cart-card.tsx').then(({ CartCard }) => CartCard))
const PaceList = lazy(() => import('./pace.tsx').then(({ PaceList }) => PaceList))

/** Loaded for admins alone. */
const Checklist = lazy(
  () => import('./checklist.tsx').then(({ Checklist: Loaded }) => Loaded),
  () => null,
)

interface Covered {
  /** Null until it has been measured. */
  insets: Insets | null
  /** Ref of the element that covers the map's upper edge. */
  top: (element: HTMLElement | null) => void
}

const PHONE = matchMedia('(max-width: 43.75em)')
/** Height of the row that the map's buttons form above the sheet. */
const BUTTONS_PX = 84

/** Measures the covered edges of the map as the elements on it change size. */
function useCovered(): Covered {
  const [height, setHeight] = useState<number | null>(null)
  const observer = useRef<ResizeObserver | null>(null)
  const top = useCallback((element: HTMLElement | null) => {
    observer.current?.disconnect()
    if (element === null) return
    const measure = () => setHeight(Math.round(element.offsetTop + element.offsetHeight))
    observer.current = new ResizeObserver(measure)
    observer.current.observe(element)
    measure()
  }, [])
  const bottom = PHONE.matches ? BUTTONS_PX : 0
  return { insets: height === null ? null : { top: height, right: 0, bottom, left: 0 }, top }
}

/** Map screen: the course with all carts, a list of those that need attention, and the chosen cart. */
export function MapScreen() {
  const dashboard = useDashboard()
  const { router, me } = dashboard
  const zones = useMemo(() => new SiteZones(dashboard), [dashboard])
  useEffect(() => {
    zones.start()
    return () => zones.stop()
  }, [zones])
  useEffect(keepScreenOn, [])
  const [filter, setFilter] = useState<CartFilter | null>(null)
  const [isPace, setPace] = useState(false)
  const pace = usePace(isPace)
  const paces = usePaces(isPace ? pace.known : null, isPace)
  const chosen = router.route.value.rest
  const isStaff = me.value?.role !== 'user'
  const [near, setNear] = useState<readonly string[]>([])
  const { insets, top } = useCovered()
  const choose = (cart: string | null) => {
    if (cart !== chosen) router.go('map', cart)
  }
  return (
    <div class={isStaff || chosen !== null ? 'map-screen' : 'map-screen alone'}>
      <div class="map-area">
        <div class="map-top" ref={top}>
          <h1 class="visually-hidden">{mapTexts().mapOfCourse}</h1>
          <div class="map-find">
            <CartSearch onChoose={choose} />
            {isStaff && (
              <button type="button" class="button" aria-pressed={isPace} onClick={() => setPace(!isPace)}>
                {mapTexts().pace}
              </button>
            )}
            {!isPace && <MessageButton isIconOnly />}
          </div>
          {isStaff && <Counters filter={filter} onFilter={setFilter} />}
          {isStaff && <PathOnly zones={zones} />}
          <MapHint zones={zones} />
        </div>
        {insets !== null && (
          <LiveMap
            zones={zones}
            filter={filter}
            paces={paces}
            chosen={chosen}
            insets={insets}
            isKept
            onTap={(cart, _, carts) => {
              // a tap away from all carts usually begins another gesture
              if (cart === null) return
              setNear(carts)
              choose(cart)
            }}
          />
        )}
      </div>
      {(isStaff || chosen !== null) && (
        <SidePanel opened={chosen}>
          {chosen !== null && near.length > 1 && near.includes(chosen) && (
            <AlsoHere carts={near.filter((cart) => cart !== chosen)} />
          )}
          {chosen !== null && <CartCard key={chosen} cart={chosen} onClose={() => choose(null)} />}
          {chosen === null && (
            <>
              {filter !== null && <FilteredCarts filter={filter} />}
              {filter === null && isPace && <MapPace pace={pace} />}
              {filter === null && !isPace && <NeedsAttention />}
              {filter === null && !isPace && me.value?.user.role === 'admin' && <Checklist />}
            </>
          )}
        </SidePanel>
      )}
    </div>
  )
}

/** Returns the pace of each cart on a round; the map shows the states of the carts without rounds. */
function usePaces(known: PaceJson | null, isWanted: boolean): Paces {
  return useMemo(() => {
    const parties = known?.parties ?? []
    return isWanted ? new Map(parties.flatMap((party) => party.carts.map((cart) => [cart, paceOf(party)]))) : null
  }, [known, isWanted])
}

/** Parties on the course, in place of the list of carts that need attention. */
function MapPace({ pace }: { pace: Polled<PaceJson> }) {
  const { title } = paceTexts()
  return (
    <section class="map-pace" aria-label={title}>
      <h2>{title}</h2>
      <PaceList {...pace} />
    </section>
  )
}

/** Carts whose signs overlap: the hidden one can be chosen with a tap. */
function AlsoHere({ carts }: { carts: readonly string[] }) {
  return (
    <p class="also-here">
      {mapTexts().alsoHere}{' '}
      {carts.map((cart) => (
        <a key={cart} class="button" href={toHash('map', cart)} dir="auto">
          {cart}
        </a>
      ))}
    </p>
  )
}

/** Holes with cart path only; empty if none. */
function PathOnly({ zones }: { zones: SiteZones }) {
  const known = zones.current.value
  const holes = known === null ? [] : pathHoles(known).filter(({ onIds }) => onIds.length > 0)
  if (holes.length === 0) return null
  return (
    <a class="button path-only" href={toHash('more', 'cart-path')}>
      {mapTexts().pathOnly(holes.map(({ hole }) => hole).join(', '))}
    </a>
  )
}

/** Short hint about data that the map lacks, with the remedy. */
function MapHint({ zones }: { zones: SiteZones }) {
  const { me, fleet } = useDashboard()
  const texts = mapTexts()
  const features = zones.current.value?.features
  if (features === undefined) return null
  const hasBarn = features.some(({ properties }) => properties.type === 'parking')
  if (!hasBarn && me.value?.user.role === 'admin')
    return (
      <p class="map-hint">
        {texts.noBarn}{' '}
        <a class="button" href={toHash('more', 'barn')}>
          {texts.setUpBarn}
        </a>
      </p>
    )
  const isKnown = fleet.version.value >= 0 && fleet.isKnown
  const hasPlace = features.length > 0 || [...fleet.carts.values()].some(({ position }) => position !== null)
  return hasPlace || !isKnown ? null : <p class="map-hint">{texts.noPlace}</p>
}
