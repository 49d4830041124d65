import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { jpeg, png, SECRET, webp } from '#shared/testing/images.ts'
import { box } from '#testing/course/features.ts'
import { fails, ok, scene } from '#testing/scene.ts'
import { ADMIN_KEY, startFor } from '#testing/start-gateway.ts'

const { g, keys, onlyFor } = scene({ inScope: ['cart-1'] })

beforeEach(async () => {
  await ok(g.remove('/course'))
  await ok(g.remove('/course/photo'))
})

const CORNERS = '28.42,-81.59;28.42,-81.57;28.40,-81.57;28.40,-81.59'
const PHOTO = `/course/photo?corners=${encodeURIComponent(CORNERS)}`
const GREEN = box(-81.58, 28.41, -81.5798, 28.4102)

function feature(properties: object, type = 'Polygon', coordinates: unknown = [GREEN], id?: string) {
  return { type: 'Feature', ...(id === undefined ? {} : { id }), properties, geometry: { type, coordinates } }
}

const HOLE = feature({ golf: 'hole', ref: '7', par: '4' }, 'LineString', [
  [-81.583, 28.408],
  [-81.5799, 28.4101],
])
const OUTLINE = feature({ leisure: 'golf_course', name: 'Pebble Creek' }, 'Polygon', [box(-81.59, 28.4, -81.57, 28.42)])
const COURSE = {
  type: 'FeatureCollection',
  generator: 'overpass-turbo',
  features: [
    OUTLINE,
    HOLE,
    feature({ golf: 'green', operator: 'gone' }, 'Polygon', [GREEN], 'way/12'),
    feature({ shop: 'golf' }),
  ],
}

const put = (body: unknown, headers = {}) => g.put('/course', body, { headers })
const putPhoto = (image: Blob | string, path = PHOTO, type?: string) =>
  g.put(path, image, { headers: { 'content-type': type ?? (image instanceof Blob ? image.type : '') } })
const getPhoto = (headers = {}) => g.app.request('/course/photo', { headers: { 'x-api-key': ADMIN_KEY, ...headers } })

for (const path of ['/course', '/course/photo']) {
  onlyFor('any key', ['GET', path])
  onlyFor('admins', ['PUT', path, COURSE], ['DELETE', path])
}
onlyFor('admins', ['POST', '/course/propose-zones'])

