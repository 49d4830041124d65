import { rmSync } from 'node:fs'
import { ForkedScript } from '#scripts/rig/calls.ts'
import type { GatewayProcess } from '#scripts/rig/gateway-process.ts'
import { checkHistory } from '#scripts/rig/load/history-check.ts'
import { startDeviceLoad } from '#scripts/rig/load/process.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import type { FilledFolder } from '../history/fill.ts'
import type { AttackPlan } from './attack-plan.ts'
import { type Neighbour, ROW_OF_GOOD_KEYS } from './attacks.ts'
import { type Course, createCourse } from './course.ts'
import type { RegularsFunctions } from './regulars.ts'
import type { Ground, Noticed, Run } from './run.ts'

const PER_DEVICE_PER_S = 1
const WARMUP_S = 1
/** The defaults of an installation; the rig starts gateways without limits. */
const LIMITED = {
  CARTBARN_REQUESTS_PER_SECOND: '50',
  CARTBARN_MQTT_MESSAGES_PER_SECOND: '500',
  CARTBARN_MQTT_CONNECTIONS_PER_ADDRESS: '2500',
  CARTBARN_MQTT_FAILED_LOGINS_PER_SECOND: '5',
}

/** The course of all rows of a command; in a short look they share the gateway as well. */
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

  /** They are there for all rows. */
  get regulars(): ForkedScript<RegularsFunctions> {
    const script = new URL('./regulars.ts', import.meta.url)
    this.#regulars ??= new ForkedScript(this.#context.bench, 'regulars', script)
    return this.#regulars
  }

  /** A gateway that has just been started on a copy of the course; in a short look only if `isFresh`. */
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

/** A gateway with 200 devices, an admin and a shop beside one kind of neighbour. */
export class CourseGround implements Ground {
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

  async work(durationS: number, onMeasuring: () => Promise<void>): Promise<Noticed> {
    const { bench, isShort } = this.#context
    const gateway = this.#running
    const course = await this.#shared.course()
    const { regulars } = this.#shared
    const options = { warmupS: isShort ? 0 : WARMUP_S, durationS, keepsJournal: true }
    const devices = startDeviceLoad(bench, gateway, course.fleet, PER_DEVICE_PER_S, options)
    await devices.measuring()
    await onMeasuring()
    const plan = { ports: gateway.ports, admin: course.admin, cart: course.unlocked }
    const [{ load, journal }, work, keysRefused] = await Promise.all([
      devices.finish(),
      regulars.call('work', plan, durationS),
      this.#usesGoodKeys ? regulars.call('useKeys', gateway.ports.http, course.goodKeys) : null,
    ])
    const { missing } = await checkHistory(gateway.api, journal)
    return {
      p99Ms: { PUBACK: load.measured.sinceWrite.p99Ms, 'GET /health': work.health.p99Ms },
      longestMs: { unlock: work.unlock.maxMs },
      lost: {
        'acknowledged samples lost': missing,
        'messages of a kept session lost': work.ordersLost,
        ...(keysRefused === null ? {} : { 'good keys refused': keysRefused }),
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
