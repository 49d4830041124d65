import type { Workbench } from '#scripts/rig/processes.ts'
import { describeUsage, runScenarios } from '#scripts/rig/run-scenarios.ts'
import type { Scenario } from '#scripts/rig/scenario.ts'
import { idle } from './idle.ts'
import { neighbours } from './neighbours.ts'
import { soak } from './soak.ts'
import { storm } from './storm.ts'

const SCENARIOS: readonly Scenario[] = [idle, storm, neighbours, soak]

/** How to call the benchmark. */
export const brokerUsage = describeUsage('broker', SCENARIOS, 'storms of a kind, pairs of alone and beside')

/** Measures what many clients cost and what bad ones can do. Returns whether every target was met. */
export function runBroker(bench: Workbench, args: string[]): Promise<boolean> {
  return runScenarios('broker', SCENARIOS, bench, args)
}
