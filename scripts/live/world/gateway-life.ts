import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Gateway } from '#gateway/restorable-gateway.ts'
import type { Overrides } from '#gateway/services.ts'
import { Disk, type Kept } from './disk.ts'
import { Program } from './program.ts'
import { running, type VirtualTime } from './virtual-time.ts'

export const HTTP_PORT = 8080
export const MQTT_PORT = 1883
const ADMIN_KEY = 'flt_admin_key_of_the_bottle_0123456789'

/** Ending of files that SQLite maps: the disk does not see when they change. */
const MAPPED = '-shm'

export interface Answer {
  status: number
  // checks read responses of every shape
  // biome-ignore lint/suspicious/noExplicitAny: see above
  body: any
}

export interface GatewayOptions {
  readonly time: VirtualTime
  readonly dataDir: string
  readonly settings: Record<string, string>
  readonly overrides: Overrides
  readonly onLog: (line: string) => void
}

/** A gateway on one data folder, through all its lives. */
export class GatewayLife {
  readonly disk: Disk
  readonly #options: GatewayOptions
  #program: Program | null = null
  #gateway: Gateway | null = null
  /** Content of mapped files when a power cut was armed. */
  readonly #maps = new Map<string, Buffer>()
  /** Called with the program of the next start, before it begins. */
  onStart: ((program: Program) => void) | null = null
  starts = 0
  startedAtMs = 0
  /** Difference of the clock of its computer to the true time, in ms. */
  wallOffsetMs = 0

  constructor(options: GatewayOptions) {
    this.#options = options
    this.disk = new Disk(options.dataDir)
  }

  get isRunning(): boolean {
    return this.#gateway !== null
  }

  get program(): Program | null {
    return this.#program
  }

  get gateway(): Gateway | null {
    return this.#gateway
  }

  async start(): Promise<void> {
    const { time, dataDir, settings, overrides, onLog } = this.#options
    const { createGateway } = await time.holding('gateway', import('#gateway/gateway.ts'))
    const { readConfig } = await time.holding('gateway', import('#gateway/config.ts'))
    const { createLog } = await time.holding('log', import('#shared/log.ts'))
    this.starts += 1
    const program = new Program(`gateway ${this.starts}`, this)
    this.#program = program
    const { onStart } = this
    this.onStart = null
    onStart?.(program)
    await running.run(program, async () => {
      const config = readConfig({
        CARTBARN_DATA_DIR: dataDir,
        CARTBARN_HOST: '127.0.0.1',
        CARTBARN_HTTP_PORT: String(HTTP_PORT),
        CARTBARN_MQTT_PORT: String(MQTT_PORT),
        CARTBARN_ADMIN_API_KEY: ADMIN_KEY,
        CARTBARN_MDNS: 'off',
        CARTBARN_REQUESTS_PER_SECOND: '0',
        ...settings,
      })
      const log = createLog('info', { write: onLog })
      const gateway = createGateway(config, log, {
        isTimeSynchronized: () => true,
        hardwareTimesMs: () => [],
        machineRoot: join(dataDir, 'no-machine'),
        dashboardDir: join(dataDir, 'no-app'),
        ...overrides,
      })
      await gateway.start()
      this.#gateway = gateway
      this.startedAtMs = time.nowMs
    })
  }

  async stop(): Promise<void> {
    const [gateway, program] = [this.#gateway, this.#program]
    if (gateway === null || program === null) return
    this.#gateway = null
    await running.run(program, () => gateway.stop())
    program.die()
    this.#options.time.sweep()
    this.disk.disarm()
  }

  /** Ends it as the kernel ends a process: what it has written stays, in the same files. */
  kill(): void {
    const program = this.#program
    if (program === null) return
    this.disk.beside(() => {
      const files = filesIn(this.#options.dataDir).map((path) => [path, readFileSync(path)] as const)
      program.die()
      // closing the handles of the dead has written into them
      for (const [path, bytes] of files) writeFileSync(path, bytes, { mode: 0o600 })
    })
    this.disk.settle()
    this.#options.time.sweep()
    this.#gateway = null
    this.#program = null
  }

  /** Lets nothing reach the disk after so many changes; `cutPower` must follow before the next immediate. */
  armPowerCut(changes: number): void {
    this.disk.arm(changes)
    this.#maps.clear()
    for (const path of filesIn(this.#options.dataDir))
      if (path.endsWith(MAPPED)) this.#maps.set(path, readFileSync(path))
  }

  /** Ends it as a power cut does, which leaves of what no sync has made safe only a part. */
  cutPower(kept: Kept, seed: number): void {
    const { dataDir } = this.#options
    this.disk.cut(kept, seed)
    this.kill()
    for (const path of filesIn(dataDir)) {
      if (!path.endsWith(MAPPED)) continue
      // the system may have written it a while ago, or never
      const bytes = seed % 2 === 0 ? this.#maps.get(path) : undefined
      rmSync(path)
      if (bytes !== undefined) writeFileSync(path, bytes, { mode: 0o600 })
    }
  }

  /** Sends a request, without a socket. */
  async request(method: string, path: string, body?: unknown, key: string = ADMIN_KEY): Promise<Answer> {
    const [gateway, program] = [this.#gateway, this.#program]
    if (gateway === null || program === null) throw new Error('the gateway is not running')
    return running.run(program, async () => {
      const headers = {
        'x-api-key': key,
        ...(method === 'PUT' ? { 'if-match': '*' } : {}),
        ...(body === undefined ? {} : { 'content-type': Buffer.isBuffer(body) ? 'image/png' : 'application/json' }),
      }
      const sent = Buffer.isBuffer(body) ? body : JSON.stringify(body)
      const init = { method, headers, ...(body === undefined ? {} : { body: sent }) }
      const response = await gateway.app.request(path, init)
      const type = response.headers.get('content-type') ?? ''
      const text = Buffer.from(await response.arrayBuffer()).toString(type.startsWith('image/') ? 'latin1' : 'utf8')
      const isJson = /[/+]json\b/.test(type)
      return { status: response.status, body: isJson && text !== '' ? JSON.parse(text) : text }
    })
  }
}

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
}
