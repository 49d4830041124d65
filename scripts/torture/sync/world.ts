import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '#hub/store/database/database.ts'
import { type GatewayProcess, spawnGateway, startGateway, untilListening } from '#scripts/rig/gateway-process.ts'
import type { BenchProcess } from '#scripts/rig/processes.ts'
import { createRandom, type Random } from '#shared/random.ts'
import { createDataFolder } from '../disk/recorded-folder.ts'
import type { TortureContext } from '../scenario.ts'
import { chooseFaults, NO_FAULTS } from './faults.ts'
import type { SyncFindings } from './findings.ts'
import { type HubDatabase, TorturedHub } from './hub.ts'
import { type JudgedGateway, judgeSync } from './judge.ts'
import { checkLatest } from './latest-check.ts'
import { isBetweenPieces } from './pieces.ts'
import { SyncProxy } from './proxy.ts'
import { findUnnoticed } from './sabotage.ts'
import { audit } from './status.ts'
import { SyncTraffic } from './traffic.ts'
import { untilDrained } from './waiting.ts'

const SITE = 'course'
const HUB_PROCESSES = 2
const FAULT_RATES = [0, 0.2, 0.4, 0.8] as const
const UNREACHABLE_CHANCE = 0.08
/** Probability of an outage so long that the gateway seals telemetry that the hub does not have. */
const LONG_CHANCE = 0.25
const LONG_MS = 6000
const ACT_CHANCE = 0.8
const REPEAT_CHANCE = 0.3
const COMPACT_CHANCE = 0.1
/** Probability of a kill during a request; the next constants limit the wait for one and the time into it. */
const OVER_REQUEST_CHANCE = 0.6
const REQUEST_LIMIT_MS = 800
const OVER_REQUEST_MS = 30
/** Probability of killing a process that may still be starting. */
const EARLY_CHANCE = 0.2
const MIN_MS = 150
const MAX_MS = 1000
/** Samples in the log before they are sealed: as few as there can be. */
const SEAL_SAMPLES = '256'
/** Short, because a cycle is short. */
const HOLD_MS = '300'
const RETRY_S = '2'

/** Programs that a cycle kills. */
const VICTIMS = [
  'gateway',
  'gateway',
  'hub',
  'hub',
  'database',
  'nothing',
  'nothing',
  'nothing',
  'nothing',
  'nothing',
] as const
export type Victim = (typeof VICTIMS)[number]

interface Mortal {
  kill(): Promise<void>
  /** Resolves when it is ready. */
  start(): Promise<unknown>
}

/** A gateway, its hub and the network between them, all of them about to fail. */
export class SyncWorld {
  readonly hub: TorturedHub
  readonly proxy: SyncProxy
  readonly traffic: SyncTraffic
  readonly dataDir: string
  readonly kills = new Map<string, number>()
  /** Deaths while the hub had some chunks of a photo or drawing and not all. */
  killsBetweenPieces = 0
  /** Times until everything was sent, each since all faults were over. */
  readonly drainedMs: number[] = []
  readonly #context: TortureContext
  readonly #seed: number
  readonly #ports: GatewayProcess['ports']
  readonly #env: Record<string, string>
  #gateway: BenchProcess
  #isUp = true
  readonly #mortals: Readonly<Record<Exclude<Victim, 'nothing'>, readonly Mortal[]>>
  /** Starts by process; each promise settles when the process is ready, or was killed before. */
  readonly #starting = new Map<Mortal, Promise<unknown>>()

