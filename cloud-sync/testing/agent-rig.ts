import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { SyncAgent } from '#agent/agent.ts'
import { createLog } from '#shared/log.ts'
import { createRandom } from '#shared/random.ts'
import type { IntentInboxPort, LatestStatesPort } from '#shared/sync-source.ts'
import { FakeClock, type SetClock } from '#shared/testing/clocks.ts'
import type { Intent, IntentResult } from '#shared/wire/replication/sync.ts'
import { MemorySource } from './memory-source.ts'
import { TestHub } from './test-hub.ts'

export const SITE_KEY = 'cbs_links_abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG'

/** Intents as they were received. */
class MemoryInbox implements IntentInboxPort {
  readonly received: Intent[] = []

  lastSeq(): number {
    return this.received.at(-1)?.seq ?? 0
  }

  async receive(intent: Intent): Promise<IntentResult> {
    this.received.push(intent)
    return { intent_id: intent.intent_id, status: 'applied', reason: null }
  }
}

/** States of carts that only have a name. */
class MemoryStates implements LatestStatesPort {
  readonly devices = new Map<string, Record<string, unknown>>()
  #changed = new Set<string>()

  set(hardwareId: string, fields: Record<string, unknown> = {}): void {
    this.devices.set(hardwareId, { hardware_id: hardwareId, ...fields })
    this.#changed.add(hardwareId)
  }

  takeChanged(): ReadonlySet<string> {
    const changed = this.#changed
    this.#changed = new Set()
    return changed
  }

  deviceJson(hardwareId: string): Record<string, unknown> | undefined {
    return this.devices.get(hardwareId)
  }

  hardwareIds(): readonly string[] {
    return [...this.devices.keys()]
  }
}

export interface RigOptions {
  readonly site?: string
  readonly seed?: number
  readonly clock?: FakeClock | SetClock
  readonly timeoutMs?: number
}

/** Agent with its own hub; the clock only advances on request. */
export class AgentRig {
  readonly hub = new TestHub()
  readonly inbox = new MemoryInbox()
  readonly states = new MemoryStates()
  readonly clock: FakeClock | SetClock
  readonly random: () => number
  readonly dataDir = mkdtempSync(join(tmpdir(), 'cartbarn-agent-'))
  readonly #options: RigOptions
  /** Data of the gateway; a test may replace it before a restart. */
  source: MemorySource
  isBusy = false
  #agent: SyncAgent | undefined

  constructor(options: RigOptions = {}) {
    this.#options = options
    this.clock = options.clock ?? new FakeClock()
    this.hub.nowMs = () => this.clock.nowMs()
    this.random = createRandom(options.seed ?? 1).next
    this.source = new MemorySource(this.clock)
  }

  get agent(): SyncAgent {
    if (this.#agent === undefined) throw new Error('not started')
    return this.#agent
  }

  async start(): Promise<this> {
    await this.hub.start()
    await this.restart()
    return this
  }

  /** Starts a new process on the same data; the old one is no longer used. */
  async restart(): Promise<void> {
    await this.#agent?.stop()
    const { site = 'links', timeoutMs } = this.#options
    const { source, inbox, states, dataDir, clock, random } = this
    const timeoutsMs =
      timeoutMs === undefined ? {} : { timeoutsMs: { short: timeoutMs, push: timeoutMs, audit: timeoutMs } }
    this.#agent = new SyncAgent({
      source,
      inbox,
      site,
      dataDir,
      clock,
      random,
      latest: states,
      upstream: { url: this.hub.url, key: SITE_KEY, isInsecureAllowed: false, ...timeoutsMs },
      program: 'cartbarn 0.0.0',
      log: createLog('silent'),
      isBusy: () => this.isBusy,
    })
  }

  async stop(): Promise<void> {
    await this.#agent?.stop()
    await this.hub.stop()
    rmSync(this.dataDir, { recursive: true, force: true })
  }

  /**
   * Runs one step of each lane, concurrently as in production, then advances the clock by the shortest requested delay,
   * at most `mostMs`.
   */
  async round(mostMs = 1_000): Promise<void> {
    const { link, events, latest, telemetry, history, monitor } = this.agent.loops
    await link.runOnce()
    const lanes = [events, latest, telemetry, history, monitor]
    const pauses = await Promise.all(lanes.map((loop) => loop.runOnce()))
    this.clock.advance(Math.max(1, Math.min(mostMs, ...pauses)))
  }

  /** Runs rounds until `isSo` is true; throws after too many. */
  async until(isSo: () => boolean, what: string, rounds = 2_000, mostMs?: number): Promise<void> {
    for (let n = 0; n < rounds; n++) {
      if (isSo()) return
      await this.round(mostMs)
    }
    throw new Error(`not within ${rounds} rounds: ${what}: ${JSON.stringify(this.agent.status)}`)
  }

  /** Runs rounds until the hub has acknowledged everything. */
  drain(rounds?: number, mostMs?: number): Promise<void> {
    return this.until(() => this.isDrained, 'drained', rounds, mostMs)
  }

  /** Runs one step of each of these loops; returns the pause that the last one requests. */
  async step(...names: (keyof SyncAgent['loops'])[]): Promise<number> {
    let pauseMs = 0
    for (const name of names) pauseMs = await this.agent.loops[name].runOnce()
    return pauseMs
  }

  /** Requests an audit of everything and runs it. */
  async audit(): Promise<void> {
    await this.agent.audit()
    await this.step('audit')
  }

  /** True if the hub has acknowledged everything. */
  get isDrained(): boolean {
    const ends = this.source.ends()
    const cursors = this.source.cursors()
    return Object.entries(ends).every(([stream, end]) => cursors[stream as keyof typeof cursors].seq === end)
  }
}

/** Starts an agent and its hub, which end with the test. */
export async function startRig(t: TestContext, options: RigOptions = {}): Promise<AgentRig> {
  const rig = new AgentRig(options)
  t.after(() => rig.stop())
  return rig.start()
}
