import { type GatewayOptions, type GatewayProcess, spawnGateway } from '#scripts/rig/gateway-process.ts'
import type { BenchProcess } from '#scripts/rig/processes.ts'
import { chooseMoment, killAt, type Life, type Moment, usualStartMs } from './death.ts'
import type { Unsynced } from './disk/file.ts'
import type { Syncs } from './disk/model.ts'
import { chooseChange, chooseCutMoment } from './disk/power-cuts.ts'
import type { PowerCut, RecordedFolder } from './disk/recorded-folder.ts'
import type { TortureContext } from './scenario.ts'

/** Data folder and special options of a life. */
type LifeOptions = Pick<GatewayOptions, 'dataDir' | 'preload' | 'env'>

/** Gateway that dies repeatedly and returns on the same ports, while its clients continue. */
export class MortalGateway {
  readonly lives: Life[] = []
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
    syncs: Syncs = 'honoured',
    moment = chooseCutMoment(),
  ): Promise<{ life: Life; cut: PowerCut }> {
    const recording = folder.begin(moment === 'at a change' ? chooseChange() : 0)
    const life = await this.#live(moment, { dataDir: folder.path, ...recording })
    return { life, cut: folder.cut(unsynced, syncs) }
  }

  async #live(moment: Moment, options: LifeOptions): Promise<Life> {
    const life = await killAt(moment, this.spawn(options), usualStartMs(this.lives), this.#whenListening)
    this.lives.push(life)
    return life
  }
}
