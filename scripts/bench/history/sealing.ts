import { type GatewayProcess, startGateway } from '#scripts/rig/gateway-process.ts'
import { type LoadPair, pairValues } from '#scripts/rig/load/beside.ts'
import { startDeviceLoad } from '#scripts/rig/load/process.ts'
import { readWrittenBytes } from '#scripts/rig/process-usage.ts'
import { readDatabase } from '#scripts/rig/read-database.ts'
import { formatCount, printProgress } from '#scripts/rig/report.ts'
import { byFigure } from '#scripts/rig/rounds.ts'
import { measurement } from '#scripts/rig/scenario.ts'
import { FilledFolder, MADE_FROM_MS } from './fill.ts'
import { recordActive, samplesOfActive } from './history-parts.ts'

/** Two hours and three quarters of two hundred devices, a fix each five seconds; as many others send messages. */
const SIZES = { devices: 200, fixesEach: 10_000 }
const SHORT_SIZES = { devices: 10, fixesEach: 500 }
const INTERVAL_MS = 5000
/** More than the benchmark writes: the gateway seals only at the request of the benchmark. */
const NEVER_BY_ITSELF = '100000000'
const ALONE_S = 10
const LIVE_PER_DEVICE_PER_S = 50

/** Measures the cost of turning the log into its final form. */
export const sealing = measurement({
  name: 'sealing',
  summary: 'the log into blocks: speed, bytes written, 200 devices meanwhile',
  rounds: 3,
  // of live messages
  durationS: [60, 1],
  figures: {
    rate: { what: 'records a second of work', target: ['>=', 1_000_000] },
    amplification: { what: 'bytes written to the disk for a byte kept in blocks', digits: 2 },
    liveBytes: { what: 'bytes written to the disk for a live message, fix and voltage' },
    p99Alone: { what: 'PUBACK p99 of 200 devices alone', unit: ' ms', digits: 1 },
    p99Ratio: { what: 'PUBACK p99 of 200 devices, disturbed : alone', digits: 2 },
  },
  async run(context) {
    const { bench, entry, isShort, rounds, durationS } = context
    const sizes = isShort ? SHORT_SIZES : SIZES
    const folder = await FilledFolder.create(context, 'sealing')
    await folder.register(sizes.devices, 'filled')
    const loaded = await folder.register(sizes.devices, 'loaded')
    const [deviceIds, tracks] = [folder.deviceIds('filled'), recordActive(sizes.fixesEach)]
    let toMs = MADE_FROM_MS
    const startOnLog = async () => {
      const fromMs = toMs
      toMs += sizes.fixesEach * INTERVAL_MS
      await folder.fillLog(samplesOfActive(deviceIds, tracks, { fromMs, toMs: toMs - 1, sinceMs: fromMs }))
      return folder.start({ CARTBARN_SEAL_SAMPLES: NEVER_BY_ITSELF })
    }
    const sealUnderLoad = async (gateway: GatewayProcess): Promise<LoadPair> => {
      const load = (lengthS: number | null) =>
        startDeviceLoad(bench, gateway, loaded, 1, { warmupS: isShort ? 0 : 2, durationS: lengthS })
      const alone = await load(Math.min(ALONE_S, durationS)).result()
      const beside = load(null)
      await beside.measuring()
      await folder.seal(gateway)
      beside.stop()
      return { alone, beside: await beside.result() }
    }
    const alone: Record<'rate' | 'amplification', number>[] = []
    const pairs: LoadPair[] = []
    for (let round = 0; round < rounds; round++) {
      const quiet = await startOnLog()
      alone.push(await sealAlone(folder, quiet))
      await quiet.process.stop()
      const disturbed = await startOnLog()
      pairs.push(await sealUnderLoad(disturbed))
      await disturbed.process.stop()
    }
    // devices that send as usual: bytes for a record from its arrival to its block
    const live = await startGateway(bench, { entry, dataDir: bench.createFolder('live') })
    const devices = await live.api.registerDevices(sizes.devices)
    const { toDisk } = readWrittenBytes(live.process.pid)
    const { acknowledged } = await startDeviceLoad(bench, live, devices, LIVE_PER_DEVICE_PER_S, { durationS }).result()
    const liveBytes = (readWrittenBytes(live.process.pid).toDisk - toDisk) / acknowledged
    await live.process.stop()
    const { p99Alone, p99Ratio } = pairValues(pairs)
    return { ...byFigure(alone), liveBytes, p99Alone, p99Ratio }
  },
})

async function sealAlone(folder: FilledFolder, gateway: GatewayProcess) {
  const read = async () => {
    const work = await gateway.api.sealing()
    if (work === null) throw new Error('the gateway does not report its sealing')
    return { ...work, kept: blockBytes(folder.path), written: readWrittenBytes(gateway.process.pid).toDisk }
  }
  const before = await read()
  await folder.seal(gateway)
  const after = await read()
  const [records, workS] = [after.records - before.records, after.workS - before.workS]
  printProgress(`  ${formatCount(records)} sealed in ${workS.toFixed(2)} s`)
  return { rate: records / workS, amplification: (after.written - before.written) / (after.kept - before.kept) }
}

function blockBytes(folder: string): number {
  const sql = 'SELECT sum(length(records)) FROM telemetry_block'
  return readDatabase(folder, (db) => db.prepare<[], number | null>(sql).pluck().get()) ?? 0
}
