import { readJpeg } from './jpeg.ts'
import { PhotoFault } from './photo-fault.ts'
import { readPng } from './png.ts'
import { readWebp } from './webp.ts'

export const PHOTO_TYPES = ['image/jpeg', 'image/png', 'image/webp'] as const
export type PhotoType = (typeof PHOTO_TYPES)[number]

/** An image without what it says beside its pixels. */
export interface Photo {
  type: PhotoType
  bytes: Uint8Array<ArrayBuffer>
  widthPx: number
  heightPx: number
  /** How it is to be turned to stand upright, 1 to 8: 1 as it is. Source: Exif 2.32, 4.6.4. */
  orientation: number
}

/** More than any tablet draws. */
const SIDE_MAX_PX = 16_384
const PIXELS_MAX = 50_000_000

/**
 * Reads an image by its own bytes and keeps what its pixels and their colours need, nothing else: Exif with places, XMP, texts,
 * previews and whatever follows the image are left out. Throws `PhotoFault`.
 */
export function readPhoto(bytes: Uint8Array): Photo {
  const photo = readJpeg(bytes) ?? readPng(bytes) ?? readWebp(bytes)
  if (photo === null) throw new PhotoFault('this is no JPEG, PNG or WebP')
  const { widthPx, heightPx } = photo
  if (widthPx < 1 || heightPx < 1) throw new PhotoFault('the image has no size')
  if (Math.max(widthPx, heightPx) > SIDE_MAX_PX || widthPx * heightPx > PIXELS_MAX)
    throw new PhotoFault(
      `the image has ${widthPx} x ${heightPx} pixels, and may have ${PIXELS_MAX / 1e6} million: make it smaller`,
    )
  return photo
}
