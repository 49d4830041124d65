import type { FeatureLike } from 'ol/Feature.js'
import Fill from 'ol/style/Fill.js'
import Stroke from 'ol/style/Stroke.js'
import Style from 'ol/style/Style.js'
import type { CourseKind } from '#shared/course/tags.ts'

interface Paint {
  fill?: string
  stroke?: string
  widthPx?: number
  dash?: number[]
}

/** Kinds in drawing order, the lowest first. */
export const DRAWN_KINDS: readonly CourseKind[] = [
  'outline',
  'rough',
  'practice',
  'wood',
  'water',
  'fairway',
  'path',
  'tee',
  'green',
  'bunker',
  'building',
  'hole',
]

const LIGHT: Record<CourseKind, Paint> = {
  outline: { fill: '#e1ebd3', stroke: '#b7c6a2' },
  rough: { fill: '#d8e5c6' },
  practice: { fill: '#d0e2b8' },
  wood: { fill: '#c3d6b2' },
  water: { fill: '#c3dcec', stroke: '#9cc3da', widthPx: 2 },
  fairway: { fill: '#cbe2ab' },
  path: { stroke: '#cfc6b3', widthPx: 2.5 },
  tee: { fill: '#b5d68c' },
  green: { fill: '#a9d47a', stroke: '#86b455' },
  bunker: { fill: '#f3e8c8', stroke: '#dccd9f' },
  building: { fill: '#d3cfc8', stroke: '#aaa59b' },
  hole: { stroke: '#ffffffb0', widthPx: 1.5, dash: [6, 6] },
}
const DARK: Record<CourseKind, Paint> = {
  outline: { fill: '#182112', stroke: '#384830' },
  rough: { fill: '#1b2614' },
  practice: { fill: '#2b4420' },
  wood: { fill: '#14210f' },
  water: { fill: '#1b3d58', stroke: '#356a8f', widthPx: 2 },
  fairway: { fill: '#38582a', stroke: '#4f7a3b' },
  path: { stroke: '#6f695a', widthPx: 2.5 },
  tee: { fill: '#4a7535' },
  green: { fill: '#55903c', stroke: '#7cb860' },
  bunker: { fill: '#7d7047', stroke: '#9c8e60' },
  building: { fill: '#3a3a35', stroke: '#5b5b53' },
  hole: { stroke: '#ffffff50', widthPx: 1.5, dash: [6, 6] },
}

/** Returns the styles of the course map, paler than zones and carts. */
export function courseStyles(isDark: boolean): (feature: FeatureLike) => Style | undefined {
  const paints = isDark ? DARK : LIGHT
  const styles = new Map<unknown, Style>(DRAWN_KINDS.map((kind) => [kind, styleOf(paints[kind])]))
  return (feature) => styles.get(feature.get('type'))
}

function styleOf({ fill, stroke, widthPx = 1, dash }: Paint): Style {
  return new Style({
    ...(fill === undefined ? {} : { fill: new Fill({ color: fill }) }),
    ...(stroke === undefined
      ? {}
      : {
          stroke: new Stroke({
            color: stroke,
            width: widthPx,
            ...(dash === undefined ? {} : { lineDash: dash }),
          }),
        }),
  })
}
