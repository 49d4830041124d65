import type { FeatureLike } from 'ol/Feature.js'
import Fill from 'ol/style/Fill.js'
import Stroke from 'ol/style/Stroke.js'
import Style from 'ol/style/Style.js'
import { ZONE_TYPES, type ZoneType } from '#shared/zones/zone.ts'

interface Paint {
  fill: string
  stroke: string
  widthPx?: number
  dash?: number[]
}

const LIGHT: Record<ZoneType, Paint> = {
  boundary: { fill: '#dce9cb', stroke: '#2b3324', widthPx: 2, dash: [14, 5, 2, 5] },
  hole: { fill: '#c8dfa9', stroke: '#9dbb78' },
  parking: { fill: '#c9cec4', stroke: '#3f4a3b', widthPx: 2 },
  stop: { fill: '#f0c9c5b3', stroke: '#b3002d', dash: [3, 3] },
  slow: { fill: '#f5e2b3b3', stroke: '#8a6100', dash: [8, 4] },
  alert: { fill: '#f2d3e2b3', stroke: '#8f2a63', dash: [3, 3] },
  message: { fill: '#cfdff2b3', stroke: '#2f5d94', dash: [8, 4] },
}
const DARK: Record<ZoneType, Paint> = {
  boundary: { fill: '#1a2415', stroke: '#c3ccba', widthPx: 2, dash: [14, 5, 2, 5] },
  hole: { fill: '#2f4d20', stroke: '#5c8a41' },
  parking: { fill: '#384034', stroke: '#aab5a3', widthPx: 2 },
  stop: { fill: '#50202599', stroke: '#ff8ba3', dash: [3, 3] },
  slow: { fill: '#4a3a1299', stroke: '#e3b64f', dash: [8, 4] },
  alert: { fill: '#46203699', stroke: '#e79cc3', dash: [3, 3] },
  message: { fill: '#1d315099', stroke: '#8db8ee', dash: [8, 4] },
}

/** Zone types that would hide the course map below them; only their lines are drawn over it. */
const BACKGROUND_TYPES: readonly ZoneType[] = ['boundary', 'hole']

/** Styles of zones: pale, so that carts stand out; only temporary overrides are emphasised. */
export function zoneStyles(
  isDark: boolean,
  isOverCourse = false,
): (feature: FeatureLike) => Style | Style[] | undefined {
  const paints = isDark ? DARK : LIGHT
  const styles = new Map<unknown, Style>(ZONE_TYPES.map((type) => [type, styleOf(paints[type])]))
  if (isOverCourse) for (const type of BACKGROUND_TYPES) styles.set(type, lineOf(paints[type]))
  // a zone that is switched off has no effect: only its line is drawn
  const off = new Style({
    stroke: new Stroke({ color: isDark ? '#6b7465' : '#8a9384', width: 1, lineDash: [2, 6] }),
  })
  const [switchedOn, switchedOff] = switchedStyles(isDark)
  return (feature) => {
    const type: unknown = feature.get('type')
    const isOff = feature.get('enabled') === false
    if (feature.get('switched') === true) return isOff ? switchedOff : switchedOn
    return isOff ? off : styles.get(type)
  }
}

/** Stripes within a double line, or crosses along a line: recognisable without colour and in the sun. */
function switchedStyles(isDark: boolean): [on: Style[], off: Style[]] {
  const [ink, paper] = isDark ? ['#e79cc3', '#1b2316'] : ['#8f2a63', '#ffffff']
  const edge = new Style({ stroke: new Stroke({ color: paper, width: 6 }) })
  const on = new Style({
    fill: new Fill({ color: stripes(ink) }),
    stroke: new Stroke({ color: ink, width: 3 }),
  })
  const off = new Style({ stroke: new Stroke({ color: ink, width: 3, lineDash: [2, 8], lineCap: 'square' }) })
  return [
    [edge, on],
    [edge, off],
  ]
}

const STRIPE_PX = 12

/** Diagonal lines, a third of them ink; solid ink if the browser has no patterns. */
function stripes(ink: string): CanvasPattern | string {
  const tile = document.createElement('canvas')
  tile.width = STRIPE_PX
  tile.height = STRIPE_PX
  const context = tile.getContext('2d')
  if (context === null) return `${ink}80`
  context.strokeStyle = ink
  context.lineWidth = STRIPE_PX / 4
  for (const shift of [-STRIPE_PX, 0, STRIPE_PX]) {
    context.moveTo(shift, STRIPE_PX)
    context.lineTo(shift + STRIPE_PX, 0)
  }
  context.stroke()
  return context.createPattern(tile, 'repeat') ?? `${ink}80`
}

function lineOf({ stroke, widthPx = 1.25, dash }: Paint): Style {
  return new Style({
    stroke: new Stroke({ color: stroke, width: widthPx, ...(dash === undefined ? {} : { lineDash: dash }) }),
  })
}

function styleOf({ fill, stroke, widthPx = 1.25, dash }: Paint): Style {
  return new Style({
    fill: new Fill({ color: fill }),
    stroke: new Stroke({ color: stroke, width: widthPx, ...(dash === undefined ? {} : { lineDash: dash }) }),
  })
}
