import { setTimeout as sleep } from 'node:timers/promises'
import { type GatewayProcess, startGateway } from '#scripts/rig/gateway-process.ts'
import type { ApiClient } from '#shared/client.ts'
import { createRandom } from '#shared/random.ts'
import { createDataFolder } from '../disk/recorded-folder.ts'
import type { TortureContext } from '../scenario.ts'
import type { TorturedHub } from './hub.ts'
import type { JudgedGateway } from './judge.ts'
import { SyncTraffic } from './traffic.ts'
import { untilDrained } from './waiting.ts'
import { upstreamEnv } from './world.ts'

interface Parts {
  context: TortureContext
  hub: TorturedHub
  site: string
  key: string
  dataDir: string
}

/** Gateway of a site, with devices that send; it can be stopped and started with other data. */
export class StoryGateway {
  readonly site: string
  readonly dataDir: string
  readonly traffic: SyncTraffic
  readonly #parts: Parts
  #running: GatewayProcess

  private constructor(parts: Parts, running: GatewayProcess, traffic: SyncTraffic) {
    this.#parts = parts
    this.site = parts.site
    this.dataDir = parts.dataDir
    this.#running = running
    this.traffic = traffic
  }

  static async start(
    context: TortureContext,
    hub: TorturedHub,
    site: string,
    key: string,
    devices?: number,
  ): Promise<StoryGateway> {
    const parts = { context, hub, site, key, dataDir: createDataFolder(context.bench, 'story') }
    const running = await launch(parts)
    const traffic = await SyncTraffic.start(running, createRandom('story', site), devices)
    await traffic.pause()
    return new StoryGateway(parts, running, traffic)
  }

  get client(): ApiClient {
    return this.traffic.client
  }

  get judged(): JudgedGateway {
    return { siteId: this.site, dataDir: this.dataDir, traffic: this.traffic }
  }

  /** Lets the devices send until they are paused. */
  async work(): Promise<void> {
    await this.traffic.ready()
    this.traffic.resume()
  }

  /** Lets the devices send for a while. */
  async live(ms: number): Promise<void> {
    await this.work()
    await sleep(ms)
    await this.traffic.pause()
  }

  /** Lets the devices send for a while, then waits until everything is replicated. */
  async replicate(ms: number): Promise<void> {
    await this.live(ms)
    await this.quiet()
  }

  /** Waits until everything is sent. */
  async quiet(): Promise<void> {
    await untilDrained(this.dataDir, this.client)
  }

  async stop(): Promise<void> {
    await this.#running.process.stop()
  }

  /** Starts on the same ports; with the data of another folder, if given. */
  async startAgain({ dataDir = this.dataDir }: { dataDir?: string } = {}): Promise<void> {
    this.#running = await launch({ ...this.#parts, dataDir }, this.#running.ports)
  }

  /** Starts the same gateway a second time, on a copy of its data, with the same devices. */
  async copy(dataDir: string): Promise<StoryGateway> {
    const parts = { ...this.#parts, dataDir }
    const running = await launch(parts)
    return new StoryGateway(parts, running, this.traffic.copy(running.ports))
  }

  /** Positions of the site's streams at the hub, as a text to compare. */
  async describeHub(): Promise<string> {
    const rows = await this.#parts.hub.read((sql) =>
      sql.all(`SELECT epoch, stream, seq, hash FROM sync_cursor WHERE site_id = $1 ORDER BY epoch, stream`, [
        this.site,
      ]),
    )
    return JSON.stringify(rows)
  }

  async close(): Promise<void> {
    this.traffic.close()
    await this.stop()
  }
}

function launch({ context, hub, site, key, dataDir }: Parts, ports?: GatewayProcess['ports']): Promise<GatewayProcess> {
  const { bench, entry } = context
  const env = upstreamEnv(hub.port, site, key)
  return startGateway(bench, { entry, dataDir, env, ports })
}
