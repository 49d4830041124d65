export type CourseKind =
  | 'outline'
  | 'rough'
  | 'wood'
  | 'water'
  | 'practice'
  | 'fairway'
  | 'tee'
  | 'green'
  | 'bunker'
  | 'building'
  | 'path'
  | 'hole'

/** OpenStreetMap tags that the course map and the zone proposal use; all others are dropped. */
export const USED_TAGS = [
  'golf',
  'leisure',
  'natural',
  'water',
  'waterway',
  'landuse',
  'building',
  'highway',
  'ref',
  'par',
  'name',
] as const
export type Tags = { [Name in (typeof USED_TAGS)[number]]?: string | undefined }

/** Source: wiki.openstreetmap.org/wiki/Key:golf. */
const GOLF: ReadonlyMap<string, CourseKind> = new Map([
  ['hole', 'hole'],
  ['green', 'green'],
  ['fairway', 'fairway'],
  ['tee', 'tee'],
  ['bunker', 'bunker'],
  ['rough', 'rough'],
  ['driving_range', 'practice'],
  ['practice', 'practice'],
  ['practice_green', 'practice'],
  ['putting_green', 'practice'],
  ['water_hazard', 'water'],
  ['lateral_water_hazard', 'water'],
  ['cartpath', 'path'],
  ['path', 'path'],
  ['clubhouse', 'building'],
])
const WOODED: ReadonlySet<string | undefined> = new Set(['wood', 'scrub'])
const NO_PATH: ReadonlySet<string> = new Set(['proposed', 'construction', 'razed', 'platform'])

/** Kinds that are lines; water may be a line as well. */
export const LINE_KINDS: ReadonlySet<CourseKind> = new Set<CourseKind>(['hole', 'path'])

/** Returns the kind that these tags describe; null if it is not drawn. The `golf` tag takes precedence. */
export function kindOf(tags: Tags): CourseKind | null {
  const ofGolf = GOLF.get(tags.golf ?? '')
  if (ofGolf !== undefined) return ofGolf
  if (tags.leisure === 'golf_course') return 'outline'
  if (tags.natural === 'water' || tags.water !== undefined || tags.waterway !== undefined) return 'water'
  if (tags.landuse === 'reservoir' || tags.landuse === 'basin') return 'water'
  if (WOODED.has(tags.natural) || tags.landuse === 'forest') return 'wood'
  if (tags.building !== undefined && tags.building !== 'no') return 'building'
  if (tags.highway !== undefined && !NO_PATH.has(tags.highway)) return 'path'
  return null
}
