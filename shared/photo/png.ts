import { ByteReader, joined } from './byte-reader.ts'
import { readOrientation } from './exif.ts'
import { requireFew } from './limits.ts'
import { PhotoFault } from './photo-fault.ts'
import type { Photo } from './photo-type.ts'

const SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]
/** Chunks that pixels and colours need. Source: W3C PNG, third edition, 11. */
const KEPT: ReadonlySet<string> = new Set([
  'IHDR',
  'PLTE',
  'IDAT',
  'IEND',
  'tRNS',
  'cHRM',
  'gAMA',
  'iCCP',
  'sBIT',
  'sRGB',
  'cICP',
])

/** Profiles of cameras and screens have a few KB. Packed data may grow a thousandfold when it is unpacked. */
const PACKED_PROFILE_BYTES_MAX = 16_384

/** Returns a PNG with the chunks that its pixels need; null for anything else. */
export function readPng(bytes: Uint8Array): Photo | null {
  if (!SIGNATURE.every((byte, at) => bytes[at] === byte)) return null
  const reader = new ByteReader(bytes)
  const kept = [reader.part(0, SIGNATURE.length)]
  const seen = new Set<string>()
  let previous = ''
  let orientation = 1
  let chunks = 0
  for (let at = SIGNATURE.length; ; ) {
    chunks += 1
    requireFew(chunks)
    const length = reader.long(at)
    const name = reader.text(at + 4, 4)
    if (at === SIGNATURE.length && (name !== 'IHDR' || length !== 13))
      throw new PhotoFault('the PNG is broken: it does not begin with its size')
    const chunk = reader.part(at, 12 + length)
    if (KEPT.has(name)) {
      // only pixel chunks may repeat, consecutively; decoders disagree on which of two sizes counts
      if (seen.has(name) && !(name === 'IDAT' && previous === 'IDAT'))
        throw new PhotoFault(`the PNG is broken: it has ${name} twice`)
      seen.add(name)
      kept.push(chunk)
    }
    if (name === 'iCCP' && length > PACKED_PROFILE_BYTES_MAX)
      throw new PhotoFault('the PNG has a colour profile of more than 16 KB, packed: save it without one')
    previous = name
    if (name === 'eXIf') orientation = readOrientation(reader.part(at + 8, length)) ?? orientation
    if (name === 'IEND') break
    at += chunk.length
  }
  if (!seen.has('IDAT')) throw new PhotoFault('the PNG has no image')
  const [widthPx, heightPx] = [reader.long(16), reader.long(20)]
  return { type: 'image/png', bytes: joined(kept), widthPx, heightPx, orientation }
}
