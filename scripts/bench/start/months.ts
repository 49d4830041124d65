import { ADMIN_KEY, type GatewayProcess } from '#scripts/rig/gateway-process.ts'
import { compareP99, countLost } from '#scripts/rig/load/beside.ts'
import { besideDownloads, startDownloadClient } from '#scripts/rig/load/download-process.ts'
import { startDeviceLoad } from '#scripts/rig/load/process.ts'
import { atMost, below, median, noneOf, printProgress, type ScenarioReport } from '#scripts/rig/report.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import { forgetFiles } from './file-cache.ts'
import type { Year } from './year.ts'

const ROUNDS = 5
const WARM_S = 0.5
/** Limit for a page of an admin that is opened rarely. */
const COLD_S = 3
const BESIDE_RATIO = 1.5
const DURATION_S = 20
const WARMUP_S = 2

const monthsOf = ({ ports }: GatewayProcess) => ({
  path: '/telemetry/months',
  port: ports.http,
  key: ADMIN_KEY,
})

/** Measures the bytes of each month of a year: their time, and the effect of continuous requests on devices. */
export async function runMonths(context: ScenarioContext, year: () => Promise<Year>): Promise<ScenarioReport> {
  const { bench, isShort } = context
  const { folder, carts } = await year()
  const rounds = context.rounds ?? (isShort ? 1 : ROUNDS)
  const client = startDownloadClient(bench)
  const [warm, cold]: [number[], number[]] = [[], []]
  // the first start stores checksums of the new blocks
  await (await folder.start()).process.stop()
  for (let round = 0; round < rounds; round++) {
    forgetFiles(folder.path)
    const gateway = await folder.start()
    cold.push((await client.call('download', monthsOf(gateway))).durationS)
    warm.push((await client.call('download', monthsOf(gateway))).durationS)
    printProgress(`  ${cold.at(-1)?.toFixed(2)} s cold, ${warm.at(-1)?.toFixed(2)} s warm`)
    await gateway.process.stop()
  }
  client.kill()
  const gateway = await folder.start()
  const options = {
    warmupS: isShort ? 0 : WARMUP_S,
    durationS: context.durationS ?? (isShort ? 2 : DURATION_S),
  }
  const load = () => startDeviceLoad(bench, gateway, [...carts], 1, options).result()
  const pairs = []
  for (let round = 0; round < rounds; round++) {
    const alone = await load()
    const { result: beside } = await besideDownloads(bench, [monthsOf(gateway)], load)
    pairs.push({ alone, beside })
  }
  await gateway.process.stop()
  const { ratio, detail } = compareP99(pairs)
  const judged = { digits: 2, isJudged: !isShort }
  return {
    figures: [
      below(`months: of a year, median of ${rounds}`, median(warm), WARM_S, { unit: ' s', ...judged }),
      below('months: the same, the data folder out of the file cache', median(cold), COLD_S, {
        unit: ' s',
        ...judged,
      }),
      atMost('months: PUBACK p99 during continuous requests : alone', ratio, BESIDE_RATIO, {
        detail,
        ...judged,
      }),
      noneOf('months: not acknowledged', countLost(pairs.flatMap(({ alone, beside }) => [alone, beside]))),
    ],
    raw: { warm, cold, pairs },
  }
}
