import { setTimeout as sleep } from 'node:timers/promises'
import { none } from '#scripts/rig/figures.ts'
import { startGateway } from '#scripts/rig/gateway-process.ts'
import { startDeviceLoad } from '#scripts/rig/load/process.ts'
import { measurement } from '#scripts/rig/scenario.ts'
import { decodeRuns } from '#shared/telemetry/runs.ts'
import { bytesSent, type SiteHub, startSiteHub } from './environment.ts'

const DEVICES = 200
const SHORT_DEVICES = 20
/** Positions and voltages. */
const ROWS_A_MESSAGE = 2
/** Longest time that a batch may wait to be filled. */
const LAST_BATCH_MS = 12_000

/** Measures the lag from the device to the hub's row, and a row's cost on the wire and there, at a steady rate. */
export const lag = measurement({
  name: 'lag',
  summary: `${DEVICES} devices x 1/s: from the device to the hub, bytes for each row`,
  // long enough that what a database needs for a start does not count
  durationS: [300, 12],
  figures: {
    p95: {
      what: 'from the device to the row of the hub, p95',
      unit: ' s',
      target: ['<', 10],
      inShort: true,
      digits: 1,
    },
    p50: { what: 'the same, p50', unit: ' s', digits: 1 },
    missing: none('rows missing at the hub'),
    wire: { what: 'bytes on the wire for each row', target: ['<=', 7.5], digits: 2 },
    wireRate: { what: 'bytes on the wire', unit: '/s' },
    stateRate: { what: 'in addition, bytes of states of devices', unit: '/s' },
    // the states of devices take as much after a year; the drain has the target
    stored: { what: 'bytes in PostgreSQL for each row so far, states of devices included', digits: 2 },
  },
  async run({ bench, entry, isShort, durationS }) {
    const hub = await startSiteHub(bench)
    const emptyBytes = await hub.databaseBytes()
    const gateway = await startGateway(bench, { entry, dataDir: bench.createFolder('lag'), env: hub.env })
    const devices = await gateway.api.registerDevices(isShort ? SHORT_DEVICES : DEVICES)
    const { acknowledged } = await startDeviceLoad(bench, gateway, devices, 1, { durationS }).result()
    await sleep(LAST_BATCH_MS)
    const lagsS = await readLagsS(hub)
    // without a row there is no lag to measure
    const quantile = (share: number) => lagsS[Math.ceil(lagsS.length * share) - 1] ?? Number.NaN
    const [dataBytes, stateBytes] = [await bytesSent(gateway, 'push'), await bytesSent(gateway, 'latest')]
    const rows = await hub.rowsTaken()
    const storedBytes = (await hub.databaseBytes()) - emptyBytes
    await gateway.process.stop()
    await hub.stop()
    return {
      p95: quantile(0.95),
      p50: quantile(0.5),
      missing: ROWS_A_MESSAGE * acknowledged - rows,
      wire: dataBytes / rows,
      wireRate: dataBytes / durationS,
      stateRate: stateBytes / durationS,
      stored: storedBytes / rows,
    }
  },
})

/** Lags of records that are not in a block yet, from the device to the hub's transaction, shortest first. */
async function readLagsS(hub: SiteHub): Promise<number[]> {
  const segments = await hub.rows<{ received_at_ms: string; body: Buffer }>('SELECT received_at_ms, body FROM segment')
  const lagsS = segments.flatMap(({ received_at_ms: receivedAtMs, body }) =>
    [...decodeRuns(body)].flatMap(({ records }) =>
      [...records.atMs].map((atMs) => (Number(receivedAtMs) - atMs) / 1000),
    ),
  )
  return lagsS.sort((a, b) => a - b)
}
