import { randomBytes } from 'node:crypto'
import { crc32, deflateSync } from 'node:zlib'

/** Metadata that must not be published with a photo. */
export const SECRET = 'GPS 51.5007 N 0.1246 W by Jane Doe'

const SECRET_BYTES = Buffer.from(SECRET)
const EXIF_HEAD = Buffer.from('Exif\0\0', 'latin1')

/** JPEG of one pixel, with Exif (location and orientation), XMP, a comment, and a film after it. */
export function jpeg({ orientation = 1, sizePx = 1 } = {}): Blob {
  const exif = exifOf(orientation, true)
  const xmp = Buffer.concat([Buffer.from('http://ns.adobe.com/xap/1.0/\0'), SECRET_BYTES])
  const icc = Buffer.concat([Buffer.from('ICC_PROFILE\0\x01\x01', 'latin1'), Buffer.from('profile')])
  const frame = Buffer.from([8, sizePx >> 8, sizePx & 255, sizePx >> 8, sizePx & 255, 1, 1, 0x11, 0])
  return new Blob(
    [
      Buffer.from([0xff, 0xd8]),
      segment(0xe1, exif),
      segment(0xe1, xmp),
      segment(0xe2, icc),
      segment(0xed, SECRET_BYTES),
      segment(0xfe, SECRET_BYTES),
      segment(0xdb, Buffer.concat([Buffer.from([0]), Buffer.alloc(64, 1)])),
      segment(0xc0, frame),
      // one code of one bit, for the only value there is
      ...[0x00, 0x10].map((table) => segment(0xc4, Buffer.from([table, 1, ...Array(15).fill(0), 0]))),
      segment(0xda, Buffer.from([1, 1, 0, 0, 63, 0])),
      // a stuffed byte and a restart belong to the pixels
      Buffer.from([0x3f, 0xff, 0x00, 0xff, 0xd0, 0x3f, 0xff, 0xd9]),
      SECRET_BYTES,
    ],
    { type: 'image/jpeg' },
  )
}

/**
 * PNG of one pixel, or of as many as it declares, with texts, Exif (orientation), and a time. `weight` are bytes of
 * noise in place of the pixels, which only a browser would reject.
 */
export function png({ widthPx = 1, heightPx = 1, orientation = 1, hasExifHead = false, weight = 0 } = {}): Blob {
  const size = Buffer.alloc(13)
  size.writeUInt32BE(widthPx)
  size.writeUInt32BE(heightPx, 4)
  size[8] = 8
  return new Blob(
    [
      Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
      chunk('IHDR', size),
      chunk('gAMA', Buffer.from([0, 0, 0xb1, 0x8f])),
      chunk('eXIf', exifOf(orientation, hasExifHead)),
      chunk('tEXt', SECRET_BYTES),
      chunk('iTXt', SECRET_BYTES),
      chunk('zTXt', SECRET_BYTES),
      chunk('IDAT', weight > 0 ? randomBytes(weight) : deflateSync(Buffer.from([0, 128]))),
      chunk('tIME', Buffer.alloc(7)),
      chunk('IEND', Buffer.alloc(0)),
      SECRET_BYTES,
    ],
    { type: 'image/png' },
  )
}

/** WebP of one pixel, with Exif (orientation) and XMP. */
export function webp({ orientation = 1, hasExifHead = false } = {}): Blob {
  const pixels = Buffer.from('UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA', 'base64').subarray(12)
  const extended = riff('VP8X', Buffer.from([0x0c, 0, 0, 0, 0, 0, 0, 0, 0, 0]))
  const exif = riff('EXIF', exifOf(orientation, hasExifHead))
  const content = Buffer.concat([extended, pixels, exif, riff('XMP ', SECRET_BYTES)])
  return new Blob([riff('RIFF', Buffer.concat([Buffer.from('WEBP'), content]))], { type: 'image/webp' })
}

/** Exif with one entry, the orientation, and secret data. */
function exifOf(orientation: number, hasHead = false): Buffer {
  const entry = [0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, orientation, 0, 0]
  const exif = [Buffer.from('MM\0*\0\0\0\b\0\x01', 'latin1'), Buffer.from(entry), Buffer.alloc(4), SECRET_BYTES]
  return Buffer.concat(hasHead ? [EXIF_HEAD, ...exif] : exif)
}

function segment(marker: number, content: Buffer): Buffer<ArrayBuffer> {
  const head = Buffer.from([0xff, marker, 0, 0])
  head.writeUInt16BE(content.length + 2, 2)
  return Buffer.concat([head, content])
}

function chunk(name: string, content: Buffer): Buffer<ArrayBuffer> {
  const body = Buffer.concat([Buffer.from(name), content])
  const whole = Buffer.alloc(body.length + 8)
  whole.writeUInt32BE(content.length)
  body.copy(whole, 4)
  whole.writeUInt32BE(crc32(body), body.length + 4)
  return whole
}

function riff(name: string, content: Buffer): Buffer<ArrayBuffer> {
  const length = Buffer.alloc(4)
  length.writeUInt32LE(content.length)
  return Buffer.concat([Buffer.from(name), length, content, Buffer.alloc(content.length % 2)])
}
