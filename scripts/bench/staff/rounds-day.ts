import { BARN, COURSE, zoneOf } from '#scripts/rig/course.ts'
import type { GatewayApi } from '#scripts/rig/gateway-api.ts'
import { fromE7, toE7 } from '#shared/geo.ts'
import { HOUR_MS, MINUTE_MS, toIso } from '#shared/time.ts'

/** Day of carts that play: in the barn, a round, some minutes in the barn, and a round still in progress. */

/** Strips of land from south to north; the northernmost is the barn. */
const HOLES = 18
const SOUTH = 36.551
const HOLE_HIGH = 0.0022
/** Corners of an edge of a strip, as many as drawn zones have. */
const CORNERS = 12

const MORNING_MS = 3.5 * HOUR_MS
const BETWEEN_MS = 5 * MINUTE_MS
const ROUND_MS = 4.2 * HOUR_MS
export const DAY_MS = MORNING_MS + 2 * ROUND_MS + BETWEEN_MS
const OUT_EVERY_MS = 5_000
const IN_EVERY_MS = 60_000
/** Records of one import request. */
const RECORDS = 5_000

export async function drawHoles(api: GatewayApi): Promise<void> {
  const holes = Array.from({ length: HOLES }, (_, i) => {
    const south = SOUTH + i * HOLE_HIGH
    return strip(`hole-${i + 1}`, { type: 'hole', hole: i + 1 }, south, south + HOLE_HIGH)
  })
  await api.drawZones([strip('barn', { type: 'parking' }, BARN.south, BARN.north), ...holes])
}

/** Stores the day of a device up to `nowMs`; returns the number of its positions. */
export async function storeDay(api: GatewayApi, hardwareId: string, nowMs: number): Promise<number> {
  const fixes = [...dayOf(nowMs)]
  for (let at = 0; at < fixes.length; at += RECORDS) {
    const gps = fixes.slice(at, at + RECORDS)
    await api.call('POST /devices/{id}/telemetry/import', { path: { id: hardwareId }, body: { gps } })
  }
  return fixes.length
}

function* dayOf(nowMs: number) {
  const firstMs = nowMs - DAY_MS + MORNING_MS
  const roundsMs = [firstMs, firstMs + ROUND_MS + BETWEEN_MS]
  for (let atMs = nowMs - DAY_MS; atMs < nowMs; ) {
    const roundMs = roundsMs.find((fromMs) => atMs >= fromMs && atMs < fromMs + ROUND_MS)
    const isOut = roundMs !== undefined
    // it spends the time of each hole moving over it, as between tee and green
    const lat = isOut ? SOUTH + ((atMs - roundMs) / ROUND_MS) * HOLES * HOLE_HIGH : (BARN.south + BARN.north) / 2
    const long = -121.95 + 0.0005 * Math.sin(atMs / 60_000)
    yield { timestamp: toIso(atMs), lat: fromE7(toE7(lat)), long: fromE7(toE7(long)), speed: isOut ? 9 : 0 }
    atMs += isOut ? OUT_EVERY_MS : IN_EVERY_MS
  }
}

function strip(id: string, properties: Parameters<typeof zoneOf>[1], south: number, north: number) {
  const along = (lat: number, from: number, to: number) =>
    Array.from({ length: CORNERS }, (_, i): [number, number] => [from + ((to - from) * i) / (CORNERS - 1), lat])
  const { west, east } = COURSE
  return zoneOf(id, properties, [...along(south, west, east), ...along(north, east, west)])
}
