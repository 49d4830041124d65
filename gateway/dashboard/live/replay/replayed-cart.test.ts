import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deviceTrackJson, type Seen } from '#dashboard/testing/track-json.ts'
import { boxZone, zonesJson } from '#dashboard/testing/zones-json.ts'
import type { OwnZones } from './own-zones.ts'
import { ReplayFleet } from './replay-fleet.ts'
import { replaySettingsOf } from './replay-settings.ts'
import { ReplayZones } from './replay-zones.ts'
import { ReplayedCart } from './replayed-cart.ts'
import { trackOf } from './track.ts'

const FROM_MS = Date.UTC(2026, 4, 1, 8)
/** The barn extends 40 m around the start of the tracks, the course a kilometre. */
const BARN = boxZone('barn', [-81.5804, 28.4096, -81.5796, 28.4104], { type: 'parking' })
const COURSE = boxZone('course', [-81.59, 28.4, -81.57, 28.42], { type: 'boundary' })
const SETTINGS = replaySettingsOf(null)

function cartOf(
  seen: readonly Seen[],
  { zones = [BARN, COURSE], groupId = null as number | null, own = new Map() as OwnZones } = {},
) {
  const track = trackOf(deviceTrackJson('a', 'teebox', seen).gps, FROM_MS)
  const device = { hardwareId: 'a', deviceType: 'teebox', track, groupId }
  return new ReplayedCart('17', [device], {
    zones: new ReplayZones(zonesJson(...zones), own),
    settings: SETTINGS,
  })
}

const at = (cart: ReplayedCart, atS: number) => cart.at(FROM_MS + atS * 1000)
const RIDE: Seen[] = [
  { atS: 10, kmh: 0 },
  { atS: 20, kmh: 0 },
  { atS: 30, northM: 200, kmh: 15 },
  { atS: 35, northM: 220, kmh: 15 },
  { atS: 40, northM: 240, eastM: 30, kmh: 15 },
  { atS: 300, northM: 1500, kmh: 10 },
  { atS: 305, northM: 1510, kmh: 10 },
]

test('a cart has the state its rule yields at the shown time, however that time is reached', () => {
  const states: [atS: number, state: string | undefined, isMoving: boolean | undefined][] = [
    [0, undefined, undefined],
    [10, 'in', false],
    [20, 'in', false],
    // the first fix outside needs confirmation
    [30, 'in', true],
    [35, 'out', true],
    [94, 'out', true],
    // its speed of a minute ago is outdated
    [101, 'out', false],
    [305, 'outside', true],
    [305 + 899, 'outside', false],
    [305 + 900, 'silent', false],
  ]
  const forward = cartOf(RIDE)
  for (const [atS, state, isMoving] of states) {
    const cart = at(forward, atS)
    assert.deepEqual([cart?.state, cart?.is_moving], [state, isMoving], `forward, ${atS}`)
  }
  for (const [atS, state] of states.toReversed()) assert.equal(at(forward, atS)?.state, state, `back, ${atS}`)
})

test('its heading comes from the last fixes, and its position is the last known', () => {
  const cart = at(cartOf(RIDE), 41)
  assert.equal(cart?.position?.heading, 53)
  assert.equal(cart?.position?.at, '2026-05-01T08:00:40.000Z')
  assert.ok(Math.abs((cart?.position?.lat ?? 0) - 28.41216) < 1e-6)
})

test('a stationary cart in the barn is never silent', () => {
  assert.equal(at(cartOf(RIDE.slice(0, 2)), 86_000)?.state, 'in')
})

test('zones of another group do not count', () => {
  const barn = boxZone('barn', [-81.5804, 28.4096, -81.5796, 28.4104], { type: 'parking', groups: [4] })
  assert.equal(at(cartOf(RIDE, { zones: [barn] }), 20)?.state, 'out')
  assert.equal(at(cartOf(RIDE, { zones: [barn], groupId: 4 }), 20)?.state, 'in')
})

test('zones of its own group count in addition to those of the site, those of other groups do not', () => {
  const own = new Map([[4, [BARN]]])
  const inCourse = { zones: [COURSE], own }
  assert.equal(at(cartOf(RIDE, { ...inCourse, groupId: 4 }), 20)?.state, 'in')
  assert.deepEqual(
    at(cartOf(RIDE, { ...inCourse, groupId: 4 }), 20)?.zones.map(({ zone_id }) => zone_id),
    ['barn', 'course'],
  )
  for (const groupId of [null, 5]) assert.equal(at(cartOf(RIDE, { ...inCourse, groupId }), 20)?.state, 'out')
})

test('an unchanged cart stays the same object, so that it is not drawn again', () => {
  const cart = cartOf(RIDE)
  assert.equal(at(cart, 36), at(cart, 39))
  assert.notEqual(at(cart, 39), at(cart, 40))
})

test('the fleet shows the carts seen by then, and reports each change', () => {
  const fleet = new ReplayFleet()
  fleet.take([cartOf(RIDE)])
  const before = fleet.version.value
  fleet.show(FROM_MS)
  assert.deepEqual([...fleet.carts.keys()], [])
  fleet.show(FROM_MS + 20_000)
  assert.deepEqual([...fleet.carts.keys()], ['17'])
  assert.equal(fleet.version.value, before + 2)
})
