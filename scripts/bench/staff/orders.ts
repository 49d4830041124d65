import { openCourse } from '#scripts/rig/course.ts'
import { type Figure, none } from '#scripts/rig/figures.ts'
import type { BenchDevice } from '#scripts/rig/gateway-api.ts'
import { startGateway } from '#scripts/rig/gateway-process.ts'
import { measurePair, pairFigures, pairValues } from '#scripts/rig/load/beside.ts'
import { startDeviceLoad } from '#scripts/rig/load/process.ts'
import { printProgress } from '#scripts/rig/report.ts'
import { measurement } from '#scripts/rig/scenario.ts'
import { startBarn } from './staffed-gateway.ts'

const SIZES = { locked: 500, recalled: 200, others: 200 }
const SHORT = { locked: 20, recalled: 10, others: 10 }
const RECEIVED_LIMIT_MS = 30_000
const received: Figure = { what: 'until the last of them has it', unit: ' s', target: ['<=', 3], digits: 2 }
const { p99Ratio, lost } = pairFigures('200 other devices', 2)

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
    const { api } = gateway
    await openCourse(api)
    const locks = await api.registerCarts(sizes.locked, 'lock')
    const screens = await api.registerCarts(sizes.recalled, 'screen', 'cartcaddie')
    const others = await api.registerDevices(sizes.others)
    const load = () => startDeviceLoad(bench, gateway, others, 1, { warmupS: 1, durationS })

    /** Measures an order; `give` returns the number of refusals in the response. */
    const measure = async (devices: readonly BenchDevice[], give: () => Promise<number>) => {
      const barn = await startBarn(bench, gateway, devices)
      let [refused, receivedS] = [0, Number.POSITIVE_INFINITY]
      const pair = await measurePair(load, async () => {
        await barn.call('forget')
        const startedAtMs = Date.now()
        refused = await give()
        const receivedAtMs = await barn.call('lastReceivedAtMs', devices.length - refused, RECEIVED_LIMIT_MS)
        if (receivedAtMs !== null) receivedS = (receivedAtMs - startedAtMs) / 1000
      })
      printProgress(`  ${receivedS.toFixed(2)} s`)
      await barn.stop()
      return { receivedS, refused, pair }
    }
    const lockAll = async () => {
      const carts = locks.map((_, i) => `lock ${i + 1}`)
      const { results } = await api.call('POST /carts/lock', { body: { carts } })
      return results.filter((result) => 'code' in result).length
    }
    const recallAll = async () => {
      await api.call('POST /recall', { body: {} })
      return 0
    }

    const runs = []
    for (let round = 0; round < rounds; round++) {
      runs.push({ lock: await measure(locks, lockAll), recall: await measure(screens, recallAll) })
      await api.call('DELETE /recall', { body: {} })
    }
    await gateway.process.stop()
    const lockValues = pairValues(runs.map(({ lock }) => lock.pair))
    const recallValues = pairValues(runs.map(({ recall }) => recall.pair))
    return {
      lockReceived: runs.map(({ lock }) => lock.receivedS),
      lockRefused: runs.map(({ lock }) => lock.refused),
      lockP99: lockValues.p99Ratio,
      recallReceived: runs.map(({ recall }) => recall.receivedS),
      recallP99: recallValues.p99Ratio,
      lost: lockValues.lost + recallValues.lost,
    }
  },
})
