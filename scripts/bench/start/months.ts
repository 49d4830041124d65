import { type LoadPair, pairFigures, pairValues } from '#scripts/rig/load/beside.ts'
import { besideDownloads, downloadOf, startDownloadClient } from '#scripts/rig/load/downloads.ts'
import { startDeviceLoad } from '#scripts/rig/load/process.ts'
import { printProgress } from '#scripts/rig/report.ts'
import { measurement } from '#scripts/rig/scenario.ts'
import { makeYear } from './year.ts'

const PATH = '/telemetry/months'
const WARMUP_S = 2

/** Reads the bytes of each month of a year: the time, and the effect of continuous requests on devices. */
export const months = measurement({
  name: 'months',
  summary: `GET ${PATH} of a year, and in a loop under device load`,
  rounds: 5,
  durationS: [20, 2],
  figures: {
    warm: { what: `GET ${PATH}, warm`, unit: ' s', target: ['<', 0.5], digits: 2 },
    // limit for a page of an admin that is opened rarely
    cold: { what: 'the same, the data folder out of the file cache', unit: ' s', target: ['<', 3], digits: 2 },
    ...pairFigures('200 carts', 1.5),
  },
  async run(context) {
    const { bench, isShort, rounds, durationS } = context
    const { folder, carts } = await bench.shared(makeYear, context)
    await folder.startFirst()
    const client = startDownloadClient(bench)
    const [warm, cold]: [number[], number[]] = [[], []]
    for (let round = 0; round < rounds; round++) {
      folder.leaveFileCache()
      const gateway = await folder.start()
      cold.push((await client.call('download', downloadOf(gateway, PATH))).durationS)
      warm.push((await client.call('download', downloadOf(gateway, PATH))).durationS)
      printProgress(`  ${cold.at(-1)?.toFixed(2)} s cold, ${warm.at(-1)?.toFixed(2)} s warm`)
      await gateway.process.stop()
    }
    client.kill()
    const gateway = await folder.start()
    const load = () =>
      startDeviceLoad(bench, gateway, carts, 1, { warmupS: isShort ? 0 : WARMUP_S, durationS }).result()
    const pairs: LoadPair[] = []
    for (let round = 0; round < rounds; round++) {
      const alone = await load()
      const { result: beside } = await besideDownloads(bench, [downloadOf(gateway, PATH)], load)
      pairs.push({ alone, beside })
    }
    await gateway.process.stop()
    return { warm, cold, ...pairValues(pairs) }
  },
})
