import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { describeError } from '#shared/errors.ts'
import { FakeClock } from '#shared/testing/clocks.ts'
import { silently } from '#testing/silently.ts'
import { ADMIN_KEY, startGateway, type TestGateway } from '#testing/start-gateway.ts'

// One bit flips in a row that decides who may unlock, what was unlocked, or where a cart may drive. It is told, or the
// answer is right: it is never served as if it were true.

const NOON_MS = Date.UTC(2026, 4, 1, 12)
const ZONE = {
  type: 'Feature',
  id: 'green-7',
  geometry: {
    type: 'Polygon',
    coordinates: [
      [
        [-81.58, 28.41],
        [-81.57, 28.41],
        [-81.57, 28.42],
        [-81.58, 28.41],
      ],
    ],
  },
  properties: { name: 'Green 7', type: 'stop', enabled: true, visible: false },
}

interface Course {
  g: TestGateway
  userKey: string
  eventId: string
}

/** A gateway with two carts, one lock event, a position, a zone, and a user who may use the first cart only. */
async function startCourse(t: TestContext): Promise<Course> {
  const g = await startGateway({}, { clock: new FakeClock(NOON_MS) })
  t.after(() => g.stop())
  const cart = await g.device('cart-1')
  await g.device('cart-3')
  await g.request('POST', '/groups', { body: { name: 'Course', group_id: 7 } })
  const zones = { type: 'FeatureCollection', features: [ZONE] }
  assert.equal((await g.request('PUT', '/groups/7/geofences', { body: zones })).status, 200)
  const { key: userKey } = await g.createUser({ allowed_hardware_ids: ['cart-1'] })
  const event = { eid: 'e-1', ts: NOON_MS - 1000, event: 'unlock', source: 'rfid', code: '04A1' }
  await cart.publishAsync('dev/cart-1/evt', JSON.stringify([event]), { qos: 1 })
  const fix = { ts: NOON_MS - 1000, lat: 28.4123457, long: -81.5812345 }
  await cart.publishAsync('dev/cart-1/tlm', JSON.stringify([fix]), { qos: 1 })
  const { body } = await g.request('GET', '/lock-events')
  return { g, userKey, eventId: body.events[0].event_id }
}

/** Flips one bit of each place in the file where `before` is stored, so that `after` is. */
function flip(g: TestGateway, before: string, after: string): void {
  assert.equal(bitsBetween(before, after), 1)
  const path = join(g.config.dataDir, 'cartbarn.db')
  const file = readFileSync(path)
  let places = 0
  for (let at = file.indexOf(before); at >= 0; at = file.indexOf(before, at + 1), places++)
    file.write(after, at, 'latin1')
  assert.ok(places > 0, `${before} is not in the file`)
  // in place: a gateway that runs has it open
  silently(path, () => writeFileSync(path, file, { flag: 'r+' }))
}

function bitsBetween(before: string, after: string): number {
  let bits = 0
  for (const [i, byte] of Buffer.from(before).entries())
    for (let left = byte ^ after.charCodeAt(i); left > 0; left >>= 1) bits += left & 1
  return bits
}

const lockEvents = async ({ g }: Course) => (await g.request('GET', '/lock-events')).body
const ownPosition = async ({ g, userKey }: Course) =>
  (await g.request('GET', '/devices/cart-1', { key: userKey })).body
const otherCart = async ({ g, userKey }: Course) =>
  (await g.request('GET', '/devices/cart-3', { key: userKey })).body
const ownRights = async ({ g }: Course) =>
  (await g.request('GET', '/users')).body.map?.(
    ({ role, allowed_hardware_ids }: Record<string, unknown>) => ({
      role,
      allowed_hardware_ids,
    }),
  )
const zonesServed = async ({ g }: Course) => (await g.request('GET', '/groups/7/geofences')).body.features

/** What a teebox of the group gets when it subscribes. */
async function zonesSent({ g }: Course): Promise<unknown> {
  const { body: users } = await g.request('GET', '/users')
  const admin = users.find(({ role }: { role: string }) => role === 'admin')
  const program = await g.program({}, { userId: admin.user_id, key: ADMIN_KEY })
  const got = new Promise<string>((resolve) =>
    program.on('message', (_, payload) => resolve(String(payload))),
  )
  await program.subscribeAsync('sit/7/sz')
  return JSON.parse(await got).z
}

const CASES: [
  what: string,
  read: (course: Course) => Promise<unknown>,
  flips: (course: Course) => [string, string],
][] = [
  ['the cart of a lock event', lockEvents, ({ eventId }) => [`${eventId}cart-1`, `${eventId}cart-3`]],
  ['the source of a lock event', lockEvents, () => ['unlockrfid', 'unlockrdid']],
  ['the kind of a lock event', lockEvents, () => ['unlockrfid', 'unlgckrfid']],
  ['the carts a user may use', otherCart, () => ['["cart-1"]', '["cart-3"]']],
  ['the role of a user', ownRights, () => ['Testuser', 'Testusdr']],
  ['a latitude', ownPosition, () => ['28.4123457', '28.4123447']],
  ['a corner of a zone', zonesServed, () => ['{"latE7":284100000', '{"latE7":284000000']],
  ['a corner of a zone that is sent', zonesSent, () => ['"p":[284100000', '"p":[284000000']],
]

for (const [what, read, flips] of CASES) {
  test(`a bit of ${what} flips while the gateway is stopped: what is wrong is told, not served`, async (t) => {
    const course = await startCourse(t)
    const before = await read(course)
    const damaged = course.g.restart(() => flip(course.g, ...flips(course)))
    const told = await damaged.then(() => null, describeError)
    if (told !== null) return assert.match(told, /cannot be (used|read)|damaged/)
    const after = await read(course)
    if (isRefused(after) || isDeepStrictEqual(after, before)) return
    // what lies on the page is left out, and an admin is told
    const { body: health } = await course.g.request('GET', '/health')
    assert.ok(health.damage?.length > 0)
    assert.doesNotMatch(JSON.stringify(after), new RegExp(flips(course)[1].replace(/\W/g, '\\$&')))
  })
}

test('a bit flips while the gateway runs: a page that is read after that is refused, the rest is served', async (t) => {
  const course = await startCourse(t)
  await course.g.restart()
  flip(course.g, 'unlockrfid', 'unlockrdid')
  const refused = await course.g.request('GET', '/lock-events')
  assert.equal(refused.status, 503)
  const { status } = await course.g.request('GET', '/devices', { key: ADMIN_KEY })
  assert.equal(status, 200)
})

function isRefused(answer: unknown): boolean {
  return typeof answer === 'object' && answer !== null && 'code' in answer
}
