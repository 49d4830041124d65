import { counts } from './counts.ts'
import { downloads } from './downloads.ts'
import { requests } from './requests.ts'
import { describeUsage, runScenarios } from './run-scenarios.ts'
import type { Scenario } from './scenario.ts'
import type { Workbench } from './workbench.ts'

const SCENARIOS: readonly Scenario[] = [requests, counts, downloads]

/** How to call the benchmark. */
export const apiUsage = describeUsage('api', SCENARIOS, 'runs of each kind, alternating')

/** Measures what HTTP reads cost, short and long. Returns whether every target was met. */
export function runApi(bench: Workbench, args: string[]): Promise<boolean> {
  return runScenarios('api', SCENARIOS, bench, args)
}
