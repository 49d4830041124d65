import type { BenchDevice } from '#scripts/rig/gateway-api.ts'
import type { GatewayProcess } from '#scripts/rig/gateway-process.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import { FilledFolder, type FilledSample } from './fill.ts'

const DEVICES = 500
const SHORT_DEVICES = 50
/** Records of each stream of the first device: five months at one in 5 s. The whole history is four times that. */
const RECORDS = 2_600_000
const SHORT_RECORDS = 5_000
const GAP_MS = 5000
/** 1 May 2026. */
const FROM_MS = 1_777_593_600_000

/** A long history: half GPS, half battery records. */
export interface LongHistory {
  /** The device with a record of each stream every five seconds. */
  hardwareId: string
  /** Records of that device in each stream. */
  records: number
  fromMs: number
  toMs: number
}

export interface HistoryEnvironment {
  context: ScenarioContext
  gateway: GatewayProcess
  devices: BenchDevice[]
  history: LongHistory
}

/** Registers devices, writes their history and restarts the gateway on it. */
export async function startOnHistory(context: ScenarioContext): Promise<HistoryEnvironment> {
  const { isShort } = context
  const records = isShort ? SHORT_RECORDS : RECORDS
  const folder = await FilledFolder.create(context, 'history')
  const devices = await folder.register(isShort ? SHORT_DEVICES : DEVICES, 'bench')
  await folder.fill(samplesOf(folder.deviceIds('bench'), records))
  const gateway = await folder.start()
  const counted = await gateway.api.gpsCount()
  if (counted !== 2 * records) throw new Error(`the gateway counts ${counted} GPS records`)
  const { hardwareId = '' } = devices[0] ?? {}
  const toMs = FROM_MS + (records - 1) * GAP_MS
  return { context, gateway, devices, history: { hardwareId, records, fromMs: FROM_MS, toMs } }
}

/**
 * Yields `records` of each stream for the first device and, between them, as many for all others together, in the order
 * of time, as devices send them. Positions go back and forth, in numbers as long as real ones.
 */
function* samplesOf([first = 0, ...others]: readonly number[], records: number): Generator<FilledSample, void, void> {
  for (let tick = 0; tick < records; tick++) {
    const sample = {
      atMs: FROM_MS + tick * GAP_MS,
      latE7: 365_680_000 + ((tick * 37) % 90_000),
      longE7: -1_219_480_000 + ((tick * 53) % 90_000),
      speedMilliKmh: (tick * 7) % 24_000,
      voltageMv: 48_000 + ((tick * 11) % 6_000),
    }
    yield { ...sample, deviceId: first }
    yield { ...sample, deviceId: others[tick % others.length] ?? first }
  }
}
