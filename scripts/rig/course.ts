import type { NewFeature } from '#shared/wire/geofences.ts'
import type { GatewayApi } from './gateway-api.ts'

type Position = [long: number, lat: number]
type ZoneProperties = Omit<NewFeature['properties'], 'name'> & { name?: string }

/** Edges in degrees. */
interface Rectangle {
  south: number
  north: number
  west: number
  east: number
}

/** Area in which the devices of `TelemetryPackets` drive, with a separate barn to the north. */
export const COURSE: Rectangle = { south: 36.55, north: 36.61, west: -121.97, east: -121.93 }
export const BARN: Rectangle = { south: 36.595, north: 36.605, west: -121.955, east: -121.945 }

/** Middle of the course that the simulator makes. */
export const SIMULATED_CENTER = { lat: 28.41, long: -81.58 }

/** Middle of the barn, in degrees. */
export const BARN_PLACE = { lat: 36.6, long: -121.95 }

/** Voltage that carts in the barn report. */
export const RESTING_V = 49
/** Thresholds above and below it. */
export const ALL_LOW_V = 49.8
export const NONE_LOW_V = 40

/** Draws the barn and the boundary, and sets the thresholds of the cart rules. */
export async function openCourse(api: GatewayApi): Promise<void> {
  await api.drawZones([
    zoneOf('barn', { type: 'parking' }, cornersOf(BARN)),
    zoneOf('course', { type: 'boundary' }, cornersOf(COURSE)),
  ])
  const pack = { empty_v: 30, full_v: 51, low_v: NONE_LOW_V }
  const rules = { auto_lock_after_min: 10, rest_after_s: 1, pack }
  await api.call('PATCH /site', { body: { name: 'Bench', time_zone: 'America/Los_Angeles', ...rules } })
}

/** Returns a zone with these corners, the first of which is not repeated; its id is its name, unless it has one. */
export function zoneOf(id: string, properties: ZoneProperties, corners: readonly Position[]): NewFeature {
  const geometry = { type: 'Polygon' as const, coordinates: [[...corners, ...corners.slice(0, 1)]] }
  return { type: 'Feature', id, properties: { name: id, ...properties }, geometry }
}

export function cornersOf({ south, north, west, east }: Rectangle): Position[] {
  return [
    [west, south],
    [east, south],
    [east, north],
    [west, north],
  ]
}

/** User who is not an admin, with the devices that the user may see. */
export type Person = Awaited<ReturnType<typeof createPerson>>

/** Creates the users of noisy clients; the captain sees the fleet, the viewer one of its carts. */
export async function createPeople(api: GatewayApi, seen: string, fleet: string[]) {
  return {
    viewer: await createPerson(api, 'viewer', [seen]),
    unrelated: await createPerson(api, 'unrelated', []),
    captain: await createPerson(api, 'captain', fleet),
    /** Path of a history too long for the buffers of any connection. */
    longHistoryPath: `/devices/${seen}/gps?from=2026-01-01T00:00:00Z&to=2099-01-01T00:00:00Z`,
  }
}

async function createPerson(api: GatewayApi, name: string, hardwareIds: string[]) {
  return { ...(await api.createUser(name, hardwareIds)), hardwareIds }
}

/** Creates users who see these devices; returns their keys. */
export async function createTablets(api: GatewayApi, count: number, hardwareIds: string[]): Promise<string[]> {
  const keys: string[] = []
  for (let i = 0; i < count; i++) keys.push((await api.createUser(`tablet ${i}`, hardwareIds)).password)
  return keys
}
