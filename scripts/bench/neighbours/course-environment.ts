import { rmSync } from 'node:fs'
import { ForkedScript } from '#scripts/rig/calls.ts'
import { type GatewayProcess, LIMITED } from '#scripts/rig/gateway-process.ts'
import { checkHistory } from '#scripts/rig/load/history-check.ts'
import { type LoadProcess, startDeviceLoad } from '#scripts/rig/load/process.ts'
import type { AttackPlan } from '#scripts/rig/neighbours/attack-plan.ts'
import { type Neighbour, ROW_OF_GOOD_KEYS } from '#scripts/rig/neighbours/attacks.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import type { FilledFolder } from '../history/fill.ts'
import { type Course, createCourse } from './course.ts'
import type { RegularsFunctions } from './regulars.ts'
import type { Environment, Noticed, Others, Run } from './run.ts'

const PER_DEVICE_PER_S = 1
/** In the first half second after a start V8 compiles the used code, and every client waits 20 to 70 ms. */
const WARM_UP_S = 2
/** Course of all rows of a command; in the short form they share the gateway as well. */
export class SharedCourse {
  readonly #context: ScenarioContext
  #course: Course | undefined
  #shared: { folder: FilledFolder; gateway: GatewayProcess } | undefined
  #regulars: ForkedScript<RegularsFunctions> | undefined

  constructor(context: ScenarioContext) {
    this.#context = context
  }

  async course(): Promise<Course> {
    this.#course ??= await createCourse(this.#context)
    return this.#course
  }

  /** The regular clients, running during all rows. */
  get regulars(): ForkedScript<RegularsFunctions> {
    const script = new URL('./regulars.ts', import.meta.url)
    this.#regulars ??= new ForkedScript(this.#context.bench, 'regulars', script)
    return this.#regulars
  }

  /** Starts a gateway on a copy of the course; in the short form only if `isFresh`, else returns the shared one. */
  async start(isFresh: boolean): Promise<GatewayProcess> {
    const { folder } = await this.course()
    if (this.#shared !== undefined && !isFresh) return this.#shared.gateway
    await this.#stop()
    const copy = this.#context.isShort ? folder : folder.copy()
    this.#shared = { folder: copy, gateway: await copy.start(LIMITED) }
    return this.#shared.gateway
  }

  /** Stops the gateway, unless it is shared. */
  async end(): Promise<void> {
    if (!this.#context.isShort) await this.#stop()
  }

  async #stop(): Promise<void> {
    const stopped = this.#shared
    this.#shared = undefined
    await stopped?.gateway.process.stop()
    if (!this.#context.isShort && stopped !== undefined) rmSync(stopped.folder.path, { recursive: true })
  }
}

/** A gateway with 200 devices, an admin and a shop, and one kind of noisy client. */
export class CourseEnvironment implements Environment {
  readonly #context: ScenarioContext
  readonly #shared: SharedCourse
  readonly #neighbour: Neighbour
  #gateway: GatewayProcess | undefined

  constructor(context: ScenarioContext, shared: SharedCourse, neighbour: Neighbour) {
    this.#context = context
    this.#shared = shared
    this.#neighbour = neighbour
  }

  async begin(side: keyof Run): Promise<void> {
    this.#gateway = await this.#shared.start(this.#usesGoodKeys && side === 'beside')
  }

  async plan(): Promise<AttackPlan> {
    return this.#neighbour.plan(await this.#shared.course(), this.#running.ports, this.#context.isShort)
  }

  async gather(durationS: number): Promise<Others> {
    const { regulars } = this.#shared
    const gateway = this.#running
    const { fleet, admin, unlocked, goodKeys } = await this.#shared.course()
    await regulars.call('gather', { ports: gateway.ports, admin, cart: unlocked })
    const options = { warmupS: null, durationS, keepsJournal: true }
    const load = startDeviceLoad(this.#context.bench, gateway, fleet, PER_DEVICE_PER_S, options)
    await load.connected()
    let keysRefused = 0
    return {
      measure: async () => {
        // good keys are used immediately: a warm-up would hide what bad ones had cost them
        if (!this.#context.isShort && !this.#usesGoodKeys) await regulars.call('measure', WARM_UP_S)
        load.measure()
        const keys = this.#usesGoodKeys ? goodKeys : []
        const using = regulars.call('useKeys', gateway.ports.http, keys)
        await Promise.all([load.measured(), regulars.call('measure', durationS)])
        keysRefused = await using
      },
      finish: async () => this.#notice(gateway, load, keysRefused),
    }
  }

  async #notice({ api }: GatewayProcess, process: LoadProcess, keysRefused: number): Promise<Noticed> {
    const { load, journal } = await process.finish()
    const { health, unlock, ordersLost } = await this.#shared.regulars.call('finish')
    const { missing } = await checkHistory(api, journal)
    return {
      p99Ms: { PUBACK: load.measured.sinceWrite.p99Ms, 'GET /health': health.p99Ms },
      longestMs: { unlock: unlock.maxMs },
      lost: {
        'acknowledged samples lost': missing,
        'messages of a kept session lost': ordersLost,
        ...(this.#usesGoodKeys ? { 'good keys refused': keysRefused } : {}),
      },
    }
  }

  async end(): Promise<void> {
    await this.#shared.end()
  }

  get #usesGoodKeys(): boolean {
    return this.#neighbour.name === ROW_OF_GOOD_KEYS
  }

  get #running(): GatewayProcess {
    if (this.#gateway === undefined) throw new Error('no gateway was started')
    return this.#gateway
  }
}
