import { setTimeout as sleep } from 'node:timers/promises'
import { cpuShareDuring } from '#scripts/rig/cpu-share.ts'
import { type GatewayProcess, startGateway } from '#scripts/rig/gateway-process.ts'
import { measureDownload } from '#scripts/rig/load/downloads.ts'
import { startDeviceLoad } from '#scripts/rig/load/process.ts'
import { readCpuSeconds } from '#scripts/rig/process-usage.ts'
import { median } from '#scripts/rig/report.ts'
import { measurement } from '#scripts/rig/scenario.ts'
import { mustReach } from '#scripts/rig/wait-until.ts'
import { inParallel } from '#shared/in-parallel.ts'
import { toIso } from '#shared/time.ts'
import { DAY_MS, drawHoles, storeDay } from './rounds-day.ts'

const SIZES = { carts: 200, asked: 200 }
const SHORT = { carts: 10, asked: 10 }
const AT_ONCE = 4
const TABLETS = 20
const TABLETS_EVERY_S = 5
const FOUND_LIMIT_MS = 120_000
/** Each device reports once in five seconds. */
const LOAD_PER_S = 0.2
const ms = { unit: ' ms', digits: 1 }

export const rounds = measurement({
  name: 'rounds',
  summary: `rounds of a day of ${SIZES.carts} carts, and rounds in progress, under device load`,
  rounds: 5,
  durationS: [20, 1],
  figures: {
    activeMs: { ...ms, what: 'GET /rounds/active under device load: p50', target: ['<', 20] },
    activeP99Ms: { ...ms, what: 'the same: p99' },
    tablets: {
      what: `${TABLETS} tablets that ask every ${TABLETS_EVERY_S} s`,
      unit: ' % of a core',
      digits: 2,
      target: ['<', 2],
    },
    alone: { what: 'CPU of the gateway without them', unit: ' % of a core', digits: 1 },
    dayS: { what: 'GET /rounds of the day', unit: ' s', digits: 2, target: ['<', 2] },
    dayMb: { what: 'the same: memory above idle', unit: ' MB', by: 'most', target: ['<', 100] },
    positions: { what: 'positions of the day' },
  },
  async run(context) {
    const { bench, entry, isShort, durationS } = context
    const sizes = isShort ? SHORT : SIZES
    const gateway = await startGateway(bench, { entry, dataDir: bench.createFolder('rounds') })
    await drawHoles(gateway.api)
    const devices = await gateway.api.registerCarts(sizes.carts)
    const nowMs = Date.now()
    const stored = await inParallel(devices, AT_ONCE, ({ hardwareId }) => storeDay(gateway.api, hardwareId, nowMs))
    // imported rounds are found in the background
    const areAllFound = async () => (await activeRounds(gateway)).count === sizes.carts
    await mustReach(areAllFound, FOUND_LIMIT_MS, 'not every cart is on a round', 200)
    const path = `/rounds?from=${toIso(nowMs - DAY_MS)}&to=${toIso(nowMs)}&limit=1000`
    const day = await measureDownload(context, gateway, path)

    const { pid } = gateway.process
    const cpuShare = (work: () => Promise<unknown>) => cpuShareDuring(() => readCpuSeconds(pid), work)
    const load = startDeviceLoad(bench, gateway, devices, LOAD_PER_S, { warmupS: 1, durationS: null })
    await load.measuring()
    const alone = await cpuShare(() => sleep(durationS * 1000))
    const tookMs: number[] = []
    for (let i = 0; i < sizes.asked; i++) tookMs.push((await activeRounds(gateway)).tookMs)
    const asked = await cpuShare(() => askAsTablets(gateway, durationS))
    load.stop()
    await load.result()
    await gateway.process.stop()
    return {
      activeMs: median(tookMs),
      activeP99Ms: tookMs.toSorted((a, b) => a - b)[Math.floor(tookMs.length * 0.99)] ?? null,
      tablets: Math.max(0, asked - alone) * 100,
      alone: alone * 100,
      dayS: day.seconds,
      dayMb: day.aboveMb,
      positions: stored.reduce((sum, count) => sum + count, 0),
    }
  },
})

async function activeRounds(gateway: GatewayProcess): Promise<{ tookMs: number; count: number }> {
  const startMs = performance.now()
  const { rounds: active } = await gateway.api.call('GET /rounds/active')
  return { tookMs: performance.now() - startMs, count: active.length }
}

async function askAsTablets(gateway: GatewayProcess, durationS: number): Promise<void> {
  const gapMs = (TABLETS_EVERY_S * 1000) / TABLETS
  const untilMs = performance.now() + durationS * 1000
  while (performance.now() < untilMs) {
    const { tookMs } = await activeRounds(gateway)
    await sleep(Math.max(0, gapMs - tookMs))
  }
}
