import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { jpeg, png, SECRET, webp } from '#shared/testing/images.ts'
import { readPhoto } from './photo.ts'
import { PhotoFault } from './photo-fault.ts'
import { type Corners, storedCorners } from './upright.ts'

const bytesOf = async (blob: Blob) => new Uint8Array(await blob.arrayBuffer())
const textOf = (bytes: Uint8Array) => Buffer.from(bytes).toString('latin1')

for (const [name, image, kept] of [
  ['image/jpeg', jpeg(), ['ICC_PROFILE']],
  ['image/png', png(), ['IHDR', 'gAMA', 'IDAT', 'IEND']],
  ['image/webp', webp(), ['VP8X', 'VP8 ']],
] as const) {
  test(`${name}: pixels and colours stay, all metadata is removed`, async () => {
    const bytes = await bytesOf(image)
    assert.ok(textOf(bytes).includes(SECRET))
    const photo = readPhoto(bytes)
    assert.deepEqual([photo.type, photo.widthPx, photo.heightPx], [name, 1, 1])
    const text = textOf(photo.bytes)
    assert.ok(!text.includes('Jane') && !/exif|xmp|adobe|tIME/i.test(text), text)
    for (const part of kept) assert.ok(text.includes(part), part)
    // the result is still the same image
    assert.deepEqual(readPhoto(photo.bytes).bytes, photo.bytes)
  })

  test(`${name}: a photo cut off at any point is rejected`, async () => {
    const whole = readPhoto(await bytesOf(image)).bytes
    for (let length = 0; length < whole.length; length++)
      assert.throws(() => readPhoto(whole.subarray(0, length)), PhotoFault, `after ${length} bytes`)
  })

  test(`${name}: a photo with any bytes changed is read or rejected`, async () => {
    const whole = await bytesOf(image)
    const change = fc.tuple(fc.nat(whole.length - 1), fc.nat(255))
    fc.assert(
      fc.property(fc.array(change, { maxLength: 6 }), (changes) => {
        const bytes = whole.slice()
        for (const [at, byte] of changes) bytes[at] = byte
        try {
          readPhoto(bytes)
        } catch (error) {
          assert.ok(error instanceof PhotoFault)
        }
      }),
    )
  })
}

test('a webp without Exif has its Exif flag cleared', async () => {
  const { bytes } = readPhoto(await bytesOf(webp()))
  assert.equal(bytes[textOf(bytes).indexOf('VP8X') + 8], 0)
})

test('a file that is not an image is rejected, whatever its name', () => {
  for (const text of ['', 'x', '<svg onload="alert(1)"/>', '<!doctype html>', 'GIF89a', 'RIFF1234WAVE'])
    assert.throws(() => readPhoto(Buffer.from(text)), PhotoFault)
})

test('an image of a hundred megapixels is rejected by its size alone', async () => {
  const large = await bytesOf(png({ widthPx: 10_000, heightPx: 10_000 }))
  assert.throws(() => readPhoto(large), /10000 x 10000/)
  const long = await bytesOf(png({ widthPx: 20_000, heightPx: 1 }))
  assert.throws(() => readPhoto(long), PhotoFault)
})

for (const [name, turned] of Object.entries({ jpeg, png, webp })) {
  test(`${name}: the orientation is read, and the Exif data is removed`, async () => {
    for (const orientation of [1, 2, 3, 4, 5, 6, 7, 8])
      for (const hasExifHead of [false, true]) {
        const photo = readPhoto(await bytesOf(turned({ orientation, hasExifHead })))
        assert.equal(photo.orientation, orientation)
        // the same bytes for any orientation: neither the orientation nor other metadata is included
        assert.deepEqual(photo.bytes, readPhoto(await bytesOf(turned())).bytes)
        assert.equal(readPhoto(photo.bytes).orientation, 1)
      }
    for (const orientation of [0, 9, 200])
      assert.equal(readPhoto(await bytesOf(turned({ orientation }))).orientation, 1)
  })
}

test('a rotated image is placed on the map in its visible orientation', () => {
  const [topLeft, topRight, bottomRight, bottomLeft] = [1, 2, 3, 4].map((lat) => ({ lat, long: 0 }))
  assert.ok(topLeft && topRight && bottomRight && bottomLeft)
  const seen: Corners = [topLeft, topRight, bottomRight, bottomLeft]
  // taken with the camera on its side: its first row appears on the right
  assert.deepEqual(storedCorners(seen, 6), [topRight, bottomRight, bottomLeft, topLeft])
  assert.deepEqual(storedCorners(seen, 8), [bottomLeft, topLeft, topRight, bottomRight])
  assert.deepEqual(storedCorners(seen, 3), [bottomRight, bottomLeft, topLeft, topRight])
  assert.deepEqual(storedCorners(seen, 1), seen)
})

