import type { Workbench } from '#scripts/rig/processes.ts'
import type { Scenario } from '#scripts/rig/scenario.ts'

/** What every scenario gets. */
export interface TortureContext {
  bench: Workbench
  /** The gateway program. */
  entry: string
  /** A few deaths instead of hundreds: for CI. */
  isShort: boolean
  /** Kills, or power cuts, from the command line in place of the scenario's own. */
  cycles: number | undefined
  /** Of what happens by chance, where a scenario can repeat it; undefined for one by chance. */
  seed: number | undefined
  /** Show that the scenario can fail, with a disk that lies. */
  proves: boolean
}

/** One way of making a gateway's life hard, with its checks. */
export type TortureScenario = Scenario<TortureContext>
