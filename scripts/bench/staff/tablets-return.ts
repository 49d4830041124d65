import { startGateway } from '#scripts/rig/gateway-process.ts'
import { printProgress } from '#scripts/rig/report.ts'
import { measurement } from '#scripts/rig/scenario.ts'
import { mustReach } from '#scripts/rig/wait-until.ts'
import { startBarn, startCourse, startTablets } from './staffed-gateway.ts'

const SIZES = { carts: 500, tablets: 40 }
const SHORT = { carts: 20, tablets: 4 }
const LIMIT_MS = 60_000

/** Measures tablets of one user that reconnect together after a restart, each with a snapshot of all carts. */
export const tablets = measurement({
  name: 'tablets',
  summary: `${SIZES.tablets} tablets of one user reconnect after a restart, each with ${SIZES.carts} carts`,
  rounds: 5,
  figures: {
    liveS: { what: 'until the last tablet is live', unit: ' s', digits: 2, target: ['<=', 5] },
  },
  async run(context) {
    const { bench, entry, isShort, rounds } = context
    const sizes = isShort ? SHORT : SIZES
    const course = await startCourse(context, sizes.carts)
    let { gateway } = course
    const { ports } = gateway
    const barn = await startBarn(bench, gateway, course.devices)
    barn.kill()
    const tabletProcess = await startTablets(bench, gateway, sizes.tablets)
    const untilLive = async () => {
      const atMs = await tabletProcess.call('allLiveAtMs', sizes.carts, LIMIT_MS)
      if (atMs === null) throw new Error('tablets did not reconnect')
      return atMs
    }
    await untilLive()
    const liveS: number[] = []
    for (let round = 0; round < rounds; round++) {
      await gateway.process.stop()
      const isCutOff = async () => (await tabletProcess.call('countCutOff')) === sizes.tablets
      await mustReach(isCutOff, LIMIT_MS, 'tablets were not cut off')
      gateway = await startGateway(bench, { entry, dataDir: course.dataDir, ports })
      const listeningAtMs = Date.now()
      liveS.push(((await untilLive()) - listeningAtMs) / 1000)
      printProgress(`  ${liveS.at(-1)?.toFixed(2)} s`)
    }
    await tabletProcess.call('stop')
    await Promise.all([tabletProcess.stop(), gateway.process.stop()])
    return { liveS }
  },
})
