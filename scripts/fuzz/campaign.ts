import type { GatewayApi } from '#scripts/rig/gateway-api.ts'
import { waitUntil } from '#scripts/rig/wait-until.ts'
import { runCase, type Target } from './case-runner.ts'
import type { FuzzCase, Login } from './fuzz-case.ts'
import { generateCase } from './generate.ts'
import { Regulars } from './regulars.ts'

/** Gateway under attack, in this process or another. */
export interface Subject extends Target {
  api: GatewayApi
  mqttUrl: string
  realtimeUrl: string
  /** Fault of the process or in its log output; null without one. */
  fault(): string | null
}

export interface CampaignOptions {
  seed: number
  /** Number of the first case. */
  from: number
  cases: number
  /** Time after which no case is begun. */
  seconds: number
  only?: string | undefined
  /** Number of concurrent cases. */
  lanes: number
  /** Number of devices registered for the cases; if it exceeds the lanes, a case seldom waits for its device. */
  devices: number
  onBatch?: (done: number) => void
}

/** Case that failed, or batch with a failure after it. */
export interface Failure {
  problem: string
  cases: FuzzCase[]
}

export interface CampaignReport {
  done: number
  byKind: Map<string, number>
  worstPubackMs: number
  regularMessages: number
  seconds: number
  failures: Failure[]
}

const BATCH = 1_000
const FAILURES_MAX = 10
const SETTLE_MS = 20_000
/** Devices that no case uses: the publisher and the bystander. */
const OTHERS = 2

/** Sends cases to a gateway and checks after each batch that it and its other clients are well. */
export class Campaign {
  readonly #subject: Subject
  readonly #options: CampaignOptions
  readonly #report: CampaignReport = {
    done: 0,
    byKind: new Map(),
    worstPubackMs: 0,
    regularMessages: 0,
    seconds: 0,
    failures: [],
  }
  /** Last case of each device. */
  readonly #underWay = new Map<string, Promise<unknown>>()
  #next: number

  constructor(subject: Subject, options: CampaignOptions) {
    this.#subject = subject
    this.#options = options
    this.#next = options.from
  }

  async run(): Promise<CampaignReport> {
    const { api, mqttUrl, realtimeUrl } = this.#subject
    const report = this.#report
    // no client logs in as the bystander, and none may publish for it
    const [regular, bystander, ...devices] = await api.registerDevices(this.#options.devices + OTHERS)
    if (regular === undefined || bystander === undefined) throw new Error('no devices')
    const regulars = await Regulars.start(regular, mqttUrl, realtimeUrl)
    const startedAtMs = performance.now()
    const endsAtMs = startedAtMs + this.#options.seconds * 1000
    const end = this.#options.from + this.#options.cases
    while (this.#next < end && performance.now() < endsAtMs && report.failures.length < FAILURES_MAX) {
      const first = this.#next
      await this.#runBatch(Math.min(end, first + BATCH), devices)
      await this.#examine(first, devices, regulars, bystander.hardwareId)
      this.#options.onBatch?.(report.done)
    }
    report.seconds = (performance.now() - startedAtMs) / 1000
    const { sent, worstPubackMs, problems } = await regulars.stop(api)
    for (const problem of problems) report.failures.push({ problem: `regulars: ${problem}`, cases: [] })
    return { ...report, worstPubackMs, regularMessages: sent }
  }

  async #runBatch(end: number, devices: readonly Login[]): Promise<void> {
    const { seed, only, lanes } = this.#options
    const { byKind, failures } = this.#report
    const runLane = async () => {
      while (this.#next < end && failures.length < FAILURES_MAX && this.#subject.fault() === null) {
        const fuzzCase = generateCase(seed, this.#next++, devices, only)
        const problem = await this.#runWhenFree(fuzzCase)
        if (problem !== null) failures.push({ problem, cases: [fuzzCase] })
        byKind.set(fuzzCase.kind, (byKind.get(fuzzCase.kind) ?? 0) + 1)
        this.#report.done++
      }
    }
    await Promise.all(Array.from({ length: lanes }, runLane))
  }

  /** Runs one case at a time per device: a second login would end the first. */
  async #runWhenFree(fuzzCase: FuzzCase): Promise<string | null> {
    const { hardwareId } = fuzzCase.device
    const before = this.#underWay.get(hardwareId) ?? Promise.resolve()
    const running = before.then(() => runCase(fuzzCase, this.#subject))
    this.#underWay.set(hardwareId, running)
    return running
  }

  /** Finds faults that no single case shows; they are attributed to the whole batch. */
  async #examine(first: number, devices: readonly Login[], regulars: Regulars, bystander: string): Promise<void> {
    const problem = await this.#problemNow(regulars, bystander).catch((error: unknown) => String(error))
    if (problem === null) return
    const { seed, only } = this.#options
    const cases = Array.from({ length: this.#next - first }, (_, i) => generateCase(seed, first + i, devices, only))
    this.#report.failures.push({ problem, cases })
    // one fault is enough: it will not disappear
    this.#next = Number.POSITIVE_INFINITY
  }

  async #problemNow(regulars: Regulars, bystander: string): Promise<string | null> {
    const { api } = this.#subject
    const fault = this.#subject.fault()
    if (fault !== null) return fault
    await api.call('GET /health')
    const [complaint] = regulars.problems
    if (complaint !== undefined) return `regulars: ${complaint}`
    const { attributes, dropped } = await api.call('GET /devices/{id}/details', { path: { id: bystander } })
    const traces = [...Object.keys(attributes), ...Object.keys(dropped)]
    if (traces.length > 0) return `a client published for ${bystander}: ${traces}`
    let metrics = await api.metrics()
    const isQuiet = async () => {
      metrics = await api.metrics()
      return metrics.get('cartbarn_mqtt_clients') === 1 && metrics.get('cartbarn_write_queue_rows') === 0
    }
    const hasSettled = await waitUntil(isQuiet, SETTLE_MS, 20)
    if (metrics.get('cartbarn_devices') !== this.#options.devices + OTHERS) return 'the number of devices has changed'
    return hasSettled ? null : `${metrics.get('cartbarn_mqtt_clients')} MQTT clients are connected instead of 1`
  }
}
