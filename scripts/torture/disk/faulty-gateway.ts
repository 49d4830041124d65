import { connectAsync, type MqttClient } from 'mqtt'
import { ENTRY } from '#scripts/cli/start-command.ts'
import { loginOf } from '#scripts/rig/gateway-api.ts'
import { ADMIN_KEY, type GatewayProcess, spawnGateway, untilListening } from '#scripts/rig/gateway-process.ts'
import { type BenchProcess, Workbench } from '#scripts/rig/processes.ts'
import { mustReach } from '#scripts/rig/wait-until.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { RealtimeClient } from '#testing/realtime-client.ts'

const SETTINGS = { CARTBARN_REQUESTS_PER_SECOND: '0', CARTBARN_READER_THREADS: '1' }
const LINE_LIMIT_MS = 60_000

interface LogLine {
  msg: string
  [field: string]: unknown
}

interface Answer {
  status: number
  headers: Headers
  // tests look into answers of every shape
  // biome-ignore lint/suspicious/noExplicitAny: see above
  body: any
}

/** Gateway in its own process, on a disk that may fail, with its clients. */
export class FaultyGateway {
  readonly log: LogLine[] = []
  readonly #process: BenchProcess
  readonly #devices: FaultyDevice[] = []
  readonly #channels: RealtimeClient[] = []
  #listening: GatewayProcess | undefined

  private constructor(dataDir: string, env: Record<string, string>) {
    const options = { entry: ENTRY, dataDir, env: { ...SETTINGS, ...env } }
    this.#process = spawnGateway(new Workbench(), options)
    this.#process.watchLines((line) => this.log.push(JSON.parse(line)))
  }

  /** Starts a gateway that may fail to start: see `exited` and `log`. */
  static spawn(dataDir: string, env: Record<string, string> = {}): FaultyGateway {
    return new FaultyGateway(dataDir, env)
  }

  /** Starts a gateway; resolves when it listens. */
  static async start(dataDir: string, env: Record<string, string> = {}): Promise<FaultyGateway> {
    const gateway = new FaultyGateway(dataDir, env)
    gateway.#listening = await untilListening(gateway.#process)
    return gateway
  }

  get exited(): Promise<number | null> {
    return this.#process.exited.then(() => this.#process.exitCode)
  }

  /** Waits for the first log line with this message; rejects if the process ends without it. */
  async logged(msg: string): Promise<LogLine> {
    const find = () => this.log.find((line) => line.msg === msg)
    const isOver = () => find() !== undefined || this.#process.hasExited
    await mustReach(isOver, LINE_LIMIT_MS, `no "${msg}"`)
    const line = find()
    if (line === undefined) throw new Error(`ended without "${msg}": ${JSON.stringify(this.log)}`)
    return line
  }

  async request(method: string, path: string, body?: unknown, key: string | null = ADMIN_KEY): Promise<Answer> {
    const response = await fetch(`http://127.0.0.1:${this.#started.ports.http}${path}`, {
      method,
      headers: {
        ...(key === null ? {} : { 'x-api-key': key }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.includes('json') ?? false
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text }
  }

  register(hardwareId: string): Promise<Answer> {
    return this.request('POST', '/devices', { hardware_id: hardwareId, device_type: 'teebox' })
  }

  /** Registers a device and connects it. */
  async device(hardwareId: string): Promise<FaultyDevice> {
    const { password } = (await this.register(hardwareId)).body.mqtt
    const login = { ...loginOf({ hardwareId, password }), reconnectPeriod: 0 }
    const client = await connectAsync(`mqtt://127.0.0.1:${this.#started.ports.mqtt}`, login)
    const device = new FaultyDevice(hardwareId, client)
    this.#devices.push(device)
    return device
  }

  async realtime(): Promise<RealtimeClient> {
    const channel = await RealtimeClient.open(this.#started.realtimeUrl)
    this.#channels.push(channel)
    return channel
  }

  async isHealthy(): Promise<boolean> {
    return (await this.request('GET', '/health', undefined, null)).status === 200
  }

  /** Value of a metric, summed over all labels. */
  async metric(name: string): Promise<number> {
    return (await this.#started.api.metrics()).get(name) ?? 0
  }

  /** Ends the process; returns its exit code, null after SIGKILL. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    await this.#process.stop(signal)
    for (const device of this.#devices) device.end()
    for (const channel of this.#channels) channel.terminate()
    return this.#process.exitCode
  }

  get #started(): GatewayProcess {
    if (this.#listening === undefined) throw new Error('the gateway has not started')
    return this.#listening
  }
}

/** Device that records the times of its acknowledged samples. */
export class FaultyDevice {
  readonly hardwareId: string
  readonly acknowledged: number[] = []
  readonly #client: MqttClient
  #published = 0

  constructor(hardwareId: string, client: MqttClient) {
    this.hardwareId = hardwareId
    this.#client = client
    client.on('error', () => undefined)
  }

  get isConnected(): boolean {
    return this.#client.connected
  }

  get waiting(): number {
    return this.#published - this.acknowledged.length
  }

  /** Publishes samples, one a message, QoS 1. */
  publish(count: number): void {
    for (let i = 0; i < count; i++) {
      const ts = Date.UTC(2026, 4, 1) + this.#published++ * 1000
      const payload = JSON.stringify({ lat: 47.1, long: 8.5, speed: i % 20, battery_voltage: 51, ts })
      this.#client.publish(`dev/${this.hardwareId}/tlm`, payload, { qos: 1 }, (error) => {
        if (error === undefined || error === null) this.acknowledged.push(ts)
      })
    }
  }

  /** Publishes a lock event, QoS 1; resolves when it is acknowledged. */
  async publishLock(eventId: number): Promise<void> {
    const payload = JSON.stringify({ event: 'lock', source: 'key', eid: eventId })
    await this.#client.publishAsync(`dev/${this.hardwareId}/evt`, payload, { qos: 1 })
  }

  /** Publishes an unreadable message, which the gateway keeps unchanged; resolves when it is acknowledged. */
  async publishUnreadable(bytes: number): Promise<void> {
    await this.#client.publishAsync(`dev/${this.hardwareId}/evt`, '?'.repeat(bytes), { qos: 1 })
  }

  allAcknowledged(timeoutMs?: number): Promise<void> {
    return eventually(() => this.waiting === 0, `acknowledgements of ${this.hardwareId}`, timeoutMs)
  }

  end(): void {
    this.#client.end(true)
  }
}
