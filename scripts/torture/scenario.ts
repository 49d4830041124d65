import { type Figure, linesOf, type Value } from '#scripts/rig/figures.ts'
import type { Workbench } from '#scripts/rig/processes.ts'
import { printProgress } from '#scripts/rig/report.ts'
import type { Scenario } from '#scripts/rig/scenario.ts'

const MAX_FAULTS = 10

export interface TortureContext {
  bench: Workbench
  /** Gateway program. */
  entry: string
  /** A few deaths instead of hundreds: for CI. */
  isShort: boolean
  /** Number of kills or power cuts from the command line, in place of the scenario's own. */
  cycles: number | undefined
  /** Seed of the random events, in scenarios that can repeat them; undefined for a random one. */
  seed: number | undefined
  /** Shows that the scenario can fail, with a disk that lies. */
  proves: boolean
}

/** Kind of adverse condition for a gateway, with its checks. */
export type TortureScenario = Scenario<TortureContext>

/** Context of a run, with its number of cycles and the seed of its random events. */
export interface OrdealContext extends TortureContext {
  cycles: number
  seed: number
}

/** Faults that a gateway must survive, and the figures that are measured afterwards. */
interface Ordeal<Key extends string> {
  readonly name: string
  readonly summary: string
  /** Kills, power cuts or other cycles of a full run, and of a short one. */
  readonly cycles: readonly [full: number, short: number]
  /** Figures by key, in the order of the results. */
  readonly figures: Readonly<Record<Key, Figure>>
  /** Measures each of them. */
  run(context: OrdealContext): Promise<Readonly<Record<Key, Value>>>
}

/** Declares a scenario, whose `run` returns a value for each of its figures. */
export function ordeal<Key extends string>(one: Ordeal<Key>): TortureScenario {
  const { name, summary, figures } = one
  return {
    name,
    summary,
    figures,
    run: async (context) => {
      // a few cycles are enough for a proof
      const isShort = context.isShort || context.proves
      const cycles = context.cycles ?? one.cycles[isShort ? 1 : 0]
      const seed = context.seed ?? Math.floor(Math.random() * 2 ** 31)
      const values = await one.run({ ...context, cycles, seed })
      return { figures: linesOf(figures, values, isShort), raw: { cycles, seed, values }, values }
    },
  }
}

/** Values of figures that a run leaves out. */
export function notMeasured<Key extends string>(figures: Readonly<Record<Key, Figure>>): Record<Key, Value> {
  return Object.fromEntries(Object.keys(figures).map((key) => [key, null])) as Record<Key, Value>
}

/** Prints faults that a check found: only the first, which are enough to search for the reason. */
export function printFaults(faults: readonly string[]): void {
  for (const fault of faults.slice(0, MAX_FAULTS)) printProgress(`    ${fault}`)
}
