import { ForkedScript } from '#scripts/rig/calls.ts'
import type { Workbench } from '#scripts/rig/processes.ts'
import type { SwarmFunctions, SwarmPlan } from './swarm.ts'

/** Starts a swarm; resolves when all its devices are connected and subscribed. */
export async function startSwarm(bench: Workbench, plan: SwarmPlan): Promise<ForkedScript<SwarmFunctions>> {
  const swarm = new ForkedScript<SwarmFunctions>(bench, new URL('./swarm.ts', import.meta.url))
  await swarm.call('connect', plan)
  return swarm
}
