import { SiteClient } from '#hub/testing/site-client.ts'
import { startPostgres } from '#hub/testing/start-postgres.ts'
import { ForkedScript } from '#scripts/rig/calls.ts'
import { HubProcess } from '#scripts/rig/hub-process.ts'
import type { AttackPlan } from '#scripts/rig/neighbours/attack-plan.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import type { HubNeighbour } from './hub-attacks.ts'
import type { HubRegularsFunctions } from './hub-regulars.ts'
import type { Environment, Others } from './run.ts'

const SITES = ['regular', 'neighbour'] as const
type SiteId = (typeof SITES)[number]

/** A hub with two sites over its own PostgreSQL, for all rows of a command. */
export class SharedHub {
  readonly #context: ScenarioContext
  #hub: HubProcess | undefined
  #isRunning = false
  #regulars: ForkedScript<HubRegularsFunctions> | undefined
  readonly #keys = new Map<SiteId, string>()

  constructor(context: ScenarioContext) {
    this.#context = context
  }

  /** The regular clients, running during all rows. */
  get regulars(): ForkedScript<HubRegularsFunctions> {
    const script = new URL('./hub-regulars.ts', import.meta.url)
    this.#regulars ??= new ForkedScript(this.#context.bench, 'regular site', script)
    return this.#regulars
  }

  /** Starts the hub; in the short form returns the one that runs. */
  async start(): Promise<HubProcess> {
    this.#hub ??= await this.#create()
    if (!this.#isRunning) await this.#hub.start()
    this.#isRunning = true
    return this.#hub
  }

  /** Kills the hub, unless it is shared: it may still be working on what it received. */
  async end(): Promise<void> {
    if (this.#context.isShort) return
    this.#isRunning = false
    await this.#hub?.end('SIGKILL')
  }

  keyOf(siteId: SiteId): string {
    return this.#keys.get(siteId) ?? ''
  }

  async #create(): Promise<HubProcess> {
    // it ends with this process
    const postgres = await startPostgres({ survivesKill: true })
    const hub = new HubProcess(this.#context.bench, { CARTBARN_HUB_DATABASE_URL: postgres.url })
    for (const siteId of SITES) this.#keys.set(siteId, await hub.addSite(siteId))
    return hub
  }
}

/** A site that replicates, and one kind of noisy client. */
export class HubEnvironment implements Environment {
  readonly #context: ScenarioContext
  readonly #shared: SharedHub
  readonly #neighbour: HubNeighbour
  #port = 0

  constructor(context: ScenarioContext, shared: SharedHub, neighbour: HubNeighbour) {
    this.#context = context
    this.#shared = shared
    this.#neighbour = neighbour
  }

  async begin(): Promise<void> {
    this.#port = (await this.#shared.start()).port
  }

  async plan(): Promise<AttackPlan> {
    const send = (path: string, init: RequestInit) => fetch(this.#url + path, init)
    const site = new SiteClient(send, 'neighbour', this.#shared.keyOf('neighbour'))
    await site.hello()
    return this.#neighbour.plan(site, this.#port, this.#context.isShort)
  }

  async gather(durationS: number): Promise<Others> {
    const { regulars } = this.#shared
    await regulars.call('gather', this.#url, 'regular', this.#shared.keyOf('regular'))
    return {
      measure: () => regulars.call('measure', durationS),
      finish: async () => {
        const { push, health, rowsLost } = await regulars.call('finish')
        return {
          p99Ms: { 'push of another site': push.p99Ms, 'GET /health': health.p99Ms },
          longestMs: {},
          lost: { 'acknowledged rows lost': rowsLost },
        }
      },
    }
  }

  async end(): Promise<void> {
    await this.#shared.end()
  }

  get #url(): string {
    return `http://127.0.0.1:${this.#port}`
  }
}
