import type { BenchDevice } from '#scripts/rig/gateway-api.ts'
import { pairFigures, pairValues } from '#scripts/rig/load/beside.ts'
import { startDeviceLoad } from '#scripts/rig/load/process.ts'
import { printProgress } from '#scripts/rig/report.ts'
import { byFigure } from '#scripts/rig/rounds.ts'
import { measurement, type RunContext } from '#scripts/rig/scenario.ts'
import { mustReach } from '#scripts/rig/wait-until.ts'
import { FilledFolder } from '../history/fill.ts'
import { recordFleet, samplesOfTracks } from '../history/history-parts.ts'
import { bytesSent, startSiteHub } from './environment.ts'

const SIZES = { devices: 200, days: 10 }
const SHORT = { devices: 10, days: 1 }
const DRAIN_LIMIT_MS = 600_000
/** Poll interval; each poll is a query of the database that is measured. */
const POLL_MS = 50
/** An address without a listener. */
const NOWHERE = 'http://127.0.0.1:9'

/** Measures ten days of a course, never replicated, once the link is up: the map first, then all the rest. */
export const drain = measurement({
  name: 'drain',
  summary: `${SIZES.days} days of backlog of ${SIZES.devices} devices: the map first, then the rest`,
  rounds: 3,
  // of the devices alone; with the drain they report until its end
  durationS: [20, 3],
  figures: {
    map: {
      what: 'from the first request to the whole map at the hub',
      unit: ' s',
      target: ['<', 5],
      inShort: true,
      digits: 2,
    },
    drained: { what: 'from the first request to the last row at the hub', unit: ' s', digits: 1 },
    rate: { what: 'rows', unit: '/s', target: ['>=', 50_000] },
    wire: { what: 'bytes on the wire for each row', target: ['<=', 7.5], digits: 2 },
    stored: { what: 'bytes in PostgreSQL for each row, all tables and indexes', target: ['<=', 15], digits: 2 },
    ...pairFigures('the devices', 1.5),
  },
  async run(context) {
    const { devices: count, days } = context.isShort ? SHORT : SIZES
    const folder = await FilledFolder.create(context, 'drain')
    const devices = await folder.register(count, 'bench')
    const samples = await folder.fill(samplesOfTracks(folder.deviceIds('bench'), recordFleet(days)))
    const drains: Awaited<ReturnType<typeof drainOnce>>[] = []
    for (let round = 0; round < context.rounds; round++) {
      const drained = await drainOnce(context, folder, devices, samples)
      printProgress(`  drained in ${drained.values.drained.toFixed(1)} s`)
      drains.push(drained)
    }
    return { ...byFigure(drains.map(({ values }) => values)), ...pairValues(drains) }
  },
})

/** Drains a copy of the folder into a new hub, to which the whole history is new. */
async function drainOnce(
  { bench, isShort, durationS }: RunContext,
  folder: FilledFolder,
  devices: readonly BenchDevice[],
  samples: number,
) {
  const until = (isTrue: () => Promise<boolean>) =>
    mustReach(isTrue, DRAIN_LIMIT_MS, 'the backlog is not drained', POLL_MS)
  const copy = folder.copy()
  const hub = await startSiteHub(bench)
  const emptyBytes = await hub.databaseBytes()
  const warmupS = isShort ? 0 : 2
  const offline = await copy.start({ ...hub.env, CARTBARN_UPSTREAM_URL: NOWHERE })
  const alone = await startDeviceLoad(bench, offline, devices, 1, { warmupS, durationS }).result()
  await offline.process.stop()

  const gateway = await copy.start(hub.env)
  const load = startDeviceLoad(bench, gateway, devices, 1, { warmupS })
  const hello = () => hub.number('SELECT last_hello_ms FROM site')
  await until(async () => (await hello()) > 0)
  const helloMs = await hello()
  await until(async () => (await hub.number('SELECT count(*) FROM site_latest')) >= devices.length)
  const mapMs = Date.now()
  await load.measuring()
  await until(async () => (await hub.rowsTaken()) >= samples)
  const doneMs = Date.now()
  load.stop()
  const beside = await load.result()
  const wireBytes = await bytesSent(gateway, 'push')
  const rows = await hub.rowsTaken()
  const storedBytes = (await hub.databaseBytes()) - emptyBytes
  await gateway.process.stop()
  await hub.stop()
  const drained = (doneMs - helloMs) / 1000
  const perRow = { wire: wireBytes / rows, stored: storedBytes / rows }
  return { alone, beside, values: { map: (mapMs - helloMs) / 1000, drained, rate: rows / drained, ...perRow } }
}
