import type { Workbench } from '#scripts/rig/processes.ts'
import type { Scenario } from '#scripts/rig/scenario.ts'

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
