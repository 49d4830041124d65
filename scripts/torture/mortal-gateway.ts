import { setTimeout as sleep } from 'node:timers/promises'
import { type GatewayOptions, type GatewayProcess, spawnGateway, untilListening } from '#scripts/rig/gateway-process.ts'
import type { BenchProcess } from '#scripts/rig/processes.ts'
import { median } from '#scripts/rig/report.ts'
import type { Unsynced } from './disk/file.ts'
import type { Syncs } from './disk/model.ts'
import type { PowerCut, RecordedFolder } from './disk/recorded-folder.ts'
import type { TortureContext } from './scenario.ts'

/** Moment of a gateway's life at which it is killed; `at a change` is in the middle of writing to its files. */
export type Moment = 'under load' | 'just started' | 'starting' | 'stopping' | 'at a change'

const CHANCES: readonly [Moment, number][] = [
  ['under load', 0.55],
  ['just started', 0.15],
  ['starting', 0.15],
  ['stopping', 0.15],
]
/** Share of the power cuts in the middle of writing, and the highest number of the change at which they happen. */
const AT_A_CHANGE = 0.7
const LAST_CHANGE = 4000
const DURING_START = 0.4

const FIRST_GUESS_MS = 500
const LIFE_MIN_MS = 200
const LIFE_SPREAD_MS = 1500
const CHANGE_LIMIT_MS = 20_000
/** Devices reconnect 100 to 300 ms after their connection ended. */
const JUST_STARTED_MS = 400
const STOP_MS = 150

/** Data folder and special options of a life. */
type LifeOptions = Pick<GatewayOptions, 'dataDir' | 'preload' | 'env'>

/** Gateway that dies repeatedly and returns on the same ports, while its clients continue. */
export class MortalGateway {
  /** Moment at which each life ended. */
  readonly moments: Moment[] = []
  /** Durations of the starts that were not killed. */
  readonly startsMs: number[] = []
  readonly #context: TortureContext
  readonly #ports: GatewayProcess['ports']
  readonly #whenListening: () => Promise<void>
  readonly #env: Record<string, string>

  /** `whenListening` runs in each life that gets that far; it resolves when there is load. */
  constructor(
    context: TortureContext,
    ports: GatewayProcess['ports'],
    whenListening: () => Promise<void>,
    env: Record<string, string> = {},
  ) {
    this.#context = context
    this.#ports = ports
    this.#whenListening = whenListening
    this.#env = env
  }

  /** Begins a life that the caller ends. */
  spawn({ env, ...options }: LifeOptions): BenchProcess {
    const { bench, entry } = this.#context
    return spawnGateway(bench, { entry, ports: this.#ports, ...options, env: { ...this.#env, ...env } })
  }

  /** Lives once and is killed at a moment: a random one by default. */
  async kill(dataDir: string, moment = chooseMoment()): Promise<void> {
    await this.#live(moment, { dataDir })
  }

  /** Lives once and is ended by a power cut. */
  async cutPower(
    folder: RecordedFolder,
    unsynced: Unsynced,
    syncs: Syncs,
    moment: Moment = Math.random() < AT_A_CHANGE ? 'at a change' : chooseMoment(),
  ): Promise<{ moment: Moment; cut: PowerCut }> {
    const recording = folder.begin(moment === 'at a change' ? chooseChange() : 0)
    await this.#live(moment, { dataDir: folder.path, ...recording })
    return { moment, cut: folder.cut(unsynced, syncs) }
  }

  /** Lives until the moment and is killed with SIGKILL; at a change it kills itself. */
  async #live(moment: Moment, options: LifeOptions): Promise<void> {
    const gateway = this.spawn(options)
    const startedAtMs = performance.now()
    const listening = untilListening(gateway)
    if (moment === 'starting' || moment === 'at a change') {
      // killed before it listens, as intended
      listening.catch(() => undefined)
      const usualMs = median(this.startsMs) || FIRST_GUESS_MS
      const limitMs = moment === 'starting' ? Math.random() * usualMs : CHANGE_LIMIT_MS
      await Promise.race([gateway.exited, sleep(limitMs, undefined, { ref: false })])
    } else {
      await listening
      this.startsMs.push(performance.now() - startedAtMs)
      if (moment === 'just started') await sleep(Math.random() * JUST_STARTED_MS)
      else {
        await this.#whenListening()
        await sleep(LIFE_MIN_MS + Math.random() * LIFE_SPREAD_MS)
      }
    }
    if (moment === 'stopping') {
      gateway.signal('SIGTERM')
      await sleep(Math.random() * STOP_MS)
    }
    await gateway.stop('SIGKILL')
    this.moments.push(moment)
  }
}

function chooseMoment(): Moment {
  let left = Math.random()
  for (const [moment, chance] of CHANCES) {
    left -= chance
    if (left < 0) return moment
  }
  return 'under load'
}

/** Chooses the number of the change to cut at: often among the few of a start, otherwise among all. */
function chooseChange(): number {
  return Math.ceil(Math.random() < DURING_START ? LAST_CHANGE ** Math.random() : LAST_CHANGE * Math.random())
}
