import { fromE7 } from '#shared/geo.ts'
import { NO_SPEED } from '#shared/telemetry/records.ts'
import { MINUTE_MS, toIso } from '#shared/time.ts'

/** Gap after which the track continues in a new segment, so that no line is drawn across it. */
const SEGMENT_GAP_MS = 30 * MINUTE_MS

/** Digits that keep speeds of 0.001 km/h (0.00028 m/s) distinct. */
const SPEED_DIGITS = 5
const MILLI_KMH_PER_M_S = 3600

/**
 * Start of a GPX 1.1 file with one track; points and `GPX_FOOT` follow. GPX 1.1 has no speed element; it is an
 * extension in m/s that Garmin defined and most programs read. Source: https://www.topografix.com/GPX/1/1/,
 * https://www8.garmin.com/xmlschemas/TrackPointExtensionv2.xsd
 */
export function gpxHead(trackName: string): string {
  return `<?xml version="1.0" encoding="UTF-8"?>
<gpx version="1.1" creator="cartbarn" xmlns="http://www.topografix.com/GPX/1/1" \
xmlns:gpxtpx="http://www.garmin.com/xmlschemas/TrackPointExtension/v2">
<trk><name>${escapeXml(trackName)}</name><trkseg>
`
}

export const GPX_FOOT = '</trkseg></trk>\n</gpx>\n'

/** Returns a track point, preceded by a segment end if `previousMs`, the time of the previous point, is long ago. */
export function gpxPoint(
  atMs: number,
  latE7: number,
  longE7: number,
  speedMilliKmh: number,
  previousMs: number | null,
): string {
  const isAfterGap = previousMs !== null && atMs - previousMs > SEGMENT_GAP_MS
  const speed =
    speedMilliKmh === NO_SPEED
      ? ''
      : `<extensions><gpxtpx:TrackPointExtension>\
<gpxtpx:speed>${(speedMilliKmh / MILLI_KMH_PER_M_S).toFixed(SPEED_DIGITS)}\
</gpxtpx:speed></gpxtpx:TrackPointExtension></extensions>`
  return `${isAfterGap ? '</trkseg><trkseg>\n' : ''}<trkpt lat="${degrees(latE7)}" lon="${degrees(longE7)}">\
<time>${toIso(atMs)}</time>${speed}</trkpt>
`
}

const E7_DIGITS = 7

/** Formats degrees without an exponent, which JavaScript uses for tiny numbers and xsd:decimal does not allow. */
export function degrees(degreesE7: number): string {
  const value = fromE7(degreesE7)
  return Math.abs(value) < 1e-6 && value !== 0 ? value.toFixed(E7_DIGITS) : String(value)
}

const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
}

// Characters XML 1.0 cannot hold, not even as references. Source: https://www.w3.org/TR/xml/#charsets
// biome-ignore lint/suspicious/noControlCharactersInRegex: those are what it is for
const NOT_IN_XML = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g

function escapeXml(text: string): string {
  return text
    .toWellFormed()
    .replace(NOT_IN_XML, '\ufffd')
    .replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character)
}
