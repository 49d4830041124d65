import './map/map.css'
import './barn/barn.css'
import './zones/zones.css'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { type Circle, circleAt, circleOf } from '#dashboard/map/barn.ts'
import { CircleLayer } from '#dashboard/map/circle-layer.ts'
import type { CourseMap } from '#dashboard/map/course-map.ts'
import { expandedExtent, extentOfZone } from '#dashboard/map/first-view.ts'
import { LiveMap } from '#dashboard/map/live-map.tsx'
import { RingLayer } from '#dashboard/map/ring-layer.ts'
import { readZones } from '#dashboard/map/site-zones.ts'
import { withCircle } from '#dashboard/map/zone-circle.ts'
import { ZoneEditor } from '#dashboard/map/zone-editor.ts'
import { cornersOn, type Place, zoneAt } from '#dashboard/map/zone-shape.ts'
import { zonesTexts } from '#dashboard/texts/zones.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { HelpLink } from '#dashboard/ui/help-link.tsx'
import { DrawingPanel } from './zones/drawing-panel.tsx'
import { ZoneForm } from './zones/zone-form.tsx'
import { ZoneList } from './zones/zone-list.tsx'

/** Margin of the view around a chosen zone, as a share of its size on each side. */
const AROUND = 0.5

/** Zones of the course: staff see them, an admin draws them. */
export function ZonesScreen() {
  const dashboard = useDashboard()
  const texts = zonesTexts()
  const isAdmin = dashboard.me.value?.user.role === 'admin'
  const editor = useMemo(() => new ZoneEditor(() => sessionStorage), [])
  const [map, setMap] = useState<CourseMap | null>(null)
  const changes = dashboard.zones.value
  useEffect(() => {
    let isHere = true
    const read = () =>
      readZones(dashboard).then(
        (set) => isHere && editor.read(set),
        () => undefined,
      )
    void read()
    // repeats a read that failed without a connection
    const timer = setInterval(() => editor.current.peek() === null && void read(), 5_000)
    return () => {
      isHere = false
      clearInterval(timer)
    }
  }, [dashboard, editor, changes])
  const { chosen } = editor
  const drawing = editor.drawing.value
  useShapes(map, editor, isAdmin)
  const choose = (id: string | null) => {
    editor.choose(id)
    const zone = editor.chosen
    if (zone !== null) map?.show(expandedExtent(extentOfZone(zone), AROUND))
  }
  const tapped = (place: Place) => {
    // read without a render: two taps may arrive before the next one
    const drawn = editor.drawing.peek()
    if (drawn !== null) {
      // tap on an existing corner
      if (editor.corner.value >= 0) editor.corner.value = -1
      else editor.drawing.value = [...drawn, place]
    } else if (chosen === null || !isAdmin) editor.choose(zoneAt(editor.zones, place)?.id ?? null)
  }
  return (
    <div class="split">
      <div class="split-map">
        <LiveMap zones={editor} isUnpacked onReady={setMap} onTap={(_, place) => tapped(place)} />
      </div>
      <section class="side" aria-label={texts.title}>
        <header class="row">
          <h1 class="grow">{texts.title}</h1>
          <HelpLink topic="zones" />
        </header>
        {drawing !== null ? (
          <DrawingPanel editor={editor} corners={drawing} />
        ) : chosen !== null ? (
          <ZoneForm key={chosen.id} editor={editor} isAdmin={isAdmin} zone={chosen} />
        ) : (
          <ZoneList
            editor={editor}
            isAdmin={isAdmin}
            canDraw={map?.isPlaced === true && editor.current.value !== null}
            onChoose={choose}
            onCircle={() => {
              if (map === null) return
              const circle = circleAt(...map.center, undefined)
              const { geometry, radiusM } = withCircle(circle)
              editor.add(geometry, { name: texts.unnamed, type: 'stop' }, radiusM)
            }}
          />
        )}
      </section>
    </div>
  )
}

/** Editable shape of the chosen zone: its corners, or its circle. */
function useShapes(map: CourseMap | null, editor: ZoneEditor, isAdmin: boolean): void {
  const ring = useRef<RingLayer>(null)
  const circle = useRef<CircleLayer>(null)
  useEffect(() => {
    if (map === null || !isAdmin) return
    ring.current = new RingLayer({
      onChange: (corners) => {
        if (editor.drawing.peek() === null) editor.setCorners(corners)
        else editor.drawing.value = corners
      },
      onCorner: (at) => {
        editor.corner.value = at
      },
    })
    let held: Circle | null = null
    const round = new CircleLayer(
      (changed) => {
        held = changed
        round.show(changed)
      },
      () => {
        const zone = editor.chosen
        if (zone === null || held === null) return
        const { geometry, radiusM } = withCircle(held)
        held = null
        editor.change({ ...zone, geometry, properties: { ...zone.properties, radius_m: radiusM } })
      },
    )
    circle.current = round
    map.add(ring.current.layer, ring.current.interaction)
    map.add(round.layer, round.interaction)
  }, [map, isAdmin])
  const { chosen } = editor
  const drawing = editor.drawing.value
  const at = editor.corner.value
  useEffect(() => {
    const corners = drawing ?? (chosen === null ? [] : cornersOn(chosen))
    ring.current?.show(corners, { at, isOpen: drawing !== null })
    circle.current?.show(chosen === null || drawing !== null ? null : circleOf(chosen))
  }, [map, chosen, drawing, at])
}
