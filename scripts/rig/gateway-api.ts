import { ApiClient } from '#shared/client.ts'
import { inParallel } from '#shared/in-parallel.ts'
import type { NewFeature } from '#shared/wire/geofences.ts'
import type { InputOf } from '#shared/wire/operation-types.ts'

/** Registered device, as the load generator needs it. */
export interface BenchDevice {
  hardwareId: string
  password: string
}

/** Credentials of a client over MQTT. */
export interface BenchLogin {
  username: string
  password: string
}

/** Metrics of a gateway about the sealing of its log. */
export interface Sealing {
  records: number
  workS: number
}

const REGISTRATIONS_AT_ONCE = 8
/** Largest page of the gateway. */
const PAGE = 1000

/** Login of a device over MQTT. */
export function loginOf({ hardwareId, password }: BenchDevice) {
  return { clientId: hardwareId, username: hardwareId, password }
}

/** API of a gateway under test, as an admin, with the requests that several of its users need. */
export class GatewayApi extends ApiClient {
  /** Registers `count` teeboxes with ids of equal length. */
  registerDevices(count: number, prefix = 'bench'): Promise<BenchDevice[]> {
    const numbers = Array.from({ length: count }, (_, i) => i)
    return this.#register(numbers.map((n) => ({ hardware_id: idOf(prefix, n), device_type: 'teebox' })))
  }

  /** Registers `count` carts, numbered from 1, with one device each, in order. */
  registerCarts(count: number, prefix = 'cart', deviceType = 'teebox'): Promise<BenchDevice[]> {
    const numbers = Array.from({ length: count }, (_, i) => i + 1)
    return this.#register(
      numbers.map((n) => ({ hardware_id: idOf(prefix, n), device_type: deviceType, cart: `${prefix} ${n}` })),
    )
  }

  /** Creates an admin who logs in with an API key. */
  createAdmin(name: string): Promise<BenchLogin> {
    return this.#createUser({ name, role: 'admin' })
  }

  /** Creates a user who sees these devices. */
  createUser(name: string, hardwareIds: string[]): Promise<BenchLogin> {
    return this.#createUser({ name, role: 'user', allowed_hardware_ids: hardwareIds })
  }

  /** Creates the user of the shop's tablets, who sees everything; returns the API key. */
  async createShop(): Promise<string> {
    return (await this.#createUser({ name: 'Shop', role: 'staff', allowed_hardware_ids: ['*'] })).password
  }

  /** Replaces all zones of the site. */
  async drawZones(features: readonly NewFeature[]): Promise<void> {
    const body = { type: 'FeatureCollection', features: [...features] } as const
    await this.call('PUT /zones', { body, headers: { 'If-Match': '*' } })
  }

  /** Times (milliseconds) of the GPS records of a device from `fromMs` to `toMs`, both included. */
  async gpsTimes(hardwareId: string, fromMs: number, toMs: number): Promise<number[]> {
    const from = new Date(fromMs).toISOString()
    const to = new Date(toMs).toISOString()
    const records = await this.call('GET /devices/{id}/gps', {
      path: { id: hardwareId },
      query: { from, to },
    })
    return records.map((record) => Date.parse(record.timestamp))
  }

  async hardwareIds(): Promise<string[]> {
    const all = await readPages(async (page) => {
      const { devices } = await this.call('GET /devices', { query: page })
      return devices
    })
    return all.map((device) => device.hardware_id)
  }

  /** Codes of all lock events of a device that have one, newest first. */
  async lockEventCodes(hardwareId: string): Promise<string[]> {
    const all = await readPages(async (page) => {
      const query = { source: 'rfid', hardware_id: hardwareId, ...page } as const
      const { events } = await this.call('GET /lock-events', { query })
      return events
    })
    return all.flatMap(({ code }) => code ?? [])
  }

  /** Number of GPS records of the whole fleet. */
  async gpsCount(): Promise<number> {
    const { telemetry } = await this.call('GET /stats')
    return telemetry.gps
  }

  /** Metrics by name, each the sum over all its labels, or over those with `label` in them. */
  async metrics(label = ''): Promise<Map<string, number>> {
    const text = await this.call('GET /metrics')
    return parseMetrics(text.split('\n').filter((line) => line.includes(label)))
  }

  /** Records put into blocks since the gateway's start, and the seconds of work; null if not reported. */
  async sealing(): Promise<Sealing | null> {
    const metrics = await this.metrics()
    const records = metrics.get('cartbarn_sealed_samples_total')
    const workS = metrics.get('cartbarn_sealing_seconds_total')
    return records === undefined || workS === undefined ? null : { records, workS }
  }

  async #createUser(body: InputOf<'POST /users'>['body']): Promise<BenchLogin> {
    const { user, api_key } = await this.call('POST /users', { body })
    return { username: user.user_id, password: api_key }
  }

  #register(bodies: readonly InputOf<'POST /devices'>['body'][]): Promise<BenchDevice[]> {
    return inParallel(bodies, REGISTRATIONS_AT_ONCE, async (body) => {
      const { mqtt } = await this.call('POST /devices', { body })
      return { hardwareId: body.hardware_id, password: mqtt.password }
    })
  }
}

function idOf(prefix: string, number: number): string {
  return `${prefix}-${String(number).padStart(5, '0')}`
}

async function readPages<Item>(
  readPage: (page: { limit: number; offset: number }) => Promise<Item[]>,
): Promise<Item[]> {
  const all: Item[] = []
  for (;;) {
    const page = await readPage({ limit: PAGE, offset: all.length })
    all.push(...page)
    if (page.length < PAGE) return all
  }
}

/** Parses lines of the Prometheus text format; a metric with labels is summed over them. */
export function parseMetrics(lines: readonly string[]): Map<string, number> {
  const metrics = new Map<string, number>()
  for (const line of lines) {
    const [, name, value] = /^([A-Za-z_:][\w:]*)(?:\{.*\})? (\S+)$/.exec(line) ?? []
    if (name !== undefined) metrics.set(name, (metrics.get(name) ?? 0) + Number(value))
  }
  return metrics
}
