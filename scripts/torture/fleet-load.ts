import type { BenchDevice } from '#scripts/rig/gateway-api.ts'
import type { GatewayProcess } from '#scripts/rig/gateway-process.ts'
import { checkHistory, type HistoryCheck } from '#scripts/rig/load/history-check.ts'
import type { Journal, LoadResult } from '#scripts/rig/load/plan.ts'
import { type LoadProcess, startDeviceLoad } from '#scripts/rig/load/process.ts'
import type { Workbench } from '#scripts/rig/processes.ts'
import { waitUntil } from '#scripts/rig/wait-until.ts'
import { findWrongStates } from './device-states.ts'
import { LockDevices, type LockEventCheck } from './lock-devices.ts'

export interface FleetSize {
  devices: number
  perDevicePerS: number
  lockDevices: number
}

/** Fleet of the scenarios with kills and power cuts. */
export function fleetSize(isShort: boolean): FleetSize {
  return { devices: isShort ? 50 : 200, perDevicePerS: 10, lockDevices: isShort ? 5 : 20 }
}

/** Result of searching the store for the acknowledged records of the fleet. */
export interface FleetCheck {
  /** Registrations that were answered with 201 and are gone. */
  lostDevices: number
  history: HistoryCheck
  /** Carts whose state does not end where their history ends. */
  wrongStates: number
  lockEvents: LockEventCheck
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
  async checkNew(gateway: GatewayProcess): Promise<FleetCheck> {
    const journal = await this.#load.journal()
    const added: Journal = {}
    for (const [hardwareId, times] of Object.entries(journal)) {
      added[hardwareId] = times.slice(this.#checked.get(hardwareId) ?? 0)
      this.#checked.set(hardwareId, times.length)
    }
    return this.#check(gateway, added)
  }

  /** Stops sending, waits for the last acknowledgements and searches for everything that was ever acknowledged. */
  async finish(gateway: GatewayProcess): Promise<{ check: FleetCheck; load: LoadResult }> {
    this.#locks.stopReporting()
    this.#load.stop()
    const { load, journal } = await this.#load.finish()
    await waitUntil(() => this.#locks.unacknowledged === 0, DRAIN_LIMIT_MS)
    this.#locks.close()
    const check = await this.#check(gateway, journal)
    return { check, load }
  }

  /** Carts whose state is not that of their newest record; for a gateway that no cart sends to. */
  async countWrongStates({ api }: GatewayProcess): Promise<number> {
    return (await findWrongStates(api, this.#cartIds)).length
  }

  /** Stops the load immediately, without a check. */
  abandon(): void {
    this.#locks.close()
    this.#load.kill()
  }

  async #check({ api }: GatewayProcess, journal: Journal): Promise<FleetCheck> {
    const registered = new Set(await api.hardwareIds())
    const lost = this.#hardwareIds.filter((hardwareId) => !registered.has(hardwareId))
    const readable = Object.entries(journal).filter(([hardwareId]) => registered.has(hardwareId))
    const history = await checkHistory(api, Object.fromEntries(readable))
    // the history of a deleted device cannot be read
    for (const hardwareId of lost) {
      const count = journal[hardwareId]?.length ?? 0
      history.acknowledged += count
      history.missing += count
    }
    const present = this.#cartIds.filter((hardwareId) => registered.has(hardwareId))
    const { length: wrongStates } = await findWrongStates(api, present)
    return { lostDevices: lost.length, history, wrongStates, lockEvents: await this.#locks.check(api) }
  }
}

interface Fleet {
  carts: BenchDevice[]
  locks: BenchDevice[]
}
