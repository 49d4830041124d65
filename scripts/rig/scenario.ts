import { type Figure, linesOf, type Value } from './figures.ts'
import type { Workbench } from './processes.ts'
import type { Line } from './report.ts'

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

/** Context of a run, with its rounds and its duration. */
export interface RunContext extends ScenarioContext {
  rounds: number
  durationS: number
}

/** Kind of load or fault, with what it measures. */
export interface Measurement<Key extends string = string> {
  readonly name: string
  readonly summary: string
  /** Rounds of a full run; a short one has one. */
  readonly rounds?: number
  /** Seconds of load of a run, and of one in the short form. */
  readonly durationS?: readonly [full: number, short: number]
  /** Figures by key, in the order of the results. */
  readonly figures: Readonly<Record<Key, Figure>>
  /** Measures each of them. */
  run(context: RunContext): Promise<Readonly<Record<Key, Value>>>
}

/** Declares a scenario, whose `run` returns a value for each of its figures. */
export function measurement<Key extends string>(one: Measurement<Key>): Scenario {
  const { name, summary, figures } = one
  const [fullS, shortS] = one.durationS ?? [0, 0]
  return {
    name,
    summary,
    figures,
    run: async (context) => {
      const { isShort, rounds = isShort ? 1 : (one.rounds ?? 1), durationS = isShort ? shortS : fullS } = context
      const values = await one.run({ ...context, rounds, durationS })
      return { figures: linesOf(figures, values, isShort), raw: { rounds, durationS, values }, values }
    },
  }
}

/** Result of a scenario: its lines of the summary and its raw results. */
export interface ScenarioReport {
  readonly figures: readonly Line[]
  readonly raw: unknown
  /** Value of each figure by its key. */
  readonly values?: Readonly<Record<string, Value>>
}

/** Kind of load or fault, with its checks. */
export interface Scenario<Context = ScenarioContext> {
  readonly name: string
  readonly summary: string
  readonly figures: Readonly<Record<string, Figure>>
  run(context: Context): Promise<ScenarioReport>
}
