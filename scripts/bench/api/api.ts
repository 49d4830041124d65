import type { Workbench } from '#scripts/rig/processes.ts'
import { describeUsage, runScenarios } from '#scripts/rig/run-scenarios.ts'
import type { Scenario } from '#scripts/rig/scenario.ts'
import { counts } from './counts.ts'
import { downloads } from './downloads.ts'
import { requests } from './requests.ts'

const SCENARIOS: readonly Scenario[] = [requests, counts, downloads]

/** How to call the benchmark. */
export const apiUsage = describeUsage('api', SCENARIOS, 'runs of each kind, alternating')

/** Measures what HTTP reads cost, short and long. Returns whether every target was met. */
export function runApi(bench: Workbench, args: string[]): Promise<boolean> {
  return runScenarios('api', SCENARIOS, bench, args)
}
