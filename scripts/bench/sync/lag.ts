import { setTimeout as sleep } from 'node:timers/promises'
import { startGateway } from '#scripts/rig/gateway-process.ts'
import { startDeviceLoad } from '#scripts/rig/load/process.ts'
import {
  atMost,
  below,
  formatCount,
  noneOf,
  printTable,
  type ScenarioReport,
  withoutTarget,
} from '#scripts/rig/report.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import { decodeRuns } from '#shared/telemetry/runs.ts'
import { bytesSent, SITE, SyncEnvironment } from './environment.ts'

const DEVICES = 200
const SHORT_DEVICES = 20
const PER_DEVICE_PER_S = 1
/** Long enough that what a database needs for a start does not count. */
const DURATION_S = 300
const SHORT_DURATION_S = 12
const TARGET_LAG_S = 10
const TARGET_WIRE_BYTES = 7.5
/** Longest time that a batch may wait to be filled. */
const LAST_PART_MS = 12_000

/** Measures the lag from the device to the hub's row, and a row's cost on the wire and there, at a steady rate. */
export async function runLag(context: ScenarioContext): Promise<ScenarioReport> {
  const { bench, entry, isShort } = context
  const environment = await SyncEnvironment.create(context)
  const emptyBytes = await environment.databaseBytes()
  const gateway = await startGateway(bench, { entry, dataDir: bench.createFolder('lag'), env: environment.env })
  const devices = await gateway.api.registerDevices(isShort ? SHORT_DEVICES : DEVICES)
  const durationS = context.durationS ?? (isShort ? SHORT_DURATION_S : DURATION_S)
  const result = await startDeviceLoad(bench, gateway, devices, PER_DEVICE_PER_S, { durationS }).result()
  await sleep(LAST_PART_MS)
  const lagsS = await readLagsS(environment)
  const sent = await bytesSent(gateway)
  const rows = await environment.rowsTaken()
  const hubBytes = (await environment.databaseBytes()) - emptyBytes
  const tables = await environment.largestTables()
  await gateway.process.stop()
  await environment.stop()
  const [p50, p95, longest] = [0.5, 0.95, 1].map((share) => quantile(lagsS, share))
  printTable(
    `Live: ${devices.length} devices x ${PER_DEVICE_PER_S}/s, ${durationS} s`,
    ['', ''],
    [
      ['messages acknowledged to devices', formatCount(result.acknowledged)],
      ['rows at the hub', formatCount(rows)],
      ['lag p50, s', (p50 ?? 0).toFixed(1)],
      ['lag p95, s', (p95 ?? 0).toFixed(1)],
      ['longest lag, s', (longest ?? 0).toFixed(1)],
      ['bytes a row on the wire', (sent.data / rows).toFixed(2)],
      ['bytes a second on the wire', formatCount(sent.data / durationS)],
      ['bytes a second in addition, states of devices', formatCount(sent.states / durationS)],
      ['bytes a row in PostgreSQL', (hubBytes / rows).toFixed(2)],
      ...tables.map(([name, bytes]): [string, string] => [`  bytes of ${name}`, bytes]),
    ],
  )
  const missing = 2 * result.acknowledged - rows
  return {
    figures: [
      // without a row there is no lag to measure
      below('lag: from the device to the row of the hub, p95', p95 ?? Number.NaN, TARGET_LAG_S, {
        unit: ' s',
        digits: 1,
      }),
      noneOf('lag: rows missing at the hub', missing),
      atMost('lag: bytes a row on the wire, live', sent.data / rows, TARGET_WIRE_BYTES, {
        digits: 2,
        isJudged: !isShort,
      }),
      // the states of devices take as much after a year; the drain has the target
      withoutTarget('lag: bytes a row in PostgreSQL so far, states of devices included', (hubBytes / rows).toFixed(2)),
    ],
    raw: { p50, p95, longest, sent, rows, hubBytes, tables, rowsNotYetInBlocks: lagsS.length },
  }
}

/** Lag of each record that is not in a block yet, from the device to the hub's transaction, on one machine. */
async function readLagsS(environment: SyncEnvironment): Promise<number[]> {
  const segments = await environment.rows<{ received_at_ms: string; body: Buffer }>(
    'SELECT received_at_ms, body FROM segment WHERE site_id = $1',
    [SITE],
  )
  const lagsS: number[] = []
  for (const { received_at_ms, body } of segments) {
    for (const { records } of decodeRuns(body)) {
      for (const atMs of records.atMs) lagsS.push((Number(received_at_ms) - atMs) / 1000)
    }
  }
  return lagsS.sort((a, b) => a - b)
}

function quantile(sorted: readonly number[], share: number): number | undefined {
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)]
}
