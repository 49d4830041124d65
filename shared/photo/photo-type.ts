export const PHOTO_TYPES = ['image/jpeg', 'image/png', 'image/webp'] as const
export type PhotoType = (typeof PHOTO_TYPES)[number]

/** Image without its metadata. */
export interface Photo {
  type: PhotoType
  bytes: Uint8Array<ArrayBuffer>
  widthPx: number
  heightPx: number
  /** Exif orientation, 1 to 8; 1 is upright as stored. Source: Exif 2.32, 4.6.4. */
  orientation: number
}