/** The parts of an image, to be put together in other ways. */
const parts = {
  jpegFrame: (sizePx: number, marker = 0xc0) =>
    Buffer.from([0xff, marker, 0, 11, 8, sizePx >> 8, sizePx & 255, sizePx >> 8, sizePx & 255, 1, 1, 0x11, 0]),
  chunk: (name: string, content: Uint8Array) => {
    const head = Buffer.alloc(8)
    head.writeUInt32BE(content.length)
    head.write(name, 4, 'latin1')
    return Buffer.concat([head, content, Buffer.alloc(4)])
  },
  riff: (name: string, content: Uint8Array) => {
    const head = Buffer.alloc(8)
    head.write(name, 'latin1')
    head.writeUInt32LE(content.length, 4)
    return Buffer.concat([head, content, Buffer.alloc(content.length % 2)])
  },
}
/** Image with bytes inserted before a named part. */
async function withBefore(image: Blob, name: string, ...added: Uint8Array[]): Promise<Buffer> {
  const bytes = Buffer.from(readPhoto(await bytesOf(image)).bytes)
  const at = bytes.indexOf(name, 0, 'latin1')
  assert.ok(at > 0, name)
  const whole = Buffer.concat([bytes.subarray(0, at), ...added, bytes.subarray(at)])
  if (whole.toString('latin1', 0, 4) === 'RIFF') whole.writeUInt32LE(whole.length - 8, 4)
  return whole
}
const PNG_SIZE = Buffer.from([0, 0, 62, 128, 0, 0, 62, 128, 8, 0, 0, 0, 0])
const VP8L = parts.riff('VP8L', Buffer.from([0x2f, 0xfe, 0xff, 0xff, 0x0f, 0]))
const vp8x = (widthPx: number, flags = 0) =>
  parts.riff('VP8X', Buffer.from([flags, 0, 0, 0, widthPx - 1, 0, 0, 0, 0, 0]))

for (const marker of [0xc0, 0xc1, 0xc2, 0xc3, 0xc9, 0xcf])
  for (const [place, before] of [
    ['before', '\xff\xc0'],
    ['behind', '\xff\xda'],
  ] as const) {
    test(`image/jpeg: a second frame 0x${marker.toString(16)} ${place} the first is rejected`, async () => {
      const twice = await withBefore(jpeg(), before, parts.jpegFrame(16_000, marker))
      assert.throws(() => readPhoto(twice), PhotoFault)
    })
  }

test('image/jpeg: an image of a single frame is read, whatever its coding', async () => {
  for (const marker of [0xc0, 0xc1, 0xc2, 0xc9]) {
    const bytes = Buffer.from(await bytesOf(jpeg()))
    bytes[bytes.indexOf('\xff\xc0', 0, 'latin1') + 1] = marker
    assert.equal(readPhoto(bytes).widthPx, 1)
  }
})

for (const [what, broken] of [
  ['image/png: two sizes', () => withBefore(png(), '\0\0\0\x04gAMA', parts.chunk('IHDR', PNG_SIZE))],
  [
    'image/png: pixels in two places',
    () =>
      withBefore(png(), '\0\0\0\0IEND', parts.chunk('sBIT', Buffer.from([8])), parts.chunk('IDAT', Buffer.alloc(9))),
  ],
  [
    'image/png: two profiles',
    () => withBefore(png(), '\0\0\0\x04gAMA', ...twoOf(parts.chunk('iCCP', Buffer.alloc(99)))),
  ],
  [
    'image/png: a profile of 200 MB',
    () => withBefore(png(), '\0\0\0\x04gAMA', parts.chunk('iCCP', Buffer.alloc(200_000))),
  ],
  [
    'image/png: 600,000 chunks',
    () => withBefore(png(), '\0\0\0\x04gAMA', Buffer.concat(Array(600_000).fill(parts.chunk('aaaa', Buffer.alloc(0))))),
  ],
  ['image/webp: a second image behind the first', () => withBefore(webp(), 'VP8 ', VP8L)],
  [
    'image/webp: the same image twice',
    () => withBefore(webp(), 'VP8 ', parts.riff('VP8 ', Buffer.from('00000000009d012aff3fff3f0000', 'hex'))),
  ],
  [
    'image/webp: another size before the image',
    async () =>
      Buffer.from(
        (await withBefore(webp(), 'VP8 ')).toString('latin1').replace(/VP8X.{14}/s, vp8x(9).toString('latin1')),
        'latin1',
      ),
  ],
  ['image/webp: two sizes', () => withBefore(webp(), 'VP8 ', vp8x(1))],
  [
    'image/webp: a flag of films',
    async () =>
      Buffer.from(
        (await withBefore(webp(), 'VP8 ')).toString('latin1').replace(/VP8X.{14}/s, vp8x(1, 2).toString('latin1')),
        'latin1',
      ),
  ],
  ['image/webp: a film', () => withBefore(webp(), 'VP8 ', parts.riff('ANMF', Buffer.alloc(40)))],
  ['image/webp: a profile of 5 MB', () => withBefore(webp(), 'VP8 ', parts.riff('ICCP', Buffer.alloc(5_000_000)))],
] as const) {
  test(`${what}: rejected`, async () => {
    const bytes = await broken()
    assert.throws(() => readPhoto(bytes), PhotoFault)
  })
}

test('image/png: an animation is stored as its first image', async () => {
  const film = await withBefore(png(), '\0\0\0\x04gAMA', parts.chunk('acTL', Buffer.alloc(8)))
  assert.ok(!textOf(readPhoto(film).bytes).includes('acTL'))
})

function twoOf(part: Buffer): Buffer[] {
  return [part, part]
}
