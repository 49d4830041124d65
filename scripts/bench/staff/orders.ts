import { ForkedScript } from '#scripts/rig/calls.ts'
import { type Figure, none } from '#scripts/rig/figures.ts'
import type { BenchDevice } from '#scripts/rig/gateway-api.ts'
import { type GatewayProcess, startGateway } from '#scripts/rig/gateway-process.ts'
import { type LoadPair, measurePair, pairFigures, pairValues } from '#scripts/rig/load/beside.ts'
import { startDeviceLoad } from '#scripts/rig/load/process.ts'
import type { Workbench } from '#scripts/rig/processes.ts'
import { printProgress } from '#scripts/rig/report.ts'
import { measurement } from '#scripts/rig/scenario.ts'
import { must, openCourse, registerCarts } from '#scripts/rig/staff-course.ts'
import type { BarnFunctions } from './barn-devices.ts'

const SIZES = { locked: 500, recalled: 200, others: 200 }
const SHORT = { locked: 20, recalled: 10, others: 10 }
const RECEIVED_LIMIT_MS = 30_000
const received: Figure = { what: 'until the last of them has it', unit: ' s', target: ['<=', 3], digits: 2 }
const { p99Ratio, lost } = pairFigures('200 other devices', 2)

interface Order {
  readonly devices: readonly BenchDevice[]
  /** Gives the order; returns the number of refusals in the response. */
  give(): Promise<number>
  takeBack(): Promise<unknown>
}

interface Run {
  /** Time until the last device had received it; infinite if not all did. */
  readonly receivedS: number
  readonly refused: number
  readonly pair: LoadPair
}

/** Measures locking all carts with one request, and recalling all screens with another, while devices report. */
export const orders = measurement({
  name: 'orders',
  summary: `${SIZES.locked} carts are locked, ${SIZES.recalled} screens are recalled, with one request each`,
  rounds: 3,
  // of each of the two measurements; the orders are given when the second begins
  durationS: [4, 1],
  figures: {
    lockReceived: { ...received, what: `lock ${SIZES.locked} carts: ${received.what}` },
    lockRefused: none('lock: refused'),
    lockP99: { ...p99Ratio, what: `lock: ${p99Ratio.what}` },
    recallReceived: { ...received, what: `recall ${SIZES.recalled} screens: ${received.what}` },
    recallP99: { ...p99Ratio, what: `recall: ${p99Ratio.what}` },
    lost,
  },
  async run({ bench, entry, isShort, rounds, durationS }) {
    const sizes = isShort ? SHORT : SIZES
    const gateway = await startGateway(bench, { entry, dataDir: bench.createFolder('orders') })
    await openCourse(gateway)
    const register = (count: number, deviceType: string, id: string) =>
      registerCarts(gateway, { count, deviceType, id })
    const locks = await register(sizes.locked, 'teebox', 'lock')
    const screens = await register(sizes.recalled, 'cartcaddie', 'screen')
    const others = await gateway.api.registerDevices(sizes.others)
    const carts = locks.map((_, i) => `lock ${i + 1}`)
    const lockAll: Order = {
      devices: locks,
      give: async () => {
        const { results } = await must(gateway, 'POST', '/carts/lock', { carts })
        return results.filter(({ code }: { code?: string }) => code !== undefined).length
      },
      takeBack: async () => undefined,
    }
    const recallAll: Order = {
      devices: screens,
      give: async () => {
        await must(gateway, 'POST', '/recall', {})
        return 0
      },
      takeBack: () => must(gateway, 'DELETE', '/recall'),
    }
    const [locked, recalled]: [Run[], Run[]] = [[], []]
    for (let round = 0; round < rounds; round++) {
      const measuring = { bench, gateway, others, durationS }
      locked.push(await measure(measuring, lockAll))
      recalled.push(await measure(measuring, recallAll))
    }
    await gateway.process.stop()
    const [lockPairs, recallPairs] = [locked, recalled].map((runs) => pairValues(runs.map(({ pair }) => pair)))
    return {
      lockReceived: locked.map(({ receivedS }) => receivedS),
      lockRefused: locked.map(({ refused }) => refused),
      lockP99: lockPairs?.p99Ratio ?? null,
      recallReceived: recalled.map(({ receivedS }) => receivedS),
      recallP99: recallPairs?.p99Ratio ?? null,
      lost: [lockPairs, recallPairs].map((values) => values?.lost ?? 0),
    }
  },
})

interface Measuring {
  readonly bench: Workbench
  readonly gateway: GatewayProcess
  readonly others: readonly BenchDevice[]
  readonly durationS: number
}

async function measure({ bench, gateway, others, durationS }: Measuring, order: Order): Promise<Run> {
  const script = new URL('./barn-devices.ts', import.meta.url)
  const barn = new ForkedScript<BarnFunctions>(bench, 'devices in the barn', script)
  await barn.call('connect', gateway.ports.mqtt, order.devices)
  await barn.call('report')
  let [refused, receivedS] = [0, Number.POSITIVE_INFINITY]
  const load = () => startDeviceLoad(bench, gateway, others, 1, { warmupS: 1, durationS })
  const pair = await measurePair(load, async () => {
    await barn.call('forget')
    const startedAtMs = Date.now()
    refused = await order.give()
    const receivedAtMs = await barn.call('lastReceivedAtMs', order.devices.length - refused, RECEIVED_LIMIT_MS)
    if (receivedAtMs !== null) receivedS = (receivedAtMs - startedAtMs) / 1000
  })
  printProgress(`  ${receivedS.toFixed(2)} s`)
  await order.takeBack()
  await barn.stop()
  return { receivedS, refused, pair }
}
