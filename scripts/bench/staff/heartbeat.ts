import { setTimeout as sleep } from 'node:timers/promises'
import { cpuShareDuring } from '#scripts/rig/cpu-share.ts'
import type { Figure } from '#scripts/rig/figures.ts'
import { type GatewayProcess, startGateway } from '#scripts/rig/gateway-process.ts'
import { startDeviceLoad, startFullSpeed } from '#scripts/rig/load/process.ts'
import { readMainThreadCpuSeconds } from '#scripts/rig/process-usage.ts'
import { printProgress } from '#scripts/rig/report.ts'
import { measurement } from '#scripts/rig/scenario.ts'
import { WINDOW } from '../ingest/saturation-run.ts'
import { monotonicUs, profilingEnv, readMainThreadProfile, shareOf } from './cpu-profile.ts'
import { startCourse } from './staffed-gateway.ts'

const DEVICES = 500
const SHORT_DEVICES = 20
/** Time until the code of the tick, which runs once a second, is compiled. */
const WARMUP_S = 20
const SHORT_WARMUP_S = 1
const INTERVAL_US = 200
/** Files of carts, alerts and automatic locks; their calls count too. */
const STAFF_FILES = /\/(?:gateway\/(?:services|domain|store)\/(?:carts?|alerts?|closing|auto-lock)\b|shared\/carts\/)/
const mainThread: Omit<Figure, 'what'> = { unit: ' us', digits: 1, target: ['<=', 10] }

type Work = () => Promise<unknown>

/** Measures carts, alerts and auto-lock on the main thread by profiles: they cost less than the spread of two runs. */
export const heartbeat = measurement({
  name: 'heartbeat',
  summary: 'main thread for carts, alerts and auto-lock, per device and second',
  rounds: 3,
  durationS: [10, 1],
  figures: {
    evenUs: { ...mainThread, what: '1 message a device and second' },
    fullUs: { ...mainThread, what: 'as many messages as are acknowledged' },
    fullPerS: { what: 'the same: messages', unit: '/s' },
  },
  async run(context) {
    const { bench, entry, isShort, rounds, durationS } = context
    const warmupS = isShort ? SHORT_WARMUP_S : WARMUP_S
    const { gateway: first, devices: clients, dataDir } = await startCourse(context, isShort ? SHORT_DEVICES : DEVICES)
    await first.process.stop()
    const [evenUs, fullUs, fullPerS]: [number[], number[], number[]] = [[], [], []]

    const loadEven = async (gateway: GatewayProcess, measure: (work: Work) => Promise<void>) => {
      const load = startDeviceLoad(bench, gateway, clients, 1, { warmupS, durationS })
      await load.measuring()
      await measure(() => load.measured())
      await load.result()
    }
    const loadFully = async ({ ports }: GatewayProcess, measure: (work: Work) => Promise<void>) => {
      const plan = { port: ports.mqtt, clients, notBeforeMs: Date.now(), window: WINDOW }
      const load = await startFullSpeed(bench, plan)
      await sleep(warmupS * 1000)
      await measure(async () => {
        const measured = await load.call('measure', durationS)
        fullPerS.push(measured.acknowledged / measured.durationS)
      })
      await load.call('finish')
      await load.stop()
    }
    const staffUs = async (load: typeof loadEven) => {
      const folder = bench.createFolder('profiles')
      const gateway = await startGateway(bench, { entry, dataDir, env: profilingEnv(folder, INTERVAL_US) })
      const { pid } = gateway.process
      let [cpuShare, fromUs, toUs] = [0, 0, 0]
      await load(gateway, async (work) => {
        fromUs = monotonicUs()
        cpuShare = await cpuShareDuring(() => readMainThreadCpuSeconds(pid), work)
        toUs = monotonicUs()
      })
      await gateway.process.stop()
      const staffShare = shareOf(readMainThreadProfile(folder, pid), STAFF_FILES, fromUs, toUs)
      printProgress(`  ${(staffShare * 100).toFixed(1)} % of the work`)
      return (staffShare * cpuShare * 1e6) / clients.length
    }

    for (let round = 0; round < rounds; round++) {
      evenUs.push(await staffUs(loadEven))
      fullUs.push(await staffUs(loadFully))
    }
    return { evenUs, fullUs, fullPerS }
  },
})
