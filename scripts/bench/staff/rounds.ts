import { setTimeout as sleep } from 'node:timers/promises'
import { ADMIN_KEY, type GatewayProcess, startGateway } from '#scripts/rig/gateway-process.ts'
import { startDownloadClient } from '#scripts/rig/load/download-process.ts'
import { startDeviceLoad } from '#scripts/rig/load/process.ts'
import { readCpuSeconds } from '#scripts/rig/process-usage.ts'
import { peakDuring, quietResidentBytes } from '#scripts/rig/quiet-memory.ts'
import { below, formatCount, median, printProgress, type ScenarioReport } from '#scripts/rig/report.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import { must, registerCarts } from '#scripts/rig/staff-course.ts'
import { inParallel } from '#shared/in-parallel.ts'
import { toIso } from '#shared/time.ts'
import { DAY_MS, drawHoles, storeDay } from './rounds-day.ts'

const CARTS = 200
const SHORT_CARTS = 10
const AT_ONCE = 4
const ROUNDS = 5
const ASKED = 200
const TABLETS = 20
const TABLETS_EVERY_S = 5
const QUIET_S = 20
const SHORT_S = 1
/** Each device reports once in five seconds. */
const LOAD_PER_S = 0.2
const ACTIVE_MS = 20
const TABLETS_SHARE = 0.02
const DAY_S = 2
const DAY_MB = 100

/** Measures the rounds of a day of 200 carts: those in progress, requested under device load, and all. */
export async function runRounds(context: ScenarioContext): Promise<ScenarioReport> {
  const { bench, entry, isShort } = context
  const rounds = context.rounds ?? (isShort ? 1 : ROUNDS)
  const durationS = context.durationS ?? (isShort ? SHORT_S : QUIET_S)
  const gateway = await startGateway(bench, { entry, dataDir: bench.createFolder('rounds') })
  await drawHoles(gateway)
  const devices = await registerCarts(gateway, {
    count: isShort ? SHORT_CARTS : CARTS,
    deviceType: 'teebox',
    id: 'cart',
  })
  const nowMs = Date.now()
  const stored = await inParallel(devices, AT_ONCE, ({ hardwareId }) => storeDay(gateway, hardwareId, nowMs))
  const fixes = stored.reduce((sum, count) => sum + count, 0)
  printProgress(`  ${formatCount(fixes)} positions`)
  await untilFound(gateway, devices.length)
  const day = await measureDay(context, gateway, { nowMs, rounds })

  const { pid } = gateway.process
  const options = { warmupS: 1, durationS: 3 * durationS + rounds }
  const load = startDeviceLoad(bench, gateway, devices, LOAD_PER_S, options)
  await load.measuring()
  const alone = await cpuShare(pid, durationS, async () => undefined)
  const tookMs: number[] = []
  for (let i = 0; i < (isShort ? 10 : ASKED); i++) tookMs.push((await activeRounds(gateway)).tookMs)
  const asked = await cpuShare(pid, durationS, () => askAsTablets(gateway, durationS))
  await load.result()
  await gateway.process.stop()
  const p99Ms = tookMs.toSorted((a, b) => a - b)[Math.floor(tookMs.length * 0.99)] ?? 0
  const tabletsShare = Math.max(0, asked - alone)
  const isJudged = !isShort
  return {
    figures: [
      below('staff: GET /rounds/active under device load, median', median(tookMs), ACTIVE_MS, {
        unit: ' ms',
        digits: 1,
        isJudged,
        detail: `p99 ${p99Ms.toFixed(1)}`,
      }),
      below(
        `staff: ${TABLETS} tablets that ask every ${TABLETS_EVERY_S} s, % of a core`,
        tabletsShare * 100,
        TABLETS_SHARE * 100,
        {
          unit: ' %',
          digits: 2,
          isJudged,
          detail: `${(asked * 100).toFixed(1)} - ${(alone * 100).toFixed(1)}`,
        },
      ),
      below(`staff: GET /rounds of a day, ${formatCount(fixes)} positions, median`, day.durationS, DAY_S, {
        unit: ' s',
        digits: 2,
        isJudged,
      }),
      below('staff: GET /rounds of a day, memory above idle', day.aboveBytes / 1e6, DAY_MB, {
        unit: ' MB',
        isJudged,
      }),
    ],
    raw: { fixes, tookMs, alone, asked, day },
  }
}

async function measureDay(
  { bench, isShort }: ScenarioContext,
  gateway: GatewayProcess,
  { nowMs, rounds }: { nowMs: number; rounds: number },
) {
  const client = startDownloadClient(bench)
  const { pid } = gateway.process
  const range = `from=${toIso(nowMs - DAY_MS)}&to=${toIso(nowMs)}`
  const query = { port: gateway.ports.http, path: `/rounds?${range}&limit=1000`, key: ADMIN_KEY }
  const runs = []
  for (let round = 0; round < rounds; round++) {
    const idleBytes = await quietResidentBytes(pid, isShort)
    const { result, peakBytes } = await peakDuring(pid, () => client.call('download', query))
    runs.push({ durationS: result.durationS, bytes: result.bytes, aboveBytes: peakBytes - idleBytes })
    printProgress(`  ${result.durationS.toFixed(2)} s, ${((peakBytes - idleBytes) / 1e6).toFixed(0)} MB`)
  }
  client.kill()
  return {
    runs,
    durationS: median(runs.map((run) => run.durationS)),
    aboveBytes: Math.max(...runs.map((run) => run.aboveBytes)),
  }
}

async function activeRounds({ ports }: GatewayProcess): Promise<{ tookMs: number; count: number }> {
  const startMs = performance.now()
  const url = `http://127.0.0.1:${ports.http}/rounds/active`
  const response = await fetch(url, { headers: { 'X-API-Key': ADMIN_KEY } })
  const text = await response.text()
  const tookMs = performance.now() - startMs
  if (response.status !== 200) throw new Error(`GET /rounds/active: ${response.status}`)
  return { tookMs, count: text.split('"round_id"').length - 1 }
}

/** Waits until every cart is on a round: imported rounds are found in the background. */
async function untilFound(gateway: GatewayProcess, carts: number): Promise<void> {
  await must(gateway, 'GET', '/carts')
  for (let tries = 0; tries < 600; tries++) {
    if ((await activeRounds(gateway)).count === carts) return
    await sleep(200)
  }
  throw new Error('not every cart is on a round')
}

async function askAsTablets(gateway: GatewayProcess, durationS: number): Promise<void> {
  const gapMs = (TABLETS_EVERY_S * 1000) / TABLETS
  const untilMs = performance.now() + durationS * 1000
  while (performance.now() < untilMs) {
    const { tookMs } = await activeRounds(gateway)
    await sleep(Math.max(0, gapMs - tookMs))
  }
}

/** CPU of a process during that time, as a share of a core. */
async function cpuShare(pid: number, durationS: number, work: () => Promise<void>): Promise<number> {
  const [cpuS, startMs] = [readCpuSeconds(pid), performance.now()]
  await Promise.all([work(), sleep(durationS * 1000)])
  return (readCpuSeconds(pid) - cpuS) / ((performance.now() - startMs) / 1000)
}
