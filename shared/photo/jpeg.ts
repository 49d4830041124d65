import { ByteReader, joined } from './byte-reader.ts'
import { EXIF_HEAD, readOrientation } from './exif.ts'
import { requireFew, requireProfile } from './limits.ts'
import { PhotoFault } from './photo-fault.ts'
import type { Photo } from './photo-type.ts'

const SOI = 0xffd8
const EOI = 0xd9
const SOS = 0xda
const APP1 = 0xe1
const APP2 = 0xe2
const APP14 = 0xee
const COMMENT = 0xfe
/** DHP, EXP and DNL: sizes in addition to that of the frame. */
const HIERARCHICAL: ReadonlySet<number> = new Set([0xdc, 0xde, 0xdf])
const ICC = 'ICC_PROFILE\0'
const ADOBE = 'Adobe'

interface Segment {
  marker: number
  /** Marker, length and content. */
  bytes: Uint8Array
  content: Uint8Array
}

/** Returns a JPEG without application data except for colours; null for anything else. Source: ITU-T T.81, annex B. */
export function readJpeg(bytes: Uint8Array): Photo | null {
  const reader = new ByteReader(bytes)
  if (reader.length < 4 || reader.short(0) !== SOI) return null
  const kept = [reader.part(0, 2)]
  let size: { widthPx: number; heightPx: number } | null = null
  let orientation = 1
  let [segments, profileBytes] = [0, 0]
  for (let at = 2; ; ) {
    const segment = segmentAt(reader, at)
    if (segment.marker === EOI) {
      if (size === null) throw new PhotoFault('the JPEG has no image')
      // any data after it belongs to a further image, a film or something unknown
      kept.push(segment.bytes)
      return { type: 'image/jpeg', bytes: joined(kept), ...size, orientation }
    }
    at += segment.bytes.length
    segments += 1
    requireFew(segments)
    if (isFrame(segment.marker)) {
      // decoders disagree on which of several sizes counts
      if (size !== null) throw new PhotoFault('the JPEG has two image sizes')
      size = sizeIn(segment)
    }
    if (HIERARCHICAL.has(segment.marker)) throw new PhotoFault('the JPEG has several images, or one of several sizes')
    if (segment.marker === SOS && size === null) throw new PhotoFault('the JPEG has no size before its image')
    if (segment.marker === APP2 && begins(segment, ICC)) {
      profileBytes += segment.content.length
      requireProfile(profileBytes)
    }
    if (segment.marker === APP1 && begins(segment, EXIF_HEAD))
      orientation = readOrientation(segment.content) ?? orientation
    if (!isKept(segment)) continue
    kept.push(segment.bytes)
    if (segment.marker !== SOS) continue
    const end = endOfScan(bytes, at)
    kept.push(reader.part(at, end - at))
    at = end
  }
}

function segmentAt(reader: ByteReader, from: number): Segment {
  let at = from
  if (reader.byte(at) !== 0xff) throw new PhotoFault('the JPEG is broken: a marker is missing')
  // fill bytes precede a marker
  while (reader.byte(at + 1) === 0xff) at += 1
  const marker = reader.byte(at + 1)
  if (marker === EOI) return { marker, bytes: reader.part(at, 2), content: reader.part(at, 0) }
  if (marker === 0 || marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8))
    throw new PhotoFault('the JPEG is broken: a marker without a segment')
  const length = reader.short(at + 2)
  if (length < 2) throw new PhotoFault('the JPEG is broken: a segment without a length')
  const segment = reader.part(at, 2 + length)
  return {
    marker,
    bytes: at === from ? segment : reader.part(from, at - from + 2 + length),
    content: segment.subarray(4),
  }
}

/** Keeps tables, frames and scans; of application data, only the colour profile and the colour encoding. */
function isKept(segment: Segment): boolean {
  const { marker } = segment
  if (marker === APP2) return begins(segment, ICC)
  if (marker === APP14) return begins(segment, ADOBE)
  return marker !== COMMENT && !(marker >= 0xe0 && marker <= 0xef) && !(marker >= 0xf0 && marker <= 0xfd)
}

/** SOF0 to SOF15, except for DHT, JPG and DAC in the same range. */
function isFrame(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc
}

function sizeIn({ content }: Segment): { widthPx: number; heightPx: number } {
  const reader = new ByteReader(content)
  return { heightPx: reader.short(1), widthPx: reader.short(3) }
}

/** Returns the end of the coded pixels: a marker that is neither a stuffed byte nor a restart. */
function endOfScan(bytes: Uint8Array, from: number): number {
  for (let at = bytes.indexOf(0xff, from); at !== -1; at = bytes.indexOf(0xff, at + 1)) {
    const next = bytes[at + 1]
    if (next === undefined) break
    if (next !== 0 && next !== 0xff && !(next >= 0xd0 && next <= 0xd7)) return at
  }
  throw new PhotoFault('the JPEG ends too early')
}

function begins({ content }: Segment, text: string): boolean {
  return content.length >= text.length && String.fromCharCode(...content.subarray(0, text.length)) === text
}
