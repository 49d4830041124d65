import { ADMIN_KEY, type GatewayProcess } from '#scripts/rig/gateway-process.ts'
import type { Download } from '#scripts/rig/load/download-client.ts'
import { activeTripsSchema, deviceTripsSchema, tripsSchema } from '#shared/wire/trips.ts'
import type { HistoryPart } from './shared-history.ts'

/** Trips of the only device of a part. */
export function tripsOfOne(gateway: GatewayProcess, { hardwareIds: [hardwareId], ...part }: HistoryPart): Download {
  return { port: gateway.ports.http, path: `/trips/${hardwareId}?${rangeOf(part)}`, key: ADMIN_KEY }
}

export function tripsOfAll(gateway: GatewayProcess, part: HistoryPart): Download {
  const path = `/trips?${rangeOf(part)}&hardware_ids=${part.hardwareIds.join(',')}`
  return { port: gateway.ports.http, path, key: ADMIN_KEY }
}

/** Devices of the fleet that are on a trip; without a time, among those that reported within the default time. */
export function activeTrips(gateway: GatewayProcess, maxAgeSeconds?: number): Download {
  const query = maxAgeSeconds === undefined ? '' : `?maxAgeSeconds=${maxAgeSeconds}`
  return { port: gateway.ports.http, path: `/trips/active${query}`, key: ADMIN_KEY }
}

/** Number of trips, stops and positions in a response of the first two queries. */
export interface TripCounts {
  trips: number
  stops: number
  positions: number
}

/** Counts the trips of one device. Throws unless the response has the documented form. */
export async function countTripsOfOne(download: Download): Promise<TripCounts> {
  return countsOf(deviceTripsSchema.parse(await ask(download)))
}

export async function countTripsOfAll(download: Download): Promise<TripCounts> {
  return countsOf(tripsSchema.parse(await ask(download)))
}

export async function countActive(download: Download): Promise<number> {
  return activeTripsSchema.parse(await ask(download)).summary.activeCount
}

function countsOf({ summary }: { summary: { totalTrips: number; totalStops: number; positionsAnalyzed: number } }) {
  return { trips: summary.totalTrips, stops: summary.totalStops, positions: summary.positionsAnalyzed }
}

function rangeOf({ fromMs, toMs }: Pick<HistoryPart, 'fromMs' | 'toMs'>): string {
  return `from=${new Date(fromMs).toISOString()}&to=${new Date(toMs).toISOString()}`
}

async function ask({ port, path, key }: Download): Promise<unknown> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { 'X-API-Key': key } })
  if (response.status !== 200) throw new Error(`GET ${path}: ${response.status} ${await response.text()}`)
  return response.json()
}
