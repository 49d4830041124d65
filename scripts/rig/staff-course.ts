import { inParallel } from '#shared/in-parallel.ts'
import type { BenchDevice } from './gateway-api.ts'
import { ADMIN_KEY, type GatewayProcess } from './gateway-process.ts'

/** Area in which the devices of `TelemetryPackets` drive, with a separate barn to the north. */
const COURSE = { south: 36.55, north: 36.61, west: -121.97, east: -121.93 }
const BARN = { south: 36.595, north: 36.605, west: -121.955, east: -121.945 }

/** Middle of the barn, in degrees. */
export const BARN_PLACE = { lat: 36.6, long: -121.95 }

/** Voltage that carts in the barn report. */
export const RESTING_V = 49
/** Thresholds above and below it. */
export const ALL_LOW_V = 49.8
export const NONE_LOW_V = 40

const AT_ONCE = 8

/** Response of the gateway, with any status. */
interface StaffAnswer {
  status: number
  // benchmarks read a few fields of answers that tests hold to their schemas
  // biome-ignore lint/suspicious/noExplicitAny: see above
  body: any
}

/** Sends a request as an admin; throws only on a network error. */
async function ask(
  { ports }: Pick<GatewayProcess, 'ports'>,
  method: string,
  path: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<StaffAnswer> {
  const response = await fetch(`http://127.0.0.1:${ports.http}${path}`, {
    method,
    headers: { 'X-API-Key': ADMIN_KEY, 'Content-Type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, body: text === '' ? null : JSON.parse(text) }
}

/** Body of a response; throws on an error status. */
export async function must(
  gateway: Pick<GatewayProcess, 'ports'>,
  method: string,
  path: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<StaffAnswer['body']> {
  const answer = await ask(gateway, method, path, body, headers)
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
  return answer.body
}

/** Registers `count` carts, numbered from 1, with one device each, in order. `id` begins their hardware ids. */
export async function registerCarts(
  gateway: GatewayProcess,
  { count, deviceType, id }: { count: number; deviceType: string; id: string },
): Promise<BenchDevice[]> {
  const numbers = Array.from({ length: count }, (_, i) => i + 1)
  return inParallel(numbers, AT_ONCE, async (number) => {
    const hardwareId = `${id}-${String(number).padStart(5, '0')}`
    const cart = `${id} ${number}`
    const { mqtt } = await must(gateway, 'POST', '/devices', {
      hardware_id: hardwareId,
      device_type: deviceType,
      cart,
    })
    return { hardwareId, password: mqtt.password }
  })
}

/** Draws the barn and the boundary, and sets the thresholds of the cart rules. */
export async function openCourse(gateway: GatewayProcess): Promise<void> {
  const features = [zone('barn', 'parking', BARN), zone('course', 'boundary', COURSE)]
  await must(gateway, 'PUT', '/zones', { type: 'FeatureCollection', features }, { 'If-Match': '*' })
  await must(gateway, 'PATCH', '/site', {
    name: 'Bench',
    time_zone: 'America/Los_Angeles',
    auto_lock_after_min: 10,
    rest_after_s: 1,
    pack: { empty_v: 30, full_v: 51, low_v: NONE_LOW_V },
  })
}

function zone(id: string, type: string, { south, north, west, east }: typeof BARN) {
  const ring = [
    [west, south],
    [east, south],
    [east, north],
    [west, north],
    [west, south],
  ]
  return {
    type: 'Feature',
    id,
    geometry: { type: 'Polygon', coordinates: [ring] },
    properties: { name: id, type },
  }
}
