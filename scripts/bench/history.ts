import { runActive } from './history-active.ts'
import { runHistoryNeighbours } from './history-neighbours.ts'
import { runSealing } from './history-sealing.ts'
import { runSize } from './history-size.ts'
import { runTripsFleet } from './history-trips-fleet.ts'
import { runTripsOne } from './history-trips-one.ts'
import type { ScenarioReport } from './report.ts'
import { describeUsage, runScenarios } from './run-scenarios.ts'
import type { Scenario, ScenarioContext } from './scenario.ts'
import { SharedHistory } from './shared-history.ts'
import type { Workbench } from './workbench.ts'

type Run = (context: ScenarioContext, history: SharedHistory) => Promise<ScenarioReport>

/** How to call the benchmark. */
export const historyUsage = describeUsage('history', createScenarios(), 'runs of each measurement')

/** Measures what long histories cost: on the disk, to be made into trips, and the devices beside it. */
export function runHistory(bench: Workbench, args: string[]): Promise<boolean> {
  return runScenarios('history', createScenarios(), bench, args)
}

/** All scenarios of one run share what they read; it is made when the first of them wants it. */
function createScenarios(): Scenario[] {
  let history: SharedHistory | undefined
  const scenario = (name: string, summary: string, run: Run): Scenario => ({
    name,
    summary,
    run: (context) => {
      history ??= new SharedHistory(context)
      return run(context, history)
    },
  })
  return [
    scenario('size', 'bytes of a fix on the disk', runSize),
    scenario('trips-one', 'trips of a device, 31 days at a fix a second, beside SQLite alone', runTripsOne),
    scenario('trips-fleet', 'trips of 50 devices, 31 days at a fix in 5 s: time, memory', runTripsFleet),
    scenario('active', 'who of 500 devices is on a trip, with and without a log', runActive),
    scenario('neighbours', '200 devices at 1 message a second beside all of that', runHistoryNeighbours),
    scenario('sealing', 'the log into blocks: speed, bytes written, 200 devices beside it', runSealing),
  ]
}
