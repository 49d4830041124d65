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
  test(`${name}: pixels and colours stay, all that is told beside them goes`, async () => {
    const bytes = await bytesOf(image)
    assert.ok(textOf(bytes).includes(SECRET))
    const photo = readPhoto(bytes)
    assert.deepEqual([photo.type, photo.widthPx, photo.heightPx], [name, 1, 1])
    const text = textOf(photo.bytes)
    assert.ok(!text.includes('Jane') && !/exif|xmp|adobe|tIME/i.test(text), text)
    for (const part of kept) assert.ok(text.includes(part), part)
    // what is left is an image as before
    assert.deepEqual(readPhoto(photo.bytes).bytes, photo.bytes)
  })

  test(`${name}: one that was cut off is refused, wherever`, async () => {
    const whole = readPhoto(await bytesOf(image)).bytes
    for (let length = 0; length < whole.length; length++)
      assert.throws(() => readPhoto(whole.subarray(0, length)), PhotoFault, `after ${length} bytes`)
  })

  test(`${name}: whatever bytes are changed, it is read or refused`, async () => {
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

test('a webp does not claim any more that Exif follows', async () => {
  const { bytes } = readPhoto(await bytesOf(webp()))
  assert.equal(bytes[textOf(bytes).indexOf('VP8X') + 8], 0)
})

test('what is no image is refused, whatever it is called', () => {
  for (const text of ['', 'x', '<svg onload="alert(1)"/>', '<!doctype html>', 'GIF89a', 'RIFF1234WAVE'])
    assert.throws(() => readPhoto(Buffer.from(text)), PhotoFault)
})

test('an image of a hundred megapixels is refused by its size alone', async () => {
  const large = await bytesOf(png({ widthPx: 10_000, heightPx: 10_000 }))
  assert.throws(() => readPhoto(large), /10000 x 10000/)
  const long = await bytesOf(png({ widthPx: 20_000, heightPx: 1 }))
  assert.throws(() => readPhoto(long), PhotoFault)
})

for (const [name, turned] of Object.entries({ jpeg, png, webp })) {
  test(`${name}: how it is turned is read, and nothing of its Exif stays`, async () => {
    for (const orientation of [1, 2, 3, 4, 5, 6, 7, 8])
      for (const hasExifHead of [false, true]) {
        const photo = readPhoto(await bytesOf(turned({ orientation, hasExifHead })))
        assert.equal(photo.orientation, orientation)
        // the same bytes however it was turned: neither the orientation nor what stood beside it is among them
        assert.deepEqual(photo.bytes, readPhoto(await bytesOf(turned())).bytes)
        assert.equal(readPhoto(photo.bytes).orientation, 1)
      }
    for (const orientation of [0, 9, 200])
      assert.equal(readPhoto(await bytesOf(turned({ orientation }))).orientation, 1)
  })
}

test('an image that is to be turned lies on the map as it is seen', () => {
  const [topLeft, topRight, bottomRight, bottomLeft] = [1, 2, 3, 4].map((lat) => ({ lat, long: 0 }))
  assert.ok(topLeft && topRight && bottomRight && bottomLeft)
  const seen: Corners = [topLeft, topRight, bottomRight, bottomLeft]
  // taken with the camera on its side: its first row is what is seen at the right
  assert.deepEqual(storedCorners(seen, 6), [topRight, bottomRight, bottomLeft, topLeft])
  assert.deepEqual(storedCorners(seen, 8), [bottomLeft, topLeft, topRight, bottomRight])
  assert.deepEqual(storedCorners(seen, 3), [bottomRight, bottomLeft, topLeft, topRight])
  assert.deepEqual(storedCorners(seen, 1), seen)
})
