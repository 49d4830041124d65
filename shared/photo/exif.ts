const ORIENTATION = 0x0112

/** How an image is turned, of its Exif; null where it does not say or cannot be read. Source: Exif 2.32, 4.5 and 4.6. */
export function orientationIn(exif: Uint8Array): number | null {
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
