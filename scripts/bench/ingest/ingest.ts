import type { Workbench } from '#scripts/rig/processes.ts'
import { describeUsage, runScenarios } from '#scripts/rig/run-scenarios.ts'
import type { Scenario } from '#scripts/rig/scenario.ts'
import { kill } from './kill.ts'
import { memory } from './memory.ts'
import { saturation } from './saturation.ts'
import { steady } from './steady.ts'

const SCENARIOS: readonly Scenario[] = [steady, saturation, kill, memory]

/** How to call the benchmark. */
export const ingestUsage = describeUsage('ingest', SCENARIOS, 'rounds of saturation, number of kills')

/** Measures the way of a message from the device to the disk. Returns whether every target was met. */
export function runIngest(bench: Workbench, args: string[]): Promise<boolean> {
  return runScenarios('ingest', SCENARIOS, bench, args)
}
