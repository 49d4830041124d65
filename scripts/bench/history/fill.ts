import { cpSync } from 'node:fs'
import type { BenchDevice } from '#scripts/rig/gateway-api.ts'
import { type GatewayProcess, startGateway } from '#scripts/rig/gateway-process.ts'
import { formatCount, printProgress } from '#scripts/rig/report.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import { mustReach } from '#scripts/rig/wait-until.ts'
import { SAMPLE_NUMBERS } from '#store/telemetry/store-samples.ts'
import { type SampleBatch, TelemetryFiller } from './telemetry-filler.ts'
import { countUnsealed } from './telemetry-log.ts'

/** Between two sealings: as much as the memory of the writer may be asked to hold. */
const PORTION_SAMPLES = 1_000_000
const BATCH_SAMPLES = 8192
/** A device outside the benchmark: erasing its history makes the gateway seal the whole log. */
const SPARE = 'spare-00000'
const SEALED_LIMIT_MS = 120_000
/** The least the log must hold before the gateway seals it by itself, and what that is for every device. */
const SMALL_LOG = 256
const UNSEALED_PER_DEVICE = 128

/** Of one device at one time; NaN for what it does not say. In the numbers that are stored. */
export interface FilledSample {
  deviceId: number
  atMs: number
  latE7: number
  longE7: number
  speedMilliKmh: number
  voltageMv: number
}

/** Makes the samples of the devices with these hardware ids. */
export type Filling = (deviceIdOf: (hardwareId: string) => number) => Iterable<FilledSample>

/** A folder of a gateway that is made, filled and filled up while no gateway runs in it. */
export class FilledFolder {
  readonly path: string
  readonly #context: ScenarioContext
  #devices = 0

  private constructor(context: ScenarioContext, path: string) {
    this.#context = context
    this.path = path
  }

  static async create(context: ScenarioContext, name: string): Promise<FilledFolder> {
    const folder = new FilledFolder(context, context.bench.createFolder(name))
    await folder.register(1, 'spare')
    return folder
  }

  /** The same once more, to be changed by itself. */
  copy(): FilledFolder {
    const path = this.#context.bench.createFolder('copy')
    cpSync(this.path, path, { recursive: true })
    const copy = new FilledFolder(this.#context, path)
    copy.#devices = this.#devices
    return copy
  }

  /** Starts a gateway on the filled folder. */
  start(env: Record<string, string> = {}): Promise<GatewayProcess> {
    const { bench, entry } = this.#context
    return startGateway(bench, { entry, dataDir: this.path, env })
  }

  async register(count: number, prefix: string): Promise<BenchDevice[]> {
    const gateway = await this.start()
    const devices = await gateway.api.registerDevices(count, prefix)
    await gateway.process.stop()
    this.#devices += count
    return devices
  }

  /** Writes the samples and has them sealed, a portion after the other. Returns how many they were. */
  async fill(filling: Filling): Promise<number> {
    return this.#write(filling, true)
  }

  /** Writes the samples and leaves them in the log. */
  async fillLog(filling: Filling): Promise<number> {
    return this.#write(filling, false)
  }

  /** Makes a running gateway seal its log; resolves when only the tail is left that it never seals. */
  async seal({ api }: GatewayProcess): Promise<void> {
    await api.eraseTelemetry(SPARE)
    const tail = Math.max(SMALL_LOG, UNSEALED_PER_DEVICE * this.#devices)
    const isSealed = () => countUnsealed(this.path) <= tail
    await mustReach(isSealed, SEALED_LIMIT_MS, 'the gateway does not seal its log')
  }

  async #write(filling: Filling, isToBeSealed: boolean): Promise<number> {
    const startMs = performance.now()
    let filler = await TelemetryFiller.open(this.path)
    const ids = filler.deviceIds()
    const batches = packed(filling((hardwareId) => requireId(ids, hardwareId)))
    let total = 0
    let unsealed = 0
    let last: Promise<void> = Promise.resolve()
    for (const batch of batches) {
      // two at once: the next is being made while one is written
      await last
      last = filler.write(batch)
      total += batch.length / SAMPLE_NUMBERS
      unsealed += batch.length / SAMPLE_NUMBERS
      if (!isToBeSealed || unsealed < PORTION_SAMPLES) continue
      await last
      await filler.close()
      await this.#sealOnce()
      filler = await TelemetryFiller.open(this.path)
      unsealed = 0
    }
    await last
    await filler.close()
    if (isToBeSealed) await this.#sealOnce()
    const tookS = ((performance.now() - startMs) / 1000).toFixed(1)
    printProgress(`  ${formatCount(total)} samples written in ${tookS} s`)
    return total
  }

  async #sealOnce(): Promise<void> {
    const gateway = await this.start({ CARTBARN_SEAL_SAMPLES: String(SMALL_LOG) })
    await this.seal(gateway)
    await gateway.process.stop()
  }
}

function requireId(ids: ReadonlyMap<string, number>, hardwareId: string): number {
  const id = ids.get(hardwareId)
  if (id === undefined) throw new Error(`${hardwareId} is not registered`)
  return id
}

function* packed(samples: Iterable<FilledSample>): Generator<SampleBatch> {
  let batch = new Float64Array(BATCH_SAMPLES * SAMPLE_NUMBERS)
  let at = 0
  for (const { deviceId, atMs, latE7, longE7, speedMilliKmh, voltageMv } of samples) {
    batch[at] = deviceId
    batch[at + 1] = atMs
    batch[at + 2] = latE7
    batch[at + 3] = longE7
    batch[at + 4] = speedMilliKmh
    batch[at + 5] = voltageMv
    at += SAMPLE_NUMBERS
    if (at < batch.length) continue
    yield batch
    batch = new Float64Array(BATCH_SAMPLES * SAMPLE_NUMBERS)
    at = 0
  }
  if (at > 0) yield batch.subarray(0, at)
}
