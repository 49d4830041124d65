import assert from 'node:assert/strict'
import { test } from 'node:test'
import { roundZonesOf } from '#shared/rounds/round-zones.ts'
import { DAY_MS, MINUTE_MS } from '#shared/time.ts'
import type { Zone, ZoneType } from '#shared/zones/zone.ts'
import type { Device } from '../fleet.ts'
import { ActiveRound } from './active-round.ts'

const START = Date.UTC(2026, 4, 1, 8)
const [BARN, HOLE] = [0, 30_000]

function strip(id: string, type: ZoneType, hole: number | null, southE7: number): Zone {
  const ring = [
    { latE7: southE7, longE7: 0 },
    { latE7: southE7, longE7: 100_000 },
    { latE7: southE7 + 20_000, longE7: 100_000 },
    { latE7: southE7 + 20_000, longE7: 0 },
  ]
  const rest = { isEnabled: true, isVisible: true, message: null, maxSpeedKmh: null }
  return { id, name: id, type, hole, ...rest, shape: { kind: 'polygon', ring } }
}

const zones = [strip('barn', 'parking', null, -10_000), strip('h1', 'hole', 1, 20_000)]
// a round reads nothing else of a device
const device = { row: { deviceId: 1, hardwareId: 'lock', deviceType: 'teebox' }, reported: { gps: null } } as Device

/** A cart that has played a round each day of a year. */
function yearPlayed(): ActiveRound {
  const round = new ActiveRound([device], { zones, roundZones: roundZonesOf(zones) })
  for (let day = 0; day < 365; day++)
    for (let minute = 0; minute < 30; minute++) {
      const latE7 = minute < 5 || minute >= 20 ? BARN : HOLE
      const atMs = START + day * DAY_MS + minute * MINUTE_MS
      round.take(1, Float64Array.of(1, atMs, latE7, 50_000, Number.NaN, Number.NaN), Number.POSITIVE_INFINITY)
    }
  return round
}

test('a round that has ended counts for some hours', () => {
  const [one, ...others] = yearPlayed().endedBy(START + 364 * DAY_MS + 30 * MINUTE_MS)
  assert.equal(Math.floor(((one?.startedMs ?? 0) - START) / DAY_MS), 364)
  assert.deepEqual(others, [])
  assert.deepEqual(yearPlayed().endedBy(START + 365 * DAY_MS), [])
})

test('rounds that have ended leave the memory, though no caller asks for them for a year', () => {
  // by the first day none is too old
  assert.equal(yearPlayed().endedBy(START).length, 1)
})
