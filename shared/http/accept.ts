const RANGE = /^\s*([^\s;/,]+)\/([^\s;/,]+)\s*(;.*)?$/
const QUALITY = /;\s*q\s*=\s*([^\s;]*)/i
// Source: RFC 9110 12.4.2
const QUALITY_VALUE = /^(0(\.\d{0,3})?|1(\.0{0,3})?)$/

interface MediaRange {
  type: string
  subtype: string
  quality: number
  /** Its place in the header. */
  place: number
}

/**
 * The media type among `offered` that an Accept header prefers, or undefined when there is no header or it allows none.
 * Between equal qualities the one named more exactly wins, then the one named first, then the one offered first.
 * Source: RFC 9110 12.5.1
 */
export function acceptedType<Type extends string>(
  accept: string | undefined,
  offered: readonly Type[],
): Type | undefined {
  const ranges = (accept ?? '').split(',').flatMap(parseRange)
  let best: { offer: Type; range: MediaRange } | undefined
  for (const offer of offered) {
    const range = rangeOf(offer, ranges)
    if (range === undefined || range.quality === 0) continue
    if (best === undefined || isPreferred(range, best.range)) best = { offer, range }
  }
  return best?.offer
}

/** What cannot be read says nothing. */
function parseRange(text: string, place: number): MediaRange[] {
  const [, type, subtype, parameters = ''] = RANGE.exec(text.toLowerCase()) ?? []
  const quality = QUALITY.exec(parameters)?.[1] ?? '1'
  if (type === undefined || subtype === undefined || !QUALITY_VALUE.test(quality)) return []
  return [{ type, subtype, quality: Number(quality), place }]
}

/** The most exact range that covers a type decides about it, even if a wider one is kinder. */
function rangeOf(mediaType: string, ranges: readonly MediaRange[]): MediaRange | undefined {
  const [type, subtype] = mediaType.split('/')
  let best: MediaRange | undefined
  for (const range of ranges) {
    const isWanted =
      (range.type === type && (range.subtype === subtype || range.subtype === '*')) ||
      (range.type === '*' && range.subtype === '*')
    if (isWanted && (best === undefined || exactness(range) > exactness(best))) best = range
  }
  return best
}

function exactness({ type, subtype }: MediaRange): number {
  if (type === '*') return 0
  return subtype === '*' ? 1 : 2
}

function isPreferred(range: MediaRange, best: MediaRange): boolean {
  if (range.quality !== best.quality) return range.quality > best.quality
  if (exactness(range) !== exactness(best)) return exactness(range) > exactness(best)
  return range.place < best.place
}