  private constructor(
    context: TortureContext,
    seed: number,
    parts: { hub: TorturedHub; proxy: SyncProxy; traffic: SyncTraffic; dataDir: string },
    first: GatewayProcess,
    env: Record<string, string>,
  ) {
    this.#context = context
    this.#seed = seed
    this.hub = parts.hub
    this.proxy = parts.proxy
    this.traffic = parts.traffic
    this.dataDir = parts.dataDir
    this.#ports = first.ports
    this.#gateway = first.process
    this.#env = env
    const { hub } = parts
    this.#mortals = {
      gateway: [{ kill: () => this.#killGateway(), start: () => this.#startGateway() }],
      hub: hub.processes.map((process) => ({
        kill: () => process.end('SIGKILL'),
        start: () => process.start(),
      })),
      database: [{ kill: () => hub.killDatabase(), start: () => hub.restartDatabase() }],
    }
  }

  static async start(context: TortureContext, database: HubDatabase, seed: number): Promise<SyncWorld> {
    const { bench, entry } = context
    const random = createRandom(seed, 'world', database)
    const processes = database === 'PostgreSQL' ? HUB_PROCESSES : 1
    const hub = await TorturedHub.create(bench, { database, processes })
    const key = await hub.addSite(SITE)
    await hub.start()
    const proxy = new SyncProxy(() => hub.port, random.next)
    await proxy.start()
    const dataDir = createDataFolder(bench, 'sync')
    const env = upstreamEnv(proxy.port, SITE, key)
    const first = await startGateway(bench, { entry, dataDir, env })
    const traffic = await SyncTraffic.start(first, createRandom(seed, 'traffic', database))
    return new SyncWorld(context, seed, { hub, proxy, traffic, dataDir }, first, env)
  }

  /** Runs one cycle: some faults, requests to the API, and at some moment a kill. */
  async cycle(number: number): Promise<Victim> {
    const random = createRandom(this.#seed, 'cycle', number)
    const { proxy } = this
    proxy.plan = chooseFaults(random.pick(FAULT_RATES), this.#seed, 'faults', number)
    const isUnreachable = random.chance(UNREACHABLE_CHANCE)
    if (isUnreachable) await proxy.stop()
    const isLong = isUnreachable && random.chance(LONG_CHANCE)
    const acting = random.chance(ACT_CHANCE) ? this.#act() : null
    if (random.chance(REPEAT_CHANCE)) void proxy.repeatOld()
    const compacting = random.chance(COMPACT_CHANCE) ? this.hub.compact(SITE) : null
    await sleep(isLong ? LONG_MS : random.between(MIN_MS, MAX_MS))
    const victim = random.pick(VICTIMS)
    if (victim !== 'nothing') {
      if (random.chance(OVER_REQUEST_CHANCE)) {
        await proxy.nextRequest(REQUEST_LIMIT_MS)
        await sleep(random.between(0, OVER_REQUEST_MS))
      }
      await this.#kill(victim, random)
    }
    await Promise.all([acting, compacting])
    if (isUnreachable) await proxy.start()
    this.kills.set(victim, (this.kills.get(victim) ?? 0) + 1)
    return victim
  }

  /** Ends all faults, lets all be sent and compares both sides, the last time with a photo; traffic then continues. */
  async judge({ withAudit, isLast }: { withAudit: boolean; isLast: boolean }): Promise<SyncFindings> {
    if (isLast) {
      await this.#recovered()
      await this.traffic.requirePhoto()
    }
    const findings = await this.quietly((database, gateway) => judgeSync(database, gateway))
    if (!withAudit) return findings
    await this.traffic.pause()
    const { client } = this.traffic
    await untilDrained(this.dataDir, client)
    await audit(client, findings)
    // states are sent every few seconds, and the audit took longer
    await this.hub.read((sql) => checkLatest({ sql, siteId: SITE }, client, findings))
    this.traffic.resume()
    return findings
  }

  /** Number of epochs, each of which is a database that was replicated: more than one is a needless fork. */
  countEpochs(): Promise<number> {
    return this.hub.countEpochs(SITE)
  }

  /** Damages that the checks do not notice. */
  async findUnnoticed(): Promise<string[]> {
    return this.quietly(findUnnoticed)
  }

  /** Runs `work` while nothing is in transit. */
  async quietly<Result>(work: (sql: Database, gateway: JudgedGateway) => Promise<Result>): Promise<Result> {
    const { traffic, hub, dataDir } = this
    const startedAtMs = performance.now()
    await this.#recovered()
    await traffic.ready()
    await traffic.pause()
    await untilDrained(dataDir, traffic.client)
    this.drainedMs.push(performance.now() - startedAtMs)
    const result = await hub.read((database) => work(database, { siteId: SITE, dataDir, traffic }))
    traffic.resume()
    return result
  }

  async stop(): Promise<void> {
    this.traffic.close()
    await Promise.all(this.#starting.values())
    await this.#gateway.stop('SIGKILL')
    await this.proxy.stop()
    await this.hub.stop()
  }

  /** Ends all faults; resolves when everything that was killed is running again. */
  async #recovered(): Promise<void> {
    this.proxy.plan = NO_FAULTS
    await this.proxy.start()
    await Promise.all(this.#starting.values())
  }

  async #act(): Promise<void> {
    await Promise.all(this.#mortals.gateway.map((gateway) => this.#starting.get(gateway)))
    await this.traffic.act()
  }

  async #kill(victim: Exclude<Victim, 'nothing'>, random: Random): Promise<void> {
    const all = this.#mortals[victim]
    const mortal = all[random.integer(0, all.length - 1)]
    if (mortal === undefined) return
    // mostly a running one, sometimes one that is starting
    if (victim === 'database' || !random.chance(EARLY_CHANCE)) await this.#starting.get(mortal)
    if (this.#isUp && isBetweenPieces(this.dataDir)) this.killsBetweenPieces++
    await mortal.kill()
    // a process that is killed during its start never gets ready
    const starting = mortal.start().catch(() => undefined)
    this.#starting.set(mortal, starting)
  }

  async #killGateway(): Promise<void> {
    this.#isUp = false
    await this.#gateway.stop('SIGKILL')
  }

  async #startGateway(): Promise<void> {
    const { bench, entry } = this.#context
    this.#gateway = spawnGateway(bench, {
      entry,
      dataDir: this.dataDir,
      ports: this.#ports,
      env: this.#env,
    })
    await untilListening(this.#gateway)
    this.#isUp = true
  }
}

/** Settings of a gateway that is replicated as a site. */
export function upstreamEnv(port: number, site: string, key: string): Record<string, string> {
  return {
    CARTBARN_UPSTREAM_URL: `http://127.0.0.1:${port}`,
    CARTBARN_UPSTREAM_KEY: key,
    CARTBARN_SITE_ID: site,
    CARTBARN_SEAL_SAMPLES: SEAL_SAMPLES,
    CARTBARN_UPSTREAM_HOLD_MS: HOLD_MS,
    CARTBARN_UPSTREAM_RETRY_S: RETRY_S,
  }
}
