import { existsSync } from 'node:fs'
import { ForkedScript } from '#scripts/rig/calls.ts'
import { zoneOf } from '#scripts/rig/course.ts'
import type { BenchDevice, GatewayApi } from '#scripts/rig/gateway-api.ts'
import { ADMIN_KEY, type GatewayProcess } from '#scripts/rig/gateway-process.ts'
import type { Workbench } from '#scripts/rig/processes.ts'
import { inParallel } from '#shared/in-parallel.ts'
import type { NewFeature } from '#shared/wire/geofences.ts'
import type { ReaderFunctions } from '../realtime/readers.ts'
import { type SiteHub, startSiteHub } from '../sync/environment.ts'

const DEVICES_A_SOCKET = 10
const MAX_DEVICES = 20 * DEVICES_A_SOCKET
/** File system in memory. */
const MEMORY = '/dev/shm'

/** The carts drive to and fro on parallel lanes (`TelemetryPackets`), 111 m apart, from here to the north. */
const [SOUTH, WEST, LANE] = [36.568, -121.949, 0.001]
const HOLES = 18
/** The one lane with a zone across: one cart in twenty enters and leaves it every ten seconds. */
const CROSSED_LANE = 7
const CORNERS = 16
const AT_ONCE = 8

/** Starts a hub whose writes do not go to the disk that is measured. */
export function startHubInMemory(bench: Workbench): Promise<SiteHub> {
  return startSiteHub(bench, existsSync(MEMORY) ? { within: MEMORY } : {})
}

/** Draws zones around the devices; they stay in the folder of the gateway. */
export async function drawZones(api: GatewayApi, devices: readonly BenchDevice[]): Promise<void> {
  const { group_id: groupId } = await api.call('POST /groups', { body: { name: 'bench' } })
  const body = { type: 'FeatureCollection', features: createZones() } as const
  await api.call('PUT /groups/{groupId}/geofences', { path: { groupId }, body })
  await inParallel(devices, AT_ONCE, ({ hardwareId: id }) =>
    api.call('PUT /groups/{groupId}/devices/{id}', { path: { groupId, id } }),
  )
}

/** Opens sockets for ten devices each, at most twenty sockets, as users with open screens do. */
export async function openSockets(bench: Workbench, { ports }: GatewayProcess, devices: readonly BenchDevice[]) {
  const readers = new ForkedScript<ReaderFunctions>(bench, new URL('../realtime/readers.ts', import.meta.url))
  const hardwareIds = devices.slice(0, MAX_DEVICES).map(({ hardwareId }) => hardwareId)
  while (hardwareIds.length > 0) {
    const reading = { port: ports.http, apiKey: ADMIN_KEY, sockets: 1 }
    await readers.call('subscribe', { ...reading, hardwareIds: hardwareIds.splice(0, DEVICES_A_SOCKET) })
  }
  return readers
}

/** Returns the course, greens and slow zones next to the lanes, and one slow zone across a lane. */
function createZones(): NewFeature[] {
  const holes = Array.from({ length: HOLES }, (_, i) => i + 1)
  const latOf = (hole: number) => SOUTH + hole * LANE
  return [
    zone('course', 'boundary', [WEST, latOf(10)], 20 * LANE),
    ...holes.map((hole) => zone(`green ${hole}`, 'stop', [WEST - LANE, latOf(hole)], LANE / 4)),
    ...holes.map((hole) => zone(`path ${hole}`, 'slow', [WEST + 2 * LANE, latOf(hole)], LANE / 4)),
    zone('bridge', 'slow', [WEST + LANE / 2, latOf(CROSSED_LANE) + LANE / 2], LANE / 4),
  ]
}

type ZoneType = NewFeature['properties']['type']

function zone(id: string, type: ZoneType, [long, lat]: readonly [number, number], radius: number): NewFeature {
  const ring = Array.from({ length: CORNERS }, (_, i): [number, number] => {
    const angle = (2 * Math.PI * i) / CORNERS
    return [long + radius * Math.cos(angle), lat + radius * Math.sin(angle)]
  })
  return zoneOf(id, { type }, ring)
}
