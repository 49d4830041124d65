import type { BenchProcess, Workbench } from '../bench/workbench.ts'

const ENTRY = 'cloud-sync/hub/main.ts'
const START_LIMIT_MS = 60_000
/** The key of the first admin of every hub under test. */
export const HUB_ADMIN_KEY = 'torture-hub-admin-0123456789abcdef'
const KEY = /cbs_[a-z0-9-]{1,32}_[\w-]{43}/

/** The program of a hub, which may be killed and started again at the same port. */
export class HubProcess {
  readonly #bench: Workbench
  readonly #env: Record<string, string>
  #process: BenchProcess | null = null
  #port = 0

  constructor(bench: Workbench, env: Record<string, string>) {
    this.#bench = bench
    this.#env = { CARTBARN_HUB_ADMIN_API_KEY: HUB_ADMIN_KEY, CARTBARN_HUB_HOST: '127.0.0.1', ...env }
  }

  get port(): number {
    return this.#port
  }

  /** Makes a site while the hub is not running; returns its key. */
  async addSite(siteId: string): Promise<string> {
    const adding = this.#spawn('site', 'add', siteId)
    const key = await adding.take('a site key', START_LIMIT_MS, (line) => KEY.exec(line)?.[0])
    await adding.exited
    return key
  }

  /** Resolves when it listens. */
  async start(): Promise<void> {
    const started = this.#spawn()
    this.#process = started
    this.#port = await started.take('"listening"', START_LIMIT_MS, readPort)
  }

  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    await this.#process?.stop(signal)
  }

  #spawn(...args: string[]): BenchProcess {
    const env = { ...this.#env, CARTBARN_HUB_PORT: String(this.#port) }
    return this.#bench.spawn('hub', process.execPath, [ENTRY, ...args], env)
  }
}

function readPort(line: string): number | undefined {
  const port = /"msg":"listening"/.test(line) ? /http:\/\/[^:"]+:(\d+)/.exec(line)?.[1] : undefined
  return port === undefined ? undefined : Number(port)
}
