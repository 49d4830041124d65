import { ByteReader, joined } from './byte-reader.ts'
import { orientationIn } from './exif.ts'
import { PhotoFault } from './photo-fault.ts'
import type { Photo } from './photo-type.ts'

const HEAD_BYTES = 12
/** What the pixels and their colours need of a still image. Source: RFC 9649, 2.7. */
const KEPT: ReadonlySet<string> = new Set(['VP8 ', 'VP8L', 'VP8X', 'ALPH', 'ICCP'])
const HAS_EXIF_OR_XMP = 0x08 | 0x04

/** A still WebP with the chunks that its pixels need; null for anything else. */
export function readWebp(bytes: Uint8Array): Photo | null {
  const reader = new ByteReader(bytes)
  if (reader.length < HEAD_BYTES || reader.text(0, 4) !== 'RIFF' || reader.text(8, 4) !== 'WEBP') return null
  const end = 8 + reader.long(4, true)
  const kept: Uint8Array[] = []
  let size: { widthPx: number; heightPx: number } | null = null
  let orientation = 1
  for (let at = HEAD_BYTES; at + 8 <= end; ) {
    const name = reader.text(at, 4)
    const length = reader.long(at + 4, true)
    if (name === 'ANIM' || name === 'ANMF') throw new PhotoFault('the WebP is a film: a photo is needed')
    // each begins at an even place
    const chunk = reader.part(at, 8 + length + (length % 2))
    if (name === 'VP8 ' || name === 'VP8L') size = sizeIn(name, chunk)
    if (name === 'EXIF') orientation = orientationIn(reader.part(at + 8, length)) ?? orientation
    if (KEPT.has(name)) kept.push(name === 'VP8X' ? withoutFlags(chunk) : chunk)
    at += chunk.length
  }
  if (size === null) throw new PhotoFault('the WebP has no image')
  const content = joined(kept)
  const head = joined([bytes.subarray(0, HEAD_BYTES)])
  new DataView(head.buffer).setUint32(4, 4 + content.length, true)
  return { type: 'image/webp', bytes: joined([head, content]), ...size, orientation }
}

/** The head of what is extended, without the claim that Exif or XMP follow. */
function withoutFlags(chunk: Uint8Array): Uint8Array {
  const changed = joined([chunk])
  changed[8] = (changed[8] ?? 0) & ~HAS_EXIF_OR_XMP
  return changed
}

function sizeIn(name: string, chunk: Uint8Array): { widthPx: number; heightPx: number } {
  const reader = new ByteReader(chunk)
  if (name === 'VP8 ') {
    // Source: RFC 6386, 9.1
    return { widthPx: reader.short(14, true) & 0x3fff, heightPx: reader.short(16, true) & 0x3fff }
  }
  // Source: RFC 9649, 3.4
  const bits = reader.long(9, true)
  return { widthPx: (bits & 0x3fff) + 1, heightPx: ((bits >>> 14) & 0x3fff) + 1 }
}
