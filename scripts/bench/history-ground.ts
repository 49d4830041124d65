import type { BenchDevice } from './gateway-api.ts'
import { type GatewayProcess, startGateway } from './gateway-process.ts'
import { type LongHistory, writeLongHistory } from './long-history.ts'
import { formatCount, printProgress } from './report.ts'
import type { ScenarioContext } from './scenario.ts'

const DEVICES = 500
const SHORT_DEVICES = 50
/** Of each stream of the first device: five months at one in five seconds. The whole history is four times that. */
const RECORDS = 2_600_000
const SHORT_RECORDS = 5_000

/** A gateway with a long history. */
export interface HistoryGround {
  context: ScenarioContext
  gateway: GatewayProcess
  devices: BenchDevice[]
  history: LongHistory
}

/** Registers devices, writes their history and starts the gateway anew on it. */
export async function startOnHistory(context: ScenarioContext): Promise<HistoryGround> {
  const { bench, entry, isShort } = context
  const dataDir = bench.createFolder('history')
  const registering = await startGateway(bench, { entry, dataDir })
  const devices = await registering.api.registerDevices(isShort ? SHORT_DEVICES : DEVICES)
  await registering.process.stop()
  const history = writeLongHistory(dataDir, isShort ? SHORT_RECORDS : RECORDS)
  printProgress(`  ${formatCount(4 * history.records)} records written`)
  const gateway = await startGateway(bench, { entry, dataDir })
  const counted = await gateway.api.gpsCount()
  if (counted !== 2 * history.records) throw new Error(`the gateway counts ${counted} GPS records`)
  return { context, gateway, devices, history }
}
