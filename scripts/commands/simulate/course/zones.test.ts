import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { toE7 } from '#shared/geo.ts'
import { newGeofencesSchema } from '#shared/wire/geofences.ts'
import { isInRing, packRing } from '#shared/zones/geometry.ts'
import { createCart, planFleet } from '../fleet-plan.ts'
import { toLatLong } from './plane.ts'
import { zonesOf } from './zones.ts'

const center = { lat: 28.41, long: -81.58 }

function zonesAround(seed: number, carts: number) {
  const plan = planFleet({ seed, carts, center, prefix: 't' })
  const { features } = newGeofencesSchema.parse(zonesOf(plan.course, carts))
  const ringOf = (id: string) => {
    const zone = features.find((feature) => feature.id === id)
    assert.ok(zone?.geometry.type === 'Polygon')
    const [ring = []] = zone.geometry.coordinates
    return ring.map(([long, lat]) => ({ latE7: toE7(lat), longE7: toE7(long) }))
  }
  return { plan, features, ringOf }
}

test('a course has a barn, a boundary and eighteen holes', () => {
  const { features } = zonesAround(1, 20)
  const types = features.map(({ properties }) => properties.type)
  assert.deepEqual(types.slice(0, 2), ['parking', 'boundary'])
  assert.deepEqual(
    features.slice(2).map(({ properties: { type, hole } }) => [type, hole]),
    Array.from({ length: 18 }, (_, i) => ['hole', i + 1]),
  )
})

test('carts start and end their day in the barn, play outside it, and never leave the course', () => {
  fc.assert(
    fc.property(fc.nat(1000), fc.nat(29), (seed, index) => {
      const { plan, ringOf } = zonesAround(seed, 30)
      const [barn, boundary] = [ringOf('barn'), ringOf('course')]
      const cart = createCart(plan, index)
      cart.startDay(20_000)
      for (let second = 1; second <= 86_400; second++) {
        cart.step()
        if (second % 20 !== 0) continue
        const { lat, long } = toLatLong(center, cart.position)
        const place = { latE7: toE7(lat), longE7: toE7(long) }
        assert.ok(isInRing(packRing(boundary), place))
        if (second < 3600 || second > 86_000) assert.ok(isInRing(packRing(barn), place))
        if (cart.hole !== undefined) assert.ok(!isInRing(packRing(barn), place), `hole ${cart.hole} in the barn`)
      }
    }),
    { numRuns: 4 },
  )
})
