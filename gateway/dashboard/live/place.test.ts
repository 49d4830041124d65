import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CartJson } from '#shared/wire/carts.ts'
import { positionLabel } from './place.ts'

type Zone = CartJson['zones'][number]

const AT = '2026-05-01T12:00:00.000Z'
const position = { lat: 28.41, long: -81.58, speed: 0, heading: null, at: AT, hardware_id: 'tb-17' }

function zone(type: Zone['type'], name: string, hole?: number): Zone {
  return { zone_id: name, name, type, since: AT, ...(hole === undefined ? {} : { hole }) }
}

const course = zone('boundary', 'Course')

const cases: [string, Parameters<typeof positionLabel>[0], ReturnType<typeof positionLabel>][] = [
  ['no position', { position: null, zones: [], state: 'unknown' }, { kind: 'unknown' }],
  [
    'the barn before the hole it stands on',
    { position, zones: [course, zone('hole', 'Hole 1', 1), zone('parking', 'Barn')], state: 'in' },
    { kind: 'zone', name: 'Barn' },
  ],
  [
    'the hole before water on it',
    { position, zones: [zone('alert', 'Pond', 8), zone('hole', 'Hole 7', 7)], state: 'out' },
    { kind: 'hole', hole: 7 },
  ],
  ['a zone of a hole', { position, zones: [zone('stop', 'Green 8', 8)], state: 'out' }, { kind: 'hole', hole: 8 }],
  [
    'a zone of no hole',
    { position, zones: [course, zone('slow', 'Car park')], state: 'out' },
    { kind: 'zone', name: 'Car park' },
  ],
  ['on the course', { position, zones: [course], state: 'out' }, { kind: 'course' }],
  ['beyond the boundary', { position, zones: [], state: 'outside' }, { kind: 'outside' }],
]

for (const [what, cart, place] of cases) {
  test(`a place: ${what}`, () => assert.deepEqual(positionLabel(cart), place))
}
