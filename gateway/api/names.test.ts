import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { box, circle, collection } from '#testing/course/features.ts'
import { ok, scene } from '#testing/scene.ts'

const { g } = scene()

before(async () => {
  await g.post('/devices', { hardware_id: 'cart-1', device_type: 'teebox', cart: '1' })
  await g.post('/groups', { name: 'Walkers', group_id: 1 })
})

/** Characters forbidden inside a name; white space at its ends is trimmed. */
const NOT_IN_NAMES = [...'\n\t\0\x1b\x7f\x85\u2028\u2029\u202e\u2066\ufeff', '\r\n', '\ud800']
const zones = (name: string) => collection({ ...circle('a', { name, type: 'alert' }), id: undefined })
const course = (properties: object) =>
  collection({
    type: 'Feature',
    properties,
    geometry: { type: 'LineString', coordinates: box(8, 50, 8.001, 50.001).slice(0, 2) },
  })

/** Every operation that sets a name or another single-line text. */
const WAYS: [string, string, (name: string) => unknown, Record<string, string>?][] = [
  ['PUT', '/zones', zones, { 'if-match': '*' }],
  ['PUT', '/groups/1/geofences', zones],
  ['PUT', '/geofences/1', zones],
  ['POST', '/groups', (name) => ({ name })],
  ['PATCH', '/groups/1', (name) => ({ name })],
  ['POST', '/devices', (name) => ({ hardware_id: 'cart-2', device_type: 'teebox', name })],
  ['POST', '/devices', (cart) => ({ hardware_id: 'cart-2', device_type: 'teebox', cart })],
  ['PATCH', '/devices/cart-1', (name) => ({ name })],
  ['PATCH', '/devices/cart-1', (cart) => ({ cart })],
  ['POST', '/devices/import', (name) => `hardware_id,name\ncart-1,"${name}"\n`, { 'content-type': 'text/csv' }],
  ['POST', '/users', (name) => ({ name })],
  ['PATCH', '/site', (name) => ({ name })],
  ['POST', '/access-requests', (name) => ({ name })],
  ['POST', '/recall', (text) => ({ text })],
  ['PATCH', '/carts/1', (why) => ({ out_of_service: { why } })],
  ['PUT', '/course', (name) => course({ golf: 'hole', name })],
  ['PUT', '/course', (ref) => course({ golf: 'hole', ref })],
  ['PUT', '/course', (attribution) => ({ ...course({ golf: 'hole' }), attribution })],
]

for (const [method, path, bodyOf, headers = {}] of WAYS)
  test(`${method} ${path} rejects control characters (${JSON.stringify(bodyOf('x')).slice(-60)})`, async () => {
    const good = await g.request(method, path, { body: bodyOf('ab 1'), headers })
    assert.notEqual(good.status, 400, JSON.stringify(good.body))
    for (const part of NOT_IN_NAMES) {
      // a UTF-8 file or JSON text cannot contain half a surrogate pair
      if (part === '\ud800' && headers['content-type'] === 'text/csv') continue
      const { status } = await g.request(method, path, { body: bodyOf(`a${part}b`), headers })
      assert.equal(status, 400, JSON.stringify(part))
    }
  })

test('a name in any language, with its emoji, is accepted', async () => {
  for (const name of ['Grün 7', 'גרין', 'نقطه‌ای', '👨‍👩‍👧 family', '高尔夫', 'O’Hara 𝔾'])
    await ok(g.patch('/groups/1', { name }))
})
