import { setTimeout as sleep } from 'node:timers/promises'
import { ENTRY } from '#scripts/cli/start-command.ts'
import type { BenchProcess, Workbench } from './processes.ts'

const START_LIMIT_MS = 60_000
const ATTEMPTS = 20
const AGAIN_MS = 250
/** Key of the first admin of every hub under test. */
export const HUB_ADMIN_KEY = 'torture-hub-admin-0123456789abcdef'
const KEY = /cbs_[a-z0-9-]{1,32}_[\w-]{43}/

/** Hub process, which may be killed and restarted on the same port. */
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

  /** Creates a site while the hub is not running; returns its key. */
  async addSite(siteId: string): Promise<string> {
    const adding = this.#spawn('site', 'add', siteId)
    const key = await adding.take('a site key', START_LIMIT_MS, (line) => KEY.exec(line)?.[0])
    await adding.exited
    return key
  }

  /** Resolves when the hub listens; restarts it when it exits, as without its database; rejects if it is killed. */
  async start(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const started = this.#spawn()
      this.#process = started
      try {
        this.#port = await started.take('"listening"', START_LIMIT_MS, readPort)
        return
      } catch (error) {
        if (this.#process !== started || attempt >= ATTEMPTS) throw error
        await sleep(AGAIN_MS)
        if (this.#process !== started) throw error
      }
    }
  }

  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const ended = this.#process
    this.#process = null
    await ended?.stop(signal)
  }

  #spawn(...args: string[]): BenchProcess {
    const env = { ...this.#env, CARTBARN_HUB_PORT: String(this.#port) }
    return this.#bench.spawn('hub', process.execPath, [ENTRY, 'hub', ...args], env)
  }
}

function readPort(line: string): number | undefined {
  const port = /"msg":"listening"/.test(line) ? /http:\/\/[^:"]+:(\d+)/.exec(line)?.[1] : undefined
  return port === undefined ? undefined : Number(port)
}
