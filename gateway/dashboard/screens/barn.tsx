import './map/map.css'
import './barn/barn.css'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { toHash } from '#dashboard/live/route.ts'
import { barnOf, type Circle, circleAt, circleOf } from '#dashboard/map/barn.ts'
import { CircleLayer } from '#dashboard/map/circle-layer.ts'
import type { CourseMap } from '#dashboard/map/course-map.ts'
import { expandedExtent, extentOfZone } from '#dashboard/map/first-view.ts'
import { LiveMap } from '#dashboard/map/live-map.tsx'
import { SiteZones } from '#dashboard/map/site-zones.ts'
import { barnTexts } from '#dashboard/texts/barn.ts'
import { ButtonLink } from '#dashboard/ui/button.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { HelpButton } from '#dashboard/ui/help-button.tsx'
import { BarnForm } from './barn/barn-form.tsx'
import { CartPlaces } from './barn/cart-places.tsx'
import { TypedPlace } from './barn/typed-place.tsx'

/** Initial margin of the view around a barn, as a multiple of its size on each side. */
const AROUND = 2

/** Barn screen: a circle on the map in which carts are parked. Staff see it, an admin sets it. */
export function BarnScreen() {
  const dashboard = useDashboard()
  const texts = barnTexts()
  const zones = useMemo(() => new SiteZones(dashboard), [dashboard])
  useEffect(() => {
    zones.start()
    return () => zones.stop()
  }, [zones])
  const [circle, setCircle] = useState<Circle | null>(null)
  const [map, setMap] = useState<CourseMap | null>(null)
  const layer = useRef<CircleLayer>(null)
  layer.current ??= new CircleLayer(setCircle)
  useEffect(() => layer.current?.show(circle), [circle])
  const known = zones.current.value
  const barn = known === null ? undefined : barnOf(known)
  const isAdmin = dashboard.me.value?.user.role === 'admin'
  useEffect(() => {
    if (map === null || barn === undefined) return
    map.show(expandedExtent(extentOfZone(barn), AROUND))
    if (isAdmin) setCircle((now) => now ?? circleOf(barn))
  }, [map, barn?.id])
  const placeAt = ([x, y]: readonly [number, number]) =>
    setCircle((now) => (now === null ? circleAt(x, y, barn) : { ...now, x, y }))
  const goTo = (place: [x: number, y: number]) => {
    placeAt(place)
    map?.show(expandedExtent([...place, ...place], AROUND))
  }
  return (
    <div class="split">
      <div class="split-map">
        <LiveMap
          zones={zones}
          isUnpacked
          onReady={(ready) => {
            if (layer.current !== null) ready.add(layer.current.layer, layer.current.interaction)
            setMap(ready)
          }}
          onTap={(_, place) => isAdmin && map?.isPlaced === true && placeAt(place)}
        />
        {isAdmin && <div class="crosshair" aria-hidden="true" />}
      </div>
      <section class="side" aria-label={texts.title}>
        <header class="row">
          <h1 class="grow">{texts.title}</h1>
          <HelpButton screen="barn" title={texts.title} />
        </header>
        {!isAdmin && <p>{texts.adminOnly}</p>}
        {isAdmin && circle === null && <p>{texts.how}</p>}
        {isAdmin && (
          <button
            type="button"
            class={circle === null ? 'button main wide' : 'button wide'}
            disabled={known === null || map?.isPlaced !== true}
            onClick={() => map !== null && placeAt(map.center)}
          >
            {texts.here}
          </button>
        )}
        {isAdmin && map?.isPlaced === false && <p role="status">{texts.nothingKnown}</p>}
        {isAdmin && <CartPlaces onPlace={goTo} />}
        {isAdmin && <TypedPlace onPlace={goTo} />}
        {isAdmin && circle !== null && <BarnForm circle={circle} barn={barn} onCircle={setCircle} />}
        <ButtonLink text={texts.back} is="wide" href={toHash('map')} />
      </section>
    </div>
  )
}
