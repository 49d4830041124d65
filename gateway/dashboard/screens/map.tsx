import './map/map.css'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { pathHoles } from '#dashboard/live/cart-path.ts'
import type { CartFilter } from '#dashboard/live/fleet/cart-filter.ts'
import { keepScreenOn } from '#dashboard/live/page/screen-on.ts'
import { toHash } from '#dashboard/live/route.ts'
import { LiveMap } from '#dashboard/map/live-map.tsx'
import { SiteZones } from '#dashboard/map/site-zones.ts'
import { mapTexts } from '#dashboard/texts/map.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { CartCard } from './cart-card.tsx'
import { CartSearch } from './map/cart-search.tsx'
import { Counters } from './map/counters.tsx'
import { FilteredCarts } from './map/filtered-carts.tsx'
import { SidePanel } from './map/side-panel.tsx'
import { useCovered } from './map/use-covered.ts'
import { NeedsYou } from './needs-you.tsx'

/** The course with all carts on it, what needs somebody, and the cart that was chosen. */
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
          <CartSearch onChoose={choose} />
          {isStaff && <Counters filter={filter} onFilter={setFilter} />}
          {isStaff && <PathOnly zones={zones} />}
          <MapHint zones={zones} />
        </div>
        {insets !== null && (
          <LiveMap
            {...{ zones, filter, chosen, insets }}
            isKept
            onTap={(cart, _, carts) => {
              // a tap beside all carts is mostly the begin of something else
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
          {chosen === null && (filter === null ? <NeedsYou /> : <FilteredCarts filter={filter} />)}
        </SidePanel>
      )}
    </div>
  )
}

/** Carts whose signs lie on each other's: the one that is hidden is a touch away. */
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

/** On which holes carts keep to the path; nothing while there is none. */
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

/** One line of what the map cannot show yet, and what to do about it. */
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
