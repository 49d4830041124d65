import type { Workbench } from '#scripts/rig/processes.ts'
import { describeUsage, runScenarios } from '#scripts/rig/run-scenarios.ts'
import type { Scenario } from '#scripts/rig/scenario.ts'
import { runDrain } from './drain.ts'
import { runLag } from './lag.ts'
import { runSites } from './sites.ts'

const SCENARIOS: readonly Scenario[] = [
  { name: 'lag', summary: '200 devices x 1/s: from the device to the hub, bytes a row', run: runLag },
  {
    name: 'drain',
    summary: 'ten days of backlog: the map first, then the rest; devices beside it',
    run: runDrain,
  },
  { name: 'sites', summary: '200 simulated sites on one hub', run: runSites },
]

/** How to call the benchmark. */
export const syncUsage = describeUsage('sync', SCENARIOS, 'drains')

/** Measures the replication to a head office: a real hub, a real PostgreSQL. */
export function runSync(bench: Workbench, args: string[]): Promise<boolean> {
  return runScenarios('sync', SCENARIOS, bench, args)
}
