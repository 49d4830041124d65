import type { BenchDevice } from '#scripts/rig/gateway-api.ts'
import type { GatewayProcess } from '#scripts/rig/gateway-process.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import { FilledFolder } from './fill.ts'
import { describeLongHistory, type LongHistory } from './long-history.ts'

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
  const { isShort } = context
  const folder = await FilledFolder.create(context, 'history')
  const devices = await folder.register(isShort ? SHORT_DEVICES : DEVICES, 'bench')
  const { history, filling } = describeLongHistory(
    devices.map(({ hardwareId }) => hardwareId),
    isShort ? SHORT_RECORDS : RECORDS,
  )
  await folder.fill(filling)
  const gateway = await folder.start()
  const counted = await gateway.api.gpsCount()
  if (counted !== 2 * history.records) throw new Error(`the gateway counts ${counted} GPS records`)
  return { context, gateway, devices, history }
}
