import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { connectAsync, type MqttClient } from 'mqtt'
import { ENTRY } from '#scripts/cli/start-command.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { RealtimeClient } from '#testing/realtime-client.ts'

const ADMIN_KEY = 'flt_admin_key_for_faults_0123456789'

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

/** A gateway in a process of its own, on a disk that may fail, and clients of it. */
export class FaultyGateway {
  readonly log: LogLine[] = []
  readonly exited: Promise<number | null>
  readonly #child: ChildProcess
  readonly #devices: FaultyDevice[] = []
  readonly #channels: RealtimeClient[] = []
  #hasEnded = false
  #wake: () => void = () => undefined
  #http = ''
  #mqtt = ''

  private constructor(dataDir: string, env: Record<string, string>) {
    this.#child = spawn(process.execPath, [ENTRY, 'run'], {
      env: {
        ...process.env,
        CARTBARN_DATA_DIR: dataDir,
        CARTBARN_HOST: '127.0.0.1',
        CARTBARN_HTTP_PORT: '0',
        CARTBARN_MQTT_PORT: '0',
        CARTBARN_ADMIN_API_KEY: ADMIN_KEY,
        CARTBARN_REQUESTS_PER_SECOND: '0',
        CARTBARN_READER_THREADS: '1',
        ...env,
      },
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    this.exited = once(this.#child, 'close').then(() => {
      this.#hasEnded = true
      this.#wake()
      return this.#child.exitCode
    })
    // stdout is a pipe: see `stdio`
    const lines = createInterface({ input: this.#child.stdout as NodeJS.ReadableStream })
    lines.on('line', (line) => {
      this.log.push(JSON.parse(line))
      this.#wake()
    })
  }

  /** Starts a gateway that may fail to: look at `exited` and `log`. */
  static spawn(dataDir: string, env: Record<string, string> = {}): FaultyGateway {
    return new FaultyGateway(dataDir, env)
  }

  /** Starts a gateway; resolves when it listens. */
  static async start(dataDir: string, env: Record<string, string> = {}): Promise<FaultyGateway> {
    const gateway = new FaultyGateway(dataDir, env)
    const listening = await gateway.logged('listening')
    gateway.#http = String(listening.http)
    gateway.#mqtt = String(listening.mqtt)
    return gateway
  }

  /** The first log line with this message, once it is there; rejects when the process ends without it. */
  async logged(msg: string): Promise<LogLine> {
    for (;;) {
      const line = this.log.find((one) => one.msg === msg)
      if (line !== undefined) return line
      if (this.#hasEnded) throw new Error(`ended without "${msg}": ${JSON.stringify(this.log)}`)
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  async request(
    method: string,
    path: string,
    body?: unknown,
    key: string | null = ADMIN_KEY,
  ): Promise<Answer> {
    const response = await fetch(this.#http + path, {
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
    const { body } = await this.register(hardwareId)
    const device = new FaultyDevice(
      hardwareId,
      await connectAsync(this.#mqtt, {
        clientId: hardwareId,
        username: hardwareId,
        password: body.mqtt.password,
        reconnectPeriod: 0,
      }),
    )
    this.#devices.push(device)
    return device
  }

  async realtime(): Promise<RealtimeClient> {
    const channel = await RealtimeClient.open(
      `${this.#http.replace('http', 'ws')}/realtime?api_key=${ADMIN_KEY}`,
    )
    this.#channels.push(channel)
    return channel
  }

  async isHealthy(): Promise<boolean> {
    return (await this.request('GET', '/health', undefined, null)).status === 200
  }

  /** The value of a metric, all labels together. */
  async metric(name: string): Promise<number> {
    const { body } = await this.request('GET', '/metrics')
    const lines: string[] = body.split('\n').filter((line: string) => line.startsWith(name))
    return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
  }

  /** Ends the process; returns its exit code, null after SIGKILL. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    this.#child.kill(signal)
    const code = await this.exited
    for (const device of this.#devices) device.end()
    for (const channel of this.#channels) channel.terminate()
    return code
  }
}

/** A device that keeps which of its samples were acknowledged, by their times. */
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

  allAcknowledged(timeoutMs?: number): Promise<void> {
    return eventually(() => this.waiting === 0, `acknowledgements of ${this.hardwareId}`, timeoutMs)
  }

  end(): void {
    this.#client.end(true)
  }
}
