const ORIENTATION = 0x0112
/** Prefix of Exif data in a JPEG. Camera software writes it in PNG and WebP too, although they define none. */
export const EXIF_HEAD = 'Exif\0\0'

/** Reads the Exif orientation of an image; null if absent or unreadable. Source: Exif 2.32, 4.5 and 4.6. */
export function readOrientation(content: Uint8Array): number | null {
  const hasHead = String.fromCharCode(...content.subarray(0, EXIF_HEAD.length)) === EXIF_HEAD
  const exif = hasHead ? content.subarray(EXIF_HEAD.length) : content
  const view = new DataView(exif.buffer, exif.byteOffset, exif.byteLength)
  if (exif.length < 8) return null
  const order = view.getUint16(0)
  if (order !== 0x4949 && order !== 0x4d4d) return null
  const isLittle = order === 0x4949
  const at = view.getUint32(4, isLittle)
  if (at + 2 > exif.length) return null
  const count = view.getUint16(at, isLittle)
  for (let entry = at + 2; entry < at + 2 + count * 12 && entry + 12 <= exif.length; entry += 12) {
    if (view.getUint16(entry, isLittle) !== ORIENTATION) continue
    const orientation = view.getUint16(entry + 8, isLittle)
    return orientation >= 1 && orientation <= 8 ? orientation : null
  }
  return null
}
