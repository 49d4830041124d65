import { ForkedScript } from '#scripts/rig/calls.ts'
import { openCourse } from '#scripts/rig/course.ts'
import type { BenchDevice } from '#scripts/rig/gateway-api.ts'
import { type GatewayProcess, startGateway } from '#scripts/rig/gateway-process.ts'
import type { Workbench } from '#scripts/rig/processes.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import type { BarnFunctions } from './barn-devices.ts'
import type { TabletFunctions } from './tablets.ts'

/** Starts the gateway of a course with that many carts, which have one device each. */
export async function startCourse({ bench, entry }: ScenarioContext, count: number) {
  const dataDir = bench.createFolder('staff')
  const gateway = await startGateway(bench, { entry, dataDir })
  await openCourse(gateway.api)
  const devices = await gateway.api.registerCarts(count)
  return { gateway, devices, dataDir }
}

/** Connects devices that stand in the barn and report so. */
export async function startBarn(bench: Workbench, { ports }: GatewayProcess, devices: readonly BenchDevice[]) {
  const barn = new ForkedScript<BarnFunctions>(bench, new URL('./barn-devices.ts', import.meta.url))
  await barn.call('connect', ports.mqtt, devices)
  await barn.call('report')
  return barn
}

/** Signs in that many tablets with the key of a user who sees everything. */
export async function startTablets(bench: Workbench, { api, ports }: GatewayProcess, count: number, key?: string) {
  const apiKey = key ?? (await api.createShop())
  const tablets = new ForkedScript<TabletFunctions>(bench, new URL('./tablets.ts', import.meta.url))
  await tablets.call('signIn', { port: ports.http, apiKey, tablets: count })
  return tablets
}
