import type { Scenario } from '#scripts/rig/scenario.ts'

/** Scenarios of one topic. */
export interface Benchmark {
  readonly name: string
  readonly summary: string
  /** Describes the rounds on its command line. */
  readonly rounds: string
  readonly scenarios: readonly Scenario[]
}