test('before the first upload the course map is empty and has no photo', async (t) => {
  const fresh = await startFor(t)

  const { status, body, headers } = await fresh.get('/course')
  assert.equal(status, 200)
  assert.deepEqual(
    [body.type, body.version, body.features, body.photo, body.attribution],
    ['FeatureCollection', 0, [], null, null],
  )
  assert.match(headers.get('etag') ?? '', /^"0-/)
  await fails(fresh.get('/course/photo'), 404, 'photo_not_found')
})

test('an uploaded course map is counted, stored in its known features and readable by every role', async () => {
  const answer = await put(COURSE)
  assert.equal(answer.status, 200)
  const { holes, greens, outlines, bunkers } = answer.body.counts
  assert.deepEqual([holes, greens, outlines, bunkers], [1, 1, 1, 0])
  const { body, headers } = await g.get('/course', { key: keys['no scope'] })
  assert.equal(body.version, answer.body.version)
  assert.equal(body.attribution, '© OpenStreetMap contributors')
  assert.deepEqual(body.features, [OUTLINE, HOLE, feature({ golf: 'green' }, 'Polygon', [GREEN], 'way/12')])
  const same = await g.get('/course', { headers: { 'if-none-match': headers.get('etag') ?? '' } })
  assert.equal(same.status, 304)
})

test('an export of a map is accepted under its own type', async () => {
  await ok(put(COURSE, { 'content-type': 'application/geo+json' }))
  assert.equal((await put(COURSE, { 'content-type': 'text/plain' })).status, 415)
})

/** Builds a tee with this ring; a text alone is no ring. */
const tee = (...ring: unknown[]) => feature({ golf: 'tee' }, 'Polygon', typeof ring[0] === 'string' ? ring : [ring])

for (const [what, body, code, named] of [
  ['a body that is not a collection', { type: 'Feature' }, 'invalid_course', 'not_geojson'],
  ['nothing of a course', { ...COURSE, features: [feature({ shop: 'golf' })] }, 'invalid_course', 'nothing_known'],
  ['other coordinates', { ...COURSE, features: [tee([6e5, 5e6], [1, 1], [2, 2])] }, 'invalid_course', 'not_degrees'],
  ['a ring of text', { ...COURSE, features: [tee('x')] }, 'invalid_course', 'broken_geometry'],
] as const)
  test(`${what} is rejected, and the stored course map stays`, async () => {
    await put(COURSE)
    const answer = await put(body)
    assert.deepEqual([answer.status, answer.body.code, answer.body.errors[0].code], [400, code, named])
    assert.equal((await g.get('/course')).body.features.length, 3)
  })

test('a broken body, endless nesting, or more than 5 MB is rejected', async () => {
  assert.equal((await put('{"type":')).body.code, 'invalid_json')
  assert.equal(
    (await put(`{"type":"FeatureCollection","features":${'['.repeat(99)}${']'.repeat(99)}}`)).body.code,
    'invalid_body',
  )
  await fails(put({ ...COURSE, padding: 'x'.repeat(5 * 1_048_576) }), 413, 'payload_too_large')
})

test('the course map and its photo survive a restart', async () => {
  await put(COURSE)
  await putPhoto(jpeg())
  const before = (await g.get('/course')).body
  await g.restart()
  assert.deepEqual((await g.get('/course')).body, before)
  await ok(getPhoto())
})

test('an open map is notified of a new course map and of a new photo', async () => {
  const socket = await g.realtime()
  await put(COURSE)
  const message = await socket.next('course_changed')
  assert.equal(message.version, (await g.get('/course')).body.version)
  await putPhoto(png())
  assert.equal((await socket.next('course_changed')).version, Number(message.version) + 1)
})

for (const [image, type] of [
  [jpeg(), 'image/jpeg'],
  [png(), 'image/png'],
  [webp(), 'image/webp'],
] as const)
  test(`a photo of type ${type} is stored without metadata and served with that type only`, async () => {
    const body = await ok(putPhoto(image))
    const response = await getPhoto()
    const bytes = Buffer.from(await response.arrayBuffer())
    assert.ok(!bytes.toString('latin1').includes(SECRET))
    assert.equal(response.headers.get('content-type'), type)
    assert.equal(response.headers.get('x-content-type-options'), 'nosniff')
    const { photo } = (await g.get('/course')).body
    assert.deepEqual(photo, { ...body.photo, content_type: type, bytes: bytes.length })
    assert.equal(photo.etag, response.headers.get('etag'))
    assert.deepEqual(photo.corners[0], { lat: 28.42, long: -81.59 })
    assert.equal((await getPhoto({ 'if-none-match': photo.etag })).status, 304)
  })

test('a photo is identified by its bytes, not by its declared type', async () => {
  await putPhoto(png(), PHOTO, 'image/jpeg')
  assert.equal((await getPhoto()).headers.get('content-type'), 'image/png')
})

test('a photo rotated by Exif is placed by its upright corners, for every image type', async () => {
  for (const photo of [jpeg({ orientation: 6 }), png({ orientation: 6 }), webp({ orientation: 6 })]) {
    const { body } = await putPhoto(photo)
    assert.deepEqual(body.photo.corners[0], { lat: 28.42, long: -81.57 })
  }
})

test('a body that is not a photo is rejected, and the stored photo stays', async () => {
  await putPhoto(png())
  const { etag } = (await g.get('/course')).body.photo
  for (const [body, type, status, code] of [
    ['<svg/>', 'image/svg+xml', 415, 'unsupported_media_type'],
    ['{}', 'application/json', 415, 'unsupported_media_type'],
    ['<svg onload="alert(1)"/>', 'image/png', 400, 'invalid_image'],
    ['', 'image/png', 400, 'invalid_image'],
    ['x'.repeat(8 * 1_048_576 + 1), 'image/png', 413, 'payload_too_large'],
  ] as const)
    await fails(putPhoto(body, PHOTO, type), status, code, type)
  await fails(putPhoto(png({ widthPx: 10_000, heightPx: 10_000 })), 400, 'invalid_image')
  assert.equal((await g.get('/course')).body.photo.etag, etag)
})

test('a photo needs four different positions', async () => {
  await fails(putPhoto(png(), '/course/photo'), 400, 'missing_parameter')
  for (const corners of [
    '',
    '1,2',
    '1,2;3,4;5,6',
    `${CORNERS};1,2`,
    '1,2;1,2;1,2;1,2',
    '91,0;1,2;3,4;5,6',
    'a,b;1,2;3,4;5,6',
  ])
    await fails(
      putPhoto(png(), `/course/photo?corners=${encodeURIComponent(corners)}`),
      400,
      'invalid_parameter',
      corners,
    )
})

test('course map and photo are deleted independently', async () => {
  await put(COURSE)
  await putPhoto(png())
  await ok(g.remove('/course'))
  const { features, photo } = (await g.get('/course')).body
  assert.deepEqual([features, photo === null], [[], false])
  assert.equal((await g.remove('/course/photo')).body.photo, null)
  assert.equal((await getPhoto()).status, 404)
})

test("zones are proposed from the course map in the site's language, in the form of PUT /zones", async () => {
  await fails(g.post('/course/propose-zones'), 409, 'no_course')
  await put(COURSE)
  const body = await ok(g.post('/course/propose-zones'))
  const shown = body.features.map(({ id, properties }: { id: string; properties: Record<string, unknown> }) => [
    id,
    properties.name,
    properties.type,
    properties.hole ?? null,
    properties.enabled,
  ])
  assert.deepEqual(shown, [
    ['boundary', 'Golf course', 'boundary', null, true],
    ['hole-7', 'Hole 7', 'hole', 7, true],
    ['green-7', 'Green 7', 'alert', 7, true],
    ['fairway-7', 'Fairway 7', 'alert', 7, false],
  ])
  assert.deepEqual((await g.get('/zones')).body.features, [], 'nothing is stored')
  const taken = await g.put('/zones', body, { headers: { 'if-match': '*' } })
  assert.deepEqual([taken.status, taken.body.count], [200, 4])
  await g.patch('/site', { language: 'de' })
  const german = (await g.post('/course/propose-zones')).body.features
  assert.equal(german[1].properties.name, 'Bahn 7')
})

test('the audit log has the user of a change and the new counts', async () => {
  await put(COURSE)
  await putPhoto(png())
  await g.remove('/course/photo')
  await g.remove('/course')
  const { entries } = (await g.get('/audit-log?limit=4')).body
  const listed = entries.map(({ action, target }: { action: string; target: string }) => [action, target])
  assert.deepEqual(listed, [
    ['course.deleted', 'site'],
    ['course.photo_deleted', 'site'],
    ['course.photo_updated', 'site'],
    ['course.updated', 'site'],
  ])
  assert.equal(entries[3].after.counts.holes, 1)
  assert.deepEqual(Object.keys(entries[2].after), ['content_type', 'corners', 'bytes'])
})
