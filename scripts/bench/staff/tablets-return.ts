import { ForkedScript } from '#scripts/rig/calls.ts'
import { type GatewayProcess, startGateway } from '#scripts/rig/gateway-process.ts'
import { atMost, median, printProgress, type ScenarioReport, withoutTarget } from '#scripts/rig/report.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import { must, openCourse, registerCarts } from '#scripts/rig/staff-course.ts'
import { mustReach } from '#scripts/rig/wait-until.ts'
import type { BarnFunctions } from './barn-devices.ts'
import type { TabletFunctions } from './tablets.ts'

const CARTS = 500
const TABLETS = 40
const SHORT = { carts: 20, tablets: 4 }
const ROUNDS = 5
const TARGET_S = 5
const LIMIT_MS = 60_000

/** Measures tablets of one user that reconnect together after a restart, each with a snapshot of all carts. */
export async function runTabletsReturn(context: ScenarioContext): Promise<ScenarioReport> {
  const { bench, entry, isShort } = context
  const rounds = context.rounds ?? (isShort ? 1 : ROUNDS)
  const sizes = isShort ? SHORT : { carts: CARTS, tablets: TABLETS }
  const dataDir = bench.createFolder('tablets')
  let gateway = await startGateway(bench, { entry, dataDir })
  const { ports } = gateway
  await openCourse(gateway)
  const carts = await registerCarts(gateway, { count: sizes.carts, deviceType: 'teebox', id: 'cart' })
  const barn = new ForkedScript<BarnFunctions>(bench, 'devices', new URL('./barn-devices.ts', import.meta.url))
  await barn.call('connect', ports.mqtt, carts)
  await barn.call('report')
  barn.kill()
  const script = new URL('./tablets.ts', import.meta.url)
  const tablets = new ForkedScript<TabletFunctions>(bench, 'tablets', script)
  await tablets.call('signIn', {
    port: ports.http,
    apiKey: await createStaff(gateway),
    tablets: sizes.tablets,
  })
  const live = async () => {
    const atMs = await tablets.call('allLiveAtMs', sizes.carts, LIMIT_MS)
    if (atMs === null) throw new Error('tablets did not reconnect')
    return atMs
  }
  await live()
  const runs: number[] = []
  for (let round = 0; round < rounds; round++) {
    await gateway.process.stop()
    const cutOff = async () => (await tablets.call('countCutOff')) === sizes.tablets
    await mustReach(cutOff, LIMIT_MS, 'tablets were not cut off')
    gateway = await startGateway(bench, { entry, dataDir, ports })
    const listeningAtMs = Date.now()
    const tookS = ((await live()) - listeningAtMs) / 1000
    printProgress(`  ${sizes.tablets} tablets live after ${tookS.toFixed(2)} s`)
    runs.push(tookS)
  }
  await tablets.call('stop')
  await Promise.all([tablets.stop(), gateway.process.stop()])
  const name = `staff: ${sizes.tablets} tablets live with ${sizes.carts} carts after a restart`
  return {
    figures: [
      atMost(name, median(runs), TARGET_S, { unit: ' s', digits: 2, isJudged: !isShort }),
      withoutTarget(`${name}, longest`, `${Math.max(...runs).toFixed(2)} s`),
    ],
    raw: { rounds, sizes, runs },
  }
}

/** API key of a user who sees everything. */
export async function createStaff(gateway: GatewayProcess): Promise<string> {
  const body = { name: 'Shop', role: 'staff', allowed_hardware_ids: ['*'] }
  return (await must(gateway, 'POST', '/users', body)).api_key
}
