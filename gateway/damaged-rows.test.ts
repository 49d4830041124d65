import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { describeError } from '#shared/errors.ts'
import { FakeClock } from '#shared/testing/clocks.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { silently } from '#testing/silently.ts'
import { ADMIN_KEY, startGateway, type TestGateway } from '#testing/start-gateway.ts'

// A bit flips in a row that decides who may unlock, what was unlocked, or where a cart may drive. A single one in a
// page is repaired; with another one in the page it is reported, and the row is never served as intact.

const NOON_MS = Date.UTC(2026, 4, 1, 12)
const PAGE_BYTES = 4096
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

/**
 * Starts a gateway with two carts, one lock event, a position, a zone, and a user with only the first cart in scope.
 */
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

/**
 * Flips one bit in each page of the file at the first position of `before`, which becomes `after`; unless `isAlone`,
 * also one in the last byte of the page.
 */
function flip(g: TestGateway, [before, after]: [string, string], isAlone: boolean): void {
  assert.equal(bitsBetween(before, after), 1)
  const path = join(g.config.dataDir, 'cartbarn.db')
  const file = readFileSync(path)
  const pages = new Set<number>()
  for (let at = file.indexOf(before); at >= 0; at = file.indexOf(before, at + 1)) {
    const page = Math.floor(at / PAGE_BYTES)
    if (isAlone && pages.has(page)) continue
    file.write(after, at, 'latin1')
    pages.add(page)
  }
  assert.ok(pages.size > 0, `${before} is not in the file`)
  for (const page of isAlone ? [] : pages) {
    const last = (page + 1) * PAGE_BYTES - 1
    file[last] = (file[last] ?? 0) ^ 64
  }
  // in place, because a running gateway has the file open
  silently(path, () => writeFileSync(path, file, { flag: 'r+' }))
}

function bitsBetween(before: string, after: string): number {
  let bits = 0
  for (const [i, byte] of Buffer.from(before).entries())
    for (let left = byte ^ after.charCodeAt(i); left > 0; left >>= 1) bits += left & 1
  return bits
}

const lockEvents = async ({ g }: Course) => (await g.request('GET', '/lock-events')).body
const ownPosition = async ({ g, userKey }: Course) => {
  const { body } = await g.request('GET', '/devices/cart-1', { key: userKey })
  return body.attributes ?? body
}
const otherCart = async ({ g, userKey }: Course) => {
  const { request_id: _, ...body } = (await g.request('GET', '/devices/cart-3', { key: userKey })).body
  return body
}
const ownRights = async ({ g }: Course) =>
  (await g.request('GET', '/users')).body.map?.(({ role, allowed_hardware_ids }: Record<string, unknown>) => ({
    role,
    allowed_hardware_ids,
  }))
const zonesServed = async ({ g }: Course) => (await g.request('GET', '/groups/7/geofences')).body.features

/** Returns the zones that a teebox of the group receives when it subscribes. */
async function zonesSent({ g }: Course): Promise<unknown> {
  const { body: users } = await g.request('GET', '/users')
  const admin = users.find(({ role }: { role: string }) => role === 'admin')
  const program = await g.program({}, { userId: admin.user_id, key: ADMIN_KEY })
  const got = new Promise<string>((resolve) => program.on('message', (_, payload) => resolve(String(payload))))
  await program.subscribeAsync('sit/7/sz')
  return JSON.parse(await got).z
}

const CASES: [what: string, read: (course: Course) => Promise<unknown>, flips: (course: Course) => [string, string]][] =
  [
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
  test(`a bit of ${what} that flips while the gateway is stopped is repaired and reported`, async (t) => {
    const course = await startCourse(t)
    const before = await read(course)
    await course.g.restart(() => flip(course.g, flips(course), true))
    assert.deepEqual(await read(course), before)
    for (const { outcome } of await untilReported(course)) assert.equal(outcome, 'mended')
  })

  test(`a bit of ${what} and one of its page, flipped during a stop, are reported and not served`, async (t) => {
    const course = await startCourse(t)
    const before = await read(course)
    const damaged = course.g.restart(() => flip(course.g, flips(course), false))
    const error = await damaged.then(() => null, describeError)
    if (error !== null) return assert.match(error, /cannot be (used|read)|damaged/)
    const after = await read(course)
    if (isRefused(after) || isDeepStrictEqual(after, before)) return
    // the content of the page is left out, and an admin is notified
    assert.ok((await course.g.request('GET', '/health')).body.damage?.length > 0)
    assert.doesNotMatch(JSON.stringify(after), new RegExp(flips(course)[1].replace(/\W/g, '\\$&')))
  })
}

test('a bit that flips while the gateway runs is repaired and reported, and the right value is served', async (t) => {
  const course = await startCourse(t)
  const before = await lockEvents(course)
  await course.g.restart()
  flip(course.g, ['unlockrfid', 'unlockrdid'], true)
  assert.deepEqual(await lockEvents(course), before)
  const [{ place, outcome } = {}] = await untilReported(course)
  assert.deepEqual([place, outcome], ['lock_event', 'mended'])
  const { g } = course
  const damage = async () =>
    (await g.request('GET', '/repairs')).body.findings.filter(({ code }: { code: string }) => /damage/.test(code))
  assert.deepEqual(
    (await damage()).map(({ code, action }: Record<string, string>) => [code, action]),
    [['damage_repaired', 'accept_loss']],
  )
  const accept = async () => (await g.request('POST', '/repairs/accept')).body.accepted
  assert.equal(await accept(), 1)
  assert.deepEqual(await damage(), [])
  assert.equal('damage' in (await g.request('GET', '/health')).body, false)
  const { entries } = (await g.request('GET', '/audit-log?action=damage.accepted')).body
  assert.deepEqual([entries.length, entries[0].after], [1, { findings: ['lock_event: mended'] }])
  assert.equal(await accept(), 0)
})

test('a page with two bits flipped while the gateway runs is not read, and all else is served', async (t) => {
  const course = await startCourse(t)
  await course.g.restart()
  flip(course.g, ['unlockrfid', 'unlockrdid'], false)
  assert.equal((await course.g.request('GET', '/lock-events')).status, 503)
  assert.equal((await course.g.request('GET', '/devices', { key: ADMIN_KEY })).status, 200)
})

/** Waits until `/health` reports damage, and returns it. */
async function untilReported({ g }: Course): Promise<{ place?: string; outcome?: string }[]> {
  let damage: { place?: string; outcome?: string }[] = []
  await eventually(async () => {
    // a page that is read later is repaired soon after the next write
    await g.createUser({})
    damage = (await g.request('GET', '/health')).body.damage ?? []
    return damage.length > 0
  }, 'the repair is reported')
  return damage
}

function isRefused(answer: unknown): boolean {
  return typeof answer === 'object' && answer !== null && 'code' in answer
}
