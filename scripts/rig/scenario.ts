import type { Workbench } from './processes.ts'
import type { ScenarioReport } from './report.ts'

/** What every scenario gets. */
export interface ScenarioContext {
  bench: Workbench
  /** The gateway program. */
  entry: string
  /** Another one, that a scenario may run in turn with it. */
  beside?: string | undefined
  /** A look instead of a measurement: fewer devices, seconds instead of minutes. */
  isShort: boolean
  /** From the command line, in place of the scenario's own. */
  durationS: number | undefined
  rounds: number | undefined
}

/** One kind of load, or of misfortune, with its checks. */
export interface Scenario<Context = ScenarioContext> {
  name: string
  summary: string
  run(context: Context): Promise<ScenarioReport>
}
