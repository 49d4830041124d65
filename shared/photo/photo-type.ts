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
