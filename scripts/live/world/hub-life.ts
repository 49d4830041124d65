import { mkdirSync } from 'node:fs'
import type { Hub } from '#hub/hub.ts'
import type { Answer } from './gateway-life.ts'
import { HubDatabase, type HubKind, startServer } from './hub-database.ts'
import { Program } from './program.ts'
import { running, type VirtualTime } from './virtual-time.ts'

export const HUB_PORT = 8090
const ADMIN_KEY = 'hub_admin_key_of_the_bottle_0123456789'

interface HubOptions {
  readonly time: VirtualTime
  readonly kind: HubKind
  readonly dataDir: string
  readonly onLog: (line: string) => void
}

/** A hub on one database, through all its lives. */
export class HubLife {
  /** Its database: for checks. */
  server: Awaited<ReturnType<typeof startServer>> | undefined
  program: Program | null = null
  readonly #options: HubOptions
  #hub: Hub | null = null
  #database: HubDatabase | undefined
  #fault: HubDatabase['fault'] = null
  #starts = 0

  constructor(options: HubOptions) {
    this.#options = options
    mkdirSync(options.dataDir, { recursive: true })
  }

  get isRunning(): boolean {
    return this.#hub !== null
  }

  /** Fault of its database, which outlives it. */
  get fault(): HubDatabase['fault'] {
    return this.#fault
  }

  set fault(fault: HubDatabase['fault']) {
    this.#fault = fault
    if (this.#database !== undefined) this.#database.fault = fault
  }

  async start(): Promise<void> {
    const { time, kind, dataDir, onLog } = this.#options
    const { createHub } = await time.holding('hub', import('#hub/hub.ts'))
    const { readHubConfig } = await time.holding('hub', import('#hub/config.ts'))
    const { createLog } = await time.holding('log', import('#shared/log.ts'))
    this.server ??= await time.holding('database of the hub', startServer(kind))
    const program = new Program(`hub ${++this.#starts}`)
    this.program = program
    const database = new HubDatabase(this.server, program)
    database.fault = this.#fault
    this.#database = database
    const config = readHubConfig({
      CARTBARN_HUB_PORT: String(HUB_PORT),
      CARTBARN_HUB_DATA_DIR: dataDir,
      CARTBARN_HUB_DATABASE_URL: 'postgres://bottle',
      CARTBARN_HUB_ADMIN_API_KEY: ADMIN_KEY,
    })
    await running.run(program, async () => {
      const hub = createHub(config, createLog('info', { write: onLog }), { database })
      await hub.start()
      this.#hub = hub
    })
  }

  kill(): void {
    this.program?.die()
    this.program = null
    this.#hub = null
  }

  /** Adds a site; returns its key. */
  async addSite(name: string): Promise<{ siteId: string; key: string }> {
    const [hub, program] = [this.#hub, this.program]
    if (hub === null || program === null) throw new Error('the hub is not running')
    return running.run(program, () => hub.sites.add(name))
  }

  /** Sends a request as its admin, without a socket; null if it is away or dies meanwhile. */
  async ask(method: string, path: string, body?: unknown): Promise<Answer | null> {
    const [hub, program] = [this.#hub, this.program]
    if (hub === null || program === null) return null
    const asked = running.run(program, async () => {
      const headers = { 'x-api-key': ADMIN_KEY, ...(body === undefined ? {} : { 'content-type': 'application/json' }) }
      const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }
      const response = await hub.app.request(path, init)
      const text = await response.text()
      return { status: response.status, body: /^[[{]/.test(text) && !path.includes('ndjson') ? JSON.parse(text) : text }
    })
    let answer: Answer | null = null
    let isOver = false
    asked.then(
      (one) => {
        answer = one
        isOver = true
      },
      () => {
        isOver = true
      },
    )
    const { time } = this.#options
    await time.runUntil(time.nowMs + 120_000, () => isOver || !program.isAlive)
    return answer
  }
}
