import { ApiClient } from '#shared/client.ts'
import { inParallel } from '#shared/in-parallel.ts'
import type { NewGeofences } from '#shared/wire/geofences.ts'
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

/** State of a device in the API, except its newest GPS record. */
export interface ShownState {
  attributes: Record<string, string | number | boolean>
  counted: { count: number; lastAt: string | null }
  newest: { timestamp: string; lat: number; long: number; speed?: number | undefined } | null
}

const REGISTRATIONS_AT_ONCE = 8
/** Largest page of the gateway. */
const PAGE = 1000

/** HTTP requests of the benchmarks to a gateway, as an admin. Every method throws on an error status. */
export class GatewayApi {
  readonly #client: ApiClient

  constructor(url: string, apiKey: string) {
    this.#client = new ApiClient({ url, apiKey })
  }

  /** Registers `count` teeboxes with ids of equal length. */
  async registerDevices(count: number, prefix = 'bench'): Promise<BenchDevice[]> {
    const ids = Array.from({ length: count }, (_, i) => `${prefix}-${String(i).padStart(5, '0')}`)
    return inParallel(ids, REGISTRATIONS_AT_ONCE, (hardwareId) => this.#register(hardwareId))
  }

  /** Creates an admin who logs in with an API key. */
  createAdmin(name: string): Promise<BenchLogin> {
    return this.#createUser({ name, role: 'admin' })
  }

  /** Creates a user who sees these devices. */
  createUser(name: string, hardwareIds: string[]): Promise<BenchLogin> {
    return this.#createUser({ name, role: 'user', allowed_hardware_ids: hardwareIds })
  }

  /** Puts the devices into a group with these zones. */
  async createZonedGroup(zones: NewGeofences, hardwareIds: string[]): Promise<void> {
    const { group_id: groupId } = await this.#client.call('POST /groups', { body: { name: 'bench' } })
    await this.#client.call('PUT /groups/{groupId}/geofences', { path: { groupId }, body: zones })
    await inParallel(hardwareIds, REGISTRATIONS_AT_ONCE, (id) =>
      this.#client.call('PUT /groups/{groupId}/devices/{id}', { path: { groupId, id } }),
    )
  }

  /** Times (milliseconds) of the GPS records of a device from `fromMs` to `toMs`, both included. */
  async gpsTimes(hardwareId: string, fromMs: number, toMs: number): Promise<number[]> {
    const from = new Date(fromMs).toISOString()
    const to = new Date(toMs).toISOString()
    const records = await this.#client.call('GET /devices/{id}/gps', {
      path: { id: hardwareId },
      query: { from, to },
    })
    return records.map((record) => Date.parse(record.timestamp))
  }

  async hardwareIds(): Promise<string[]> {
    const all = await readPages(async (page) => {
      const { devices } = await this.#client.call('GET /devices', { query: page })
      return devices
    })
    return all.map((device) => device.hardware_id)
  }

  /** Codes of all lock events of a device that have one, newest first. */
  async lockEventCodes(hardwareId: string): Promise<string[]> {
    const all = await readPages(async (page) => {
      const query = { source: 'rfid', hardware_id: hardwareId, ...page } as const
      const { events } = await this.#client.call('GET /lock-events', { query })
      return events
    })
    return all.flatMap(({ code }) => code ?? [])
  }

  /** User of this API key: the first admin. */
  async firstUserId(): Promise<string> {
    const [first] = await this.#client.call('GET /users')
    if (first === undefined) throw new Error('the gateway has no users')
    return first.user_id
  }

  /** Number of GPS records of the whole fleet. */
  async gpsCount(): Promise<number> {
    const { telemetry } = await this.#client.call('GET /stats')
    return telemetry.gps
  }

  async eraseTelemetry(hardwareId: string): Promise<void> {
    await this.#client.call('DELETE /devices/{id}/telemetry', { path: { id: hardwareId } })
  }

  /** Names of attributes that a device has reported and of drops counted for it; empty if it never reported. */
  async traces(hardwareId: string): Promise<string[]> {
    const { attributes, dropped } = await this.#client.call('GET /devices/{id}/details', {
      path: { id: hardwareId },
    })
    return [...Object.keys(attributes), ...Object.keys(dropped)]
  }

  async shownState(hardwareId: string): Promise<ShownState> {
    const path = { id: hardwareId }
    const { attributes, telemetry } = await this.#client.call('GET /devices/{id}/details', { path })
    const query = { order: 'desc', limit: 1 } as const
    const [newest = null] = await this.#client.call('GET /devices/{id}/gps', { path, query })
    const { count, last_at: lastAt } = telemetry.gps
    return { attributes, counted: { count, lastAt }, newest }
  }

  /** Resolves if the gateway reports that it is healthy; otherwise throws. */
  async assertHealthy(): Promise<void> {
    await this.#client.call('GET /health')
  }

  /** Health report of the gateway, as a JSON text; also if it is unhealthy. */
  async health(): Promise<string> {
    const health = await this.#client.call('GET /health').catch((error: unknown) => ({ detail: String(error) }))
    return JSON.stringify(health)
  }

  /** Metrics by name, each the sum over all its labels, or over those with `label` in them. */
  async metrics(label = ''): Promise<Map<string, number>> {
    const text = await this.#client.call('GET /metrics')
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
    const { user, api_key } = await this.#client.call('POST /users', { body })
    return { username: user.user_id, password: api_key }
  }

  async #register(hardwareId: string): Promise<BenchDevice> {
    const { mqtt } = await this.#client.call('POST /devices', {
      body: { hardware_id: hardwareId, device_type: 'teebox' },
    })
    return { hardwareId, password: mqtt.password }
  }
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
