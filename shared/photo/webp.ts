import { ByteReader, joined } from './byte-reader.ts'
import { readOrientation } from './exif.ts'
import { requireFew, requireProfile } from './limits.ts'
import { PhotoFault } from './photo-fault.ts'
import type { Photo } from './photo-type.ts'

const HEAD_BYTES = 12
/** Chunks that pixels and colours of a still image need. Source: RFC 9649, 2.7. */
const KEPT: ReadonlySet<string> = new Set(['VP8 ', 'VP8L', 'VP8X', 'ALPH', 'ICCP'])
const HAS_EXIF_OR_XMP = 0x08 | 0x04
const IS_FILM = 0x02
/** First three bytes of a key frame after its tag. Source: RFC 6386, 9.1. */
const START_CODE = 0x9d012a
/** Source: RFC 9649, 3.4. */
const LOSSLESS = 0x2f

interface Size {
  widthPx: number
  heightPx: number
}

/** Returns a still WebP with the chunks that its pixels need; null for anything else. */
export function readWebp(bytes: Uint8Array): Photo | null {
  const reader = new ByteReader(bytes)
  if (reader.length < HEAD_BYTES || reader.text(0, 4) !== 'RIFF' || reader.text(8, 4) !== 'WEBP') return null
  const end = 8 + reader.long(4, true)
  const kept: Uint8Array[] = []
  const seen = new Set<string>()
  let size: Size | null = null
  let canvas: Size | null = null
  let orientation = 1
  let chunks = 0
  for (let at = HEAD_BYTES; at + 8 <= end; ) {
    chunks += 1
    requireFew(chunks)
    const name = reader.text(at, 4)
    const length = reader.long(at + 4, true)
    if (name === 'ANIM' || name === 'ANMF') throw new PhotoFault('the WebP is an animation: a still image is needed')
    // chunks begin at even offsets
    const chunk = reader.part(at, 8 + length + (length % 2))
    if (KEPT.has(name) && seen.has(name)) throw new PhotoFault(`the WebP is broken: it has ${name.trim()} twice`)
    if (name === 'VP8X') {
      if (at !== HEAD_BYTES) throw new PhotoFault('the WebP is broken: it does not begin with its size')
      canvas = canvasIn(chunk)
    }
    if (name === 'VP8 ' || name === 'VP8L') {
      // decoders disagree on which of two images counts
      if (size !== null) throw new PhotoFault('the WebP has two images: a single one is needed')
      size = sizeIn(name, chunk)
    }
    if (name === 'ICCP') requireProfile(length)
    seen.add(name)
    if (name === 'EXIF') orientation = readOrientation(reader.part(at + 8, length)) ?? orientation
    if (KEPT.has(name)) kept.push(name === 'VP8X' ? withoutFlags(chunk) : chunk)
    at += chunk.length
  }
  if (size === null) throw new PhotoFault('the WebP has no image')
  if (canvas !== null && (canvas.widthPx !== size.widthPx || canvas.heightPx !== size.heightPx))
    throw new PhotoFault('the WebP is broken: its image does not have the declared size')
  const content = joined(kept)
  const head = joined([bytes.subarray(0, HEAD_BYTES)])
  new DataView(head.buffer).setUint32(4, 4 + content.length, true)
  return { type: 'image/webp', bytes: joined([head, content]), ...size, orientation }
}

/** Returns the header of the extended format without the flags for Exif and XMP. */
function withoutFlags(chunk: Uint8Array): Uint8Array {
  const changed = joined([chunk])
  changed[8] = (changed[8] ?? 0) & ~HAS_EXIF_OR_XMP
  return changed
}

/** Source: RFC 9649, 2.7.1: three-byte numbers, each stored minus one. */
function canvasIn(chunk: Uint8Array): Size {
  const reader = new ByteReader(chunk)
  if (reader.byte(8) & IS_FILM) throw new PhotoFault('the WebP is an animation: a still image is needed')
  const side = (at: number) => reader.short(at, true) + (reader.byte(at + 2) << 16) + 1
  return { widthPx: side(12), heightPx: side(15) }
}

function sizeIn(name: string, chunk: Uint8Array): Size {
  const reader = new ByteReader(chunk)
  if (name === 'VP8 ') {
    if ((reader.short(11) << 8) + reader.byte(13) !== START_CODE)
      throw new PhotoFault('the WebP is broken: its image does not begin with a frame')
    return { widthPx: reader.short(14, true) & 0x3fff, heightPx: reader.short(16, true) & 0x3fff }
  }
  if (reader.byte(8) !== LOSSLESS) throw new PhotoFault('the WebP is broken: its image does not begin with a frame')
  const bits = reader.long(9, true)
  return { widthPx: (bits & 0x3fff) + 1, heightPx: ((bits >>> 14) & 0x3fff) + 1 }
}
