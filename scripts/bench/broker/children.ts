import { ForkedScript } from '#scripts/rig/calls.ts'
import type { Workbench } from '#scripts/rig/processes.ts'
import type { NeighbourFunctions } from './neighbour.ts'
import type { NeighbourKind, NeighbourPlan } from './neighbour-plan.ts'
import type { SwarmFunctions, SwarmPlan } from './swarm.ts'

/** Starts a noisy client or the regular ones; resolves when it has begun. */
export async function startNeighbour(
  bench: Workbench,
  kind: NeighbourKind,
  plan: NeighbourPlan,
): Promise<ForkedScript<NeighbourFunctions>> {
  const script = new URL('./neighbour.ts', import.meta.url)
  const neighbour = new ForkedScript<NeighbourFunctions>(bench, kind, script)
  await neighbour.call('start', kind, plan)
  return neighbour
}

/** Starts a swarm; resolves when all its devices are connected and subscribed. */
export async function startSwarm(bench: Workbench, plan: SwarmPlan): Promise<ForkedScript<SwarmFunctions>> {
  const swarm = new ForkedScript<SwarmFunctions>(bench, 'swarm', new URL('./swarm.ts', import.meta.url))
  await swarm.call('connect', plan)
  return swarm
}
