/** Coordinates in degrees. */
export interface Coordinates {
  lat: number
  long: number
}

const DECIMAL = /^([+-]?\d{1,3}(?:\.\d+)?)°?\s*([NSEWO]?)[\s,;]+([+-]?\d{1,3}(?:\.\d+)?)°?\s*([NSEWO]?)$/i
const PART = "(\\d{1,3})°\\s*(\\d{1,2})['′’]\\s*(?:(\\d{1,2}(?:\\.\\d+)?)(?:\"|″|”|''))?\\s*"
const SEXAGESIMAL = new RegExp(`^${PART}([NS])[\\s,;]*${PART}([EWO])$`, 'i')

/** Parses "52.5007, 13.1246", as phone maps copy it, "52.5° N, 13.1° E" and "52°30'02"N 13°07'28"E"; else null. */
export function readCoordinates(text: string): Coordinates | null {
  const place = readDecimal(text.trim()) ?? readSexagesimal(text.trim())
  if (place === null || Math.abs(place.lat) > 85 || Math.abs(place.long) > 180) return null
  // value of a receiver without a fix, and of an empty field
  return place.lat === 0 && place.long === 0 ? null : place
}

function readDecimal(text: string): Coordinates | null {
  const [, first, firstSide = '', second, secondSide = ''] = DECIMAL.exec(text) ?? []
  if (first === undefined || second === undefined) return null
  const [a, b] = [signed(Number(first), firstSide), signed(Number(second), secondSide)]
  if (firstSide === '' && secondSide === '') return { lat: a, long: b }
  if (/[NS]/i.test(firstSide) && /[EWO]/i.test(secondSide)) return { lat: a, long: b }
  return /[EWO]/i.test(firstSide) && /[NS]/i.test(secondSide) ? { lat: b, long: a } : null
}

function readSexagesimal(text: string): Coordinates | null {
  const parts = SEXAGESIMAL.exec(text)
  if (parts === null) return null
  const degrees = (at: number) =>
    signed(Number(parts[at]) + Number(parts[at + 1]) / 60 + Number(parts[at + 2] ?? 0) / 3600, parts[at + 3] ?? '')
  return { lat: degrees(1), long: degrees(5) }
}

/** German maps write O for east. */
function signed(value: number, side: string): number {
  return /[SW]/i.test(side) ? -value : value
}
