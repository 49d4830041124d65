import type { ScenarioReport } from '#scripts/rig/report.ts'
import type { Scenario, ScenarioContext } from '#scripts/rig/scenario.ts'
import { runActive } from './active.ts'
import { runHistoryNeighbours } from './neighbours.ts'
import { runSealing } from './sealing.ts'
import { SharedHistory } from './shared-history.ts'
import { runSize } from './size.ts'
import { runStart } from './start.ts'
import { runTripsFleet } from './trips-fleet.ts'
import { runTripsOne } from './trips-one.ts'

type Run = (context: ScenarioContext, history: SharedHistory) => Promise<ScenarioReport>

/** Scenarios of long histories. All share one history, each part of which is made when first needed. */
export function createHistoryScenarios(): Scenario[] {
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
    scenario('trips-one', 'trips of a device, 31 days at a fix a second, compared with SQLite alone', runTripsOne),
    scenario('trips-fleet', 'trips of 50 devices, 31 days at a fix in 5 s: time, memory', runTripsFleet),
    scenario('active', 'those of 500 devices that are on a trip, with and without a log', runActive),
    scenario('neighbours', '200 devices at 1 message a second during all of that', runHistoryNeighbours),
    scenario('sealing', 'the log into blocks: speed, bytes written, 200 devices meanwhile', runSealing),
    scenario('start', 'with the history of a year; with --beside alternating with another gateway', runStart),
  ]
}
