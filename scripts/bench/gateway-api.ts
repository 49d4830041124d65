import { z } from 'zod'

const registrationSchema = z.object({ mqtt: z.object({ password: z.string() }) })
const issuedKeySchema = z.object({ user: z.object({ user_id: z.string() }), api_key: z.string() })
const timesSchema = z.array(z.object({ timestamp: z.string() }))
const detailsSchema = z.object({
  attributes: z.record(z.string(), z.unknown()),
  dropped: z.record(z.string(), z.unknown()),
})
const devicesSchema = z.object({ devices: z.array(z.object({ hardware_id: z.string() })) })
const lockEventsSchema = z.object({ events: z.array(z.object({ code: z.string() })) })
const usersSchema = z.array(z.object({ user_id: z.string() }))
const statsSchema = z.object({ telemetry: z.object({ gps: z.number() }) })

/** A registered device, as the load generator needs it. */
export interface BenchDevice {
  hardwareId: string
  password: string
}

/** How a client logs in over MQTT. */
export interface BenchLogin {
  username: string
  password: string
}

const REGISTRATIONS_AT_ONCE = 8
/** The most the gateway gives at once. */
const PAGE = 1000

/** What the benchmarks ask a gateway over HTTP, as an admin. Every method throws on an error status. */
export class GatewayApi {
  readonly #url: string
  readonly #key: string

  constructor(url: string, key: string) {
    this.#url = url
    this.#key = key
  }

  /** Registers `count` teeboxes with ids of equal length. */
  async registerDevices(count: number, prefix = 'bench'): Promise<BenchDevice[]> {
    const ids = Array.from({ length: count }, (_, i) => `${prefix}-${String(i).padStart(5, '0')}`)
    return mapInParallel(ids, REGISTRATIONS_AT_ONCE, (hardwareId) => this.#register(hardwareId))
  }

  /** Creates an admin who logs in with an API key. */
  async createAdmin(name: string): Promise<BenchLogin> {
    const response = await this.#post('/users', { name, role: 'admin' })
    const issued = issuedKeySchema.parse(await response.json())
    return { username: issued.user.user_id, password: issued.api_key }
  }

  /** Times (milliseconds) of the GPS records of a device from `fromMs` to `toMs`, both included. */
  async gpsTimes(hardwareId: string, fromMs: number, toMs: number): Promise<number[]> {
    const from = new Date(fromMs).toISOString()
    const to = new Date(toMs).toISOString()
    const response = await this.#get(`/devices/${hardwareId}/gps?from=${from}&to=${to}`)
    const records = timesSchema.parse(await response.json())
    return records.map((record) => Date.parse(record.timestamp))
  }

  /** The registered devices. */
  hardwareIds(): Promise<string[]> {
    return this.#pages('/devices?', async (response) =>
      devicesSchema.parse(await response.json()).devices.map((device) => device.hardware_id),
    )
  }

  /** Codes of all lock events of a device that have one, newest first. */
  lockEventCodes(hardwareId: string): Promise<string[]> {
    return this.#pages(`/lock-events?source=rfid&hardware_id=${hardwareId}&`, async (response) =>
      lockEventsSchema.parse(await response.json()).events.map((event) => event.code),
    )
  }

  /** The user whose key this is: the first admin. */
  async firstUserId(): Promise<string> {
    const response = await this.#get('/users')
    const [first] = usersSchema.parse(await response.json())
    if (first === undefined) throw new Error('the gateway has no users')
    return first.user_id
  }

  /** Number of GPS records of the whole fleet. */
  async gpsCount(): Promise<number> {
    const response = await this.#get('/stats')
    return statsSchema.parse(await response.json()).telemetry.gps
  }

  /** What a device has reported, and what was dropped of it, by name; nothing of one that never spoke. */
  async traces(hardwareId: string): Promise<string[]> {
    const response = await this.#get(`/devices/${hardwareId}/details`)
    const { attributes, dropped } = detailsSchema.parse(await response.json())
    return [...Object.keys(attributes), ...Object.keys(dropped)]
  }

  /** Resolves when the gateway says that it is well. */
  async assertHealthy(): Promise<void> {
    await this.#get('/health')
  }

  /** The metrics without labels, by name. */
  async metrics(): Promise<Map<string, number>> {
    const response = await this.#get('/metrics')
    return parseMetrics(await response.text())
  }

  async #register(hardwareId: string): Promise<BenchDevice> {
    const response = await this.#post('/devices', { hardware_id: hardwareId, device_type: 'teebox' })
    const { mqtt } = registrationSchema.parse(await response.json())
    return { hardwareId, password: mqtt.password }
  }

  async #pages<Item>(path: string, read: (response: Response) => Promise<Item[]>): Promise<Item[]> {
    const all: Item[] = []
    for (;;) {
      const page = await read(await this.#get(`${path}limit=${PAGE}&offset=${all.length}`))
      all.push(...page)
      if (page.length < PAGE) return all
    }
  }

  #post(path: string, body: object): Promise<Response> {
    return this.#request(path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    })
  }

  #get(path: string): Promise<Response> {
    return this.#request(path, {})
  }

  async #request(path: string, init: RequestInit): Promise<Response> {
    const headers = new Headers(init.headers)
    headers.set('X-API-Key', this.#key)
    const response = await fetch(this.#url + path, { ...init, headers })
    if (response.ok) return response
    const text = (await response.text()).slice(0, 300)
    throw new Error(`${init.method ?? 'GET'} ${path}: ${response.status} ${text}`)
  }
}

/** Reads the Prometheus text format; metrics with labels are left out. */
export function parseMetrics(text: string): Map<string, number> {
  const metrics = new Map<string, number>()
  for (const line of text.split('\n')) {
    const match = /^([A-Za-z_:][\w:]*) (\S+)$/.exec(line)
    if (match?.[1] !== undefined) metrics.set(match[1], Number(match[2]))
  }
  return metrics
}

/** Calls `work` for each item, at most `atOnce` at a time; results are in the order of the items. */
export async function mapInParallel<Item, Result>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  const queue = items.entries()
  const runLane = async () => {
    for (const [i, item] of queue) results[i] = await work(item)
  }
  await Promise.all(Array.from({ length: atOnce }, runLane))
  return results
}
