import { readJpeg } from './jpeg.ts'
import { PhotoFault } from './photo-fault.ts'
import type { Photo } from './photo-type.ts'
import { readPng } from './png.ts'
import { readWebp } from './webp.ts'

/** More than any tablet can display. */
const SIDE_MAX_PX = 16_384
const PIXELS_MAX = 50_000_000

/**
 * Detects the image format from the bytes and keeps only what pixels and colours need: Exif with locations, XMP, texts,
 * previews and trailing data are removed. Throws `PhotoFault`.
 */
export function readPhoto(bytes: Uint8Array): Photo {
  const photo = readJpeg(bytes) ?? readPng(bytes) ?? readWebp(bytes)
  if (photo === null) throw new PhotoFault('the file is not a JPEG, PNG or WebP')
  const { widthPx, heightPx } = photo
  if (widthPx < 1 || heightPx < 1) throw new PhotoFault('the image has no size')
  if (Math.max(widthPx, heightPx) > SIDE_MAX_PX || widthPx * heightPx > PIXELS_MAX)
    throw new PhotoFault(
      `the image has ${widthPx} x ${heightPx} pixels, but at most ${PIXELS_MAX / 1e6} million are allowed: make it ` +
        'smaller',
      { isTooLarge: true },
    )
  return photo
}
