import { cpSync, rmSync } from 'node:fs'
import { startGateway, untilListening } from '#scripts/rig/gateway-process.ts'
import { printProgress } from '#scripts/rig/report.ts'
import { passForOriginal } from '#testing/damage/pass-for-original.ts'
import type { Life, Moment } from './death.ts'
import type { Unsynced } from './disk/file.ts'
import { countDamage } from './disk/integrity.ts'
import type { Syncs } from './disk/model.ts'
import { createDataFolder, type PowerCut, RecordedFolder } from './disk/recorded-folder.ts'
import { FleetLoad, type FleetValues, fleetSize } from './fleet-load.ts'
import { MortalGateway } from './mortal-gateway.ts'
import type { TortureContext } from './scenario.ts'

export interface CutOutcome {
  life: Life
  cut: PowerCut
  damage: number
  /** Check of the data acknowledged since the last cut; null if the gateway no longer starts. */
  check: FleetValues | null
}

/** Gateway under load whose folder goes through one power cut after the other. */
export class TorturedGateway {
  readonly #context: TortureContext
  readonly #folder: RecordedFolder
  readonly #fleet: FleetLoad
  readonly #gateway: MortalGateway

  private constructor(context: TortureContext, folder: RecordedFolder, fleet: FleetLoad, gateway: MortalGateway) {
    this.#context = context
    this.#folder = folder
    this.#fleet = fleet
    this.#gateway = gateway
  }

  /** Registers the fleet; the first life is recorded too, so it includes the creation of the database. */
  static async start(context: TortureContext, library: string): Promise<TorturedGateway> {
    const { bench, entry, isShort } = context
    const folder = new RecordedFolder(bench, library, createDataFolder(bench, 'power'))
    const first = await startGateway(bench, { entry, dataDir: folder.path, ...folder.begin() })
    const fleet = await FleetLoad.start(bench, first, fleetSize(isShort))
    await first.process.stop('SIGKILL')
    folder.cut('none')
    const gateway = new MortalGateway(context, first.ports, () => fleet.connected())
    return new TorturedGateway(context, folder, fleet, gateway)
  }

  async cutPower(unsynced: Unsynced, syncs: Syncs, moment?: Moment): Promise<CutOutcome> {
    const death = await this.#gateway.cutPower(this.#folder, unsynced, syncs, moment)
    const damage = countDamage(this.#context.bench, this.#folder.path)
    return { ...death, damage, check: await this.#check() }
  }

  /** Checks everything that was ever acknowledged, after the last cut. */
  async finish(): Promise<FleetValues> {
    const last = await untilListening(this.#gateway.spawn({ dataDir: this.#folder.path }))
    await this.#fleet.connected()
    const { fleet } = await this.#fleet.finish(last)
    await last.process.stop()
    return fleet
  }

  /** Queries a gateway on a copy that no device reaches: the next life must begin with the state after the cut. */
  async #check(): Promise<FleetValues | null> {
    const { bench, entry } = this.#context
    const dataDir = createDataFolder(bench, 'copy')
    cpSync(this.#folder.path, dataDir, { recursive: true })
    passForOriginal(dataDir)
    const gateway = await startGateway(bench, { entry, dataDir }).catch(noteFailedStart)
    if (gateway === null) return null
    const check = await this.#fleet.checkNew(gateway)
    await gateway.process.stop()
    rmSync(dataDir, { recursive: true })
    return check
  }

  /** Ends the load without a check. */
  abandon(): void {
    this.#fleet.abandon()
  }
}

function noteFailedStart(error: unknown): null {
  printProgress(`  the gateway does not start: ${error instanceof Error ? error.message : String(error)}`)
  return null
}
