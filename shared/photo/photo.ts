import { readJpeg } from './jpeg.ts'
import { PhotoFault } from './photo-fault.ts'
import type { Photo } from './photo-type.ts'
import { readPng } from './png.ts'
import { readWebp } from './webp.ts'

/** More than any tablet draws. */
const SIDE_MAX_PX = 16_384
const PIXELS_MAX = 50_000_000

/**
 * Reads an image by its own bytes and keeps what its pixels and their colours need, nothing else: Exif with places,
 * XMP, texts, previews and whatever follows the image are left out. Throws `PhotoFault`.
 */
export function readPhoto(bytes: Uint8Array): Photo {
  const photo = readJpeg(bytes) ?? readPng(bytes) ?? readWebp(bytes)
  if (photo === null) throw new PhotoFault('this is no JPEG, PNG or WebP')
  const { widthPx, heightPx } = photo
  if (widthPx < 1 || heightPx < 1) throw new PhotoFault('the image has no size')
  if (Math.max(widthPx, heightPx) > SIDE_MAX_PX || widthPx * heightPx > PIXELS_MAX)
    throw new PhotoFault(
      `the image has ${widthPx} x ${heightPx} pixels, and may have ${PIXELS_MAX / 1e6} million: make it smaller`,
      { isTooLarge: true },
    )
  return photo
}
