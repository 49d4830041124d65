import type { Workbench } from './processes.ts'
import type { ScenarioReport } from './report.ts'

export interface ScenarioContext {
  bench: Workbench
  /** Gateway program. */
  entry: string
  /** Second gateway, which a scenario may run alternately with it. */
  beside?: string | undefined
  /** True for the short form instead of a measurement: fewer devices, seconds instead of minutes. */
  isShort: boolean
  /** Duration from the command line, in place of the scenario's own. */
  durationS: number | undefined
  rounds: number | undefined
}

/** Kind of load or fault, with its checks. */
export interface Scenario<Context = ScenarioContext> {
  name: string
  summary: string
  run(context: Context): Promise<ScenarioReport>
}
