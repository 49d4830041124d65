import type { BenchDevice } from '#scripts/rig/gateway-api.ts'
import type { GatewayProcess } from '#scripts/rig/gateway-process.ts'
import { printProgress } from '#scripts/rig/report.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import type { GpsRecords } from '#shared/telemetry/records.ts'
import { FilledFolder } from './fill.ts'
import {
  type Period,
  periodOf,
  recordActive,
  recordFleet,
  recordSingle,
  samplesOfActive,
  samplesOfTracks,
} from './history-parts.ts'

const MINUTE_MS = 60_000
/** Sizes of the parts. `loggedMs` is the last part of `activeMs`, which is left in the log. */
const SIZES = {
  singleDays: 31,
  fleetDevices: 50,
  fleetDays: 31,
  activeDevices: 500,
  activeMs: 240 * MINUTE_MS,
  loggedMs: 10 * MINUTE_MS,
}
const SHORT_SIZES = {
  singleDays: 1,
  fleetDevices: 5,
  fleetDays: 1,
  activeDevices: 20,
  activeMs: 20 * MINUTE_MS,
  loggedMs: 2 * MINUTE_MS,
}
const LOADED_DEVICES = 200

/** Part of the history, once it exists. */
export interface HistoryPart extends Period {
  hardwareIds: string[]
  records: number
}

/** Data folder shared by all scenarios of a run; each part is made when a scenario first needs it. */
export class SharedHistory {
  readonly sizes: typeof SIZES
  readonly #context: ScenarioContext
  #folder: FilledFolder | undefined
  #single: HistoryPart | undefined
  #fleet: HistoryPart | undefined
  #active: HistoryPart | undefined
  #activeSinceMs: number | undefined
  #loaded: BenchDevice[] | undefined

  constructor(context: ScenarioContext) {
    this.#context = context
    this.sizes = context.isShort ? SHORT_SIZES : SIZES
  }

  async folder(): Promise<FilledFolder> {
    this.#folder ??= await FilledFolder.create(this.#context, 'shared-history')
    return this.#folder
  }

  /** GPS records in the folder. */
  get records(): number {
    return [this.#single, this.#fleet, this.#active].reduce((sum, part) => sum + (part?.records ?? 0), 0)
  }

  async start(): Promise<GatewayProcess> {
    return (await this.folder()).start()
  }

  /** Part with one device, a fix a second. */
  async single(): Promise<HistoryPart> {
    this.#single ??= await this.#make('single', 1, [recordSingle(this.sizes.singleDays)])
    return this.#single
  }

  /** Part with devices that report every five seconds, twelve hours a day. */
  async fleet(): Promise<HistoryPart> {
    this.#fleet ??= await this.#make('fleet', this.sizes.fleetDevices, recordFleet(this.sizes.fleetDays))
    return this.#fleet
  }

  /** Part with devices that are on their way now: their recent samples are in the log, all before is sealed. */
  async active(): Promise<HistoryPart> {
    const folder = await this.folder()
    const { activeDevices, activeMs, loggedMs } = this.sizes
    const known = this.#active
    const hardwareIds = known?.hardwareIds ?? idsOf(await folder.register(activeDevices, 'active'))
    printProgress('  making the history of devices on their way')
    const [deviceIds, tracks] = [folder.deviceIds('active'), recordActive(activeMs / 5000)]
    this.#activeSinceMs ??= Date.now() - activeMs
    const sinceMs = this.#activeSinceMs
    // in two steps: the recent samples are made after the first step, which takes long, so that they reach the present
    const fromMs = Math.max(Date.now() - activeMs, (known?.toMs ?? 0) + 1)
    const sealedToMs = Math.max(fromMs, Date.now() - loggedMs)
    const sealed = await folder.fill(samplesOfActive(deviceIds, tracks, { fromMs, toMs: sealedToMs, sinceMs }))
    const recent = { fromMs: sealedToMs + 1, toMs: Date.now(), sinceMs }
    const logged = await folder.fillLog(samplesOfActive(deviceIds, tracks, recent))
    const records = (known?.records ?? 0) + sealed + logged
    this.#active = { hardwareIds, fromMs, toMs: recent.toMs, records }
    return this.#active
  }

  /** Devices without a history, to send messages as. */
  async loadedDevices(): Promise<BenchDevice[]> {
    this.#loaded ??= await (await this.folder()).register(LOADED_DEVICES, 'loaded')
    return this.#loaded
  }

  async #make(prefix: string, devices: number, tracks: GpsRecords[]): Promise<HistoryPart> {
    const folder = await this.folder()
    const hardwareIds = idsOf(await folder.register(devices, prefix))
    printProgress(`  making the history of ${hardwareIds.length} devices`)
    const records = await folder.fill(samplesOfTracks(folder.deviceIds(prefix), tracks))
    const { fromMs, toMs } = periodOf(tracks)
    // each device after the first is shifted a little in time
    return { hardwareIds, fromMs, toMs: devices === 1 ? toMs : toMs + MINUTE_MS, records }
  }
}

function idsOf(devices: readonly BenchDevice[]): string[] {
  return devices.map(({ hardwareId }) => hardwareId)
}
