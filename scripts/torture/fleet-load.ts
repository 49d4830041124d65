import { none } from '#scripts/rig/figures.ts'
import type { BenchDevice } from '#scripts/rig/gateway-api.ts'
import type { GatewayProcess } from '#scripts/rig/gateway-process.ts'
import { checkHistory } from '#scripts/rig/load/history-check.ts'
import type { Journal } from '#scripts/rig/load/plan.ts'
import { type LoadProcess, startDeviceLoad } from '#scripts/rig/load/process.ts'
import type { Workbench } from '#scripts/rig/processes.ts'
import { waitUntil } from '#scripts/rig/wait-until.ts'
import { findWrongStates } from './device-states.ts'
import { LockDevices } from './lock-devices.ts'
import { printFaults } from './scenario.ts'

/** Figures of what was acknowledged to a fleet. */
export const FLEET_FIGURES = {
  samples: { what: 'acknowledged samples' },
  samplesMissing: none('acknowledged samples that are missing'),
  samplesTwice: none('samples stored twice'),
  wrongStates: none('carts whose state differs from their newest record'),
  lockEvents: { what: 'acknowledged lock events' },
  lockEventsMissing: none('acknowledged lock events that are missing'),
  lockEventsTwice: none('lock events stored twice'),
  devicesMissing: none('registered devices that are missing'),
}

/** Values of these figures at a gateway. */
export type FleetValues = Record<keyof typeof FLEET_FIGURES, number>

export interface FleetSize {
  devices: number
  perDevicePerS: number
  lockDevices: number
}

/** Fleet of the scenarios with kills and power cuts. */
export function fleetSize(isShort: boolean): FleetSize {
  return { devices: isShort ? 50 : 200, perDevicePerS: 10, lockDevices: isShort ? 5 : 20 }
}

const LOCK_EVENTS_PER_DEVICE_PER_S = 2
const DRAIN_LIMIT_MS = 20_000

/** Devices that send telemetry and lock events across all lives, and record the acknowledgements. */
export class FleetLoad {
  readonly #load: LoadProcess
  readonly #locks: LockDevices
  readonly #hardwareIds: string[]
  readonly #cartIds: string[]
  /** Number of samples of each device that `checkNew` has searched for. */
  readonly #checked = new Map<string, number>()

  private constructor(bench: Workbench, gateway: GatewayProcess, fleet: Fleet, perDevicePerS: number) {
    this.#hardwareIds = [...fleet.carts, ...fleet.locks].map(({ hardwareId }) => hardwareId)
    this.#cartIds = fleet.carts.map(({ hardwareId }) => hardwareId)
    this.#load = startDeviceLoad(bench, gateway, fleet.carts, perDevicePerS, { keepsJournal: true })
    this.#locks = new LockDevices(fleet.locks, gateway.ports.mqtt, LOCK_EVENTS_PER_DEVICE_PER_S)
  }

  /** Registers the devices and starts to send; resolves when all are connected. */
  static async start(bench: Workbench, gateway: GatewayProcess, size: FleetSize): Promise<FleetLoad> {
    const carts = await gateway.api.registerDevices(size.devices)
    const locks = await gateway.api.registerDevices(size.lockDevices, 'lock')
    const load = new FleetLoad(bench, gateway, { carts, locks }, size.perDevicePerS)
    load.#locks.start()
    await load.connected()
    return load
  }

  /** Resolves when all devices have their session again. */
  connected(): Promise<void> {
    return this.#load.connected()
  }

  /** Searches a gateway that may have lost them for the records acknowledged since the last call. */
  async checkNew(gateway: GatewayProcess): Promise<FleetValues> {
    const journal = await this.#load.journal()
    const added: Journal = {}
    for (const [hardwareId, times] of Object.entries(journal)) {
      added[hardwareId] = times.slice(this.#checked.get(hardwareId) ?? 0)
      this.#checked.set(hardwareId, times.length)
    }
    return this.#check(gateway, added)
  }

  /** Stops sending, waits for the last acknowledgements and searches for everything that was ever acknowledged. */
  async finish(gateway: GatewayProcess): Promise<{ fleet: FleetValues; unacknowledged: number }> {
    this.#locks.stopReporting()
    this.#load.stop()
    const { load, journal } = await this.#load.finish()
    await waitUntil(() => this.#locks.unacknowledged === 0, DRAIN_LIMIT_MS)
    this.#locks.close()
    const fleet = await this.#check(gateway, journal)
    return { fleet, unacknowledged: load.sent - load.acknowledged }
  }

  /** Counts carts whose state is not that of their newest record; for a gateway that no cart sends to. */
  async countWrongStates({ api }: GatewayProcess, cartIds: readonly string[] = this.#cartIds): Promise<number> {
    const wrong = await findWrongStates(api, cartIds)
    printFaults(wrong.map((hardwareId) => `wrong state of ${hardwareId}`))
    return wrong.length
  }

  /** Stops the load immediately, without a check. */
  abandon(): void {
    this.#locks.close()
    this.#load.kill()
  }

  async #check(gateway: GatewayProcess, journal: Journal): Promise<FleetValues> {
    const registered = new Set(await gateway.api.hardwareIds())
    const lost = this.#hardwareIds.filter((hardwareId) => !registered.has(hardwareId))
    const readable = Object.entries(journal).filter(([hardwareId]) => registered.has(hardwareId))
    const history = await checkHistory(gateway.api, Object.fromEntries(readable))
    printFaults([...lost, ...history.examples].map((what) => `missing: ${what}`))
    // the history of a deleted device cannot be read
    const unreadable = lost.reduce((sum, hardwareId) => sum + (journal[hardwareId]?.length ?? 0), 0)
    const present = this.#cartIds.filter((hardwareId) => registered.has(hardwareId))
    const wrongStates = await this.countWrongStates(gateway, present)
    const lockEvents = await this.#locks.check(gateway.api)
    return {
      samples: history.acknowledged + unreadable,
      samplesMissing: history.missing + unreadable,
      samplesTwice: history.duplicates,
      wrongStates,
      lockEvents: lockEvents.acknowledged,
      lockEventsMissing: lockEvents.missing,
      lockEventsTwice: lockEvents.twice,
      devicesMissing: lost.length,
    }
  }
}

interface Fleet {
  carts: BenchDevice[]
  locks: BenchDevice[]
}
