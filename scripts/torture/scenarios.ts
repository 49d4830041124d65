import type { Topic } from '#scripts/rig/figure-tables.ts'
import { clocks } from './clocks/clocks.ts'
import { damage } from './damage/damage.ts'
import { log } from './damage/log-check.ts'
import { kill } from './kill.ts'
import { neighbours } from './neighbours/neighbours.ts'
import { power } from './power.ts'
import type { TortureScenario } from './scenario.ts'
import { starts } from './starts.ts'
import { restores } from './sync/restores.ts'
import { sync } from './sync/sync.ts'

export const SCENARIOS: readonly TortureScenario[] = [
  kill,
  power,
  sync,
  restores,
  starts,
  log,
  clocks,
  damage,
  neighbours,
]

/** Scenarios that `--prove` runs. */
export const PROVED: readonly TortureScenario[] = [power, sync]

/** The scenarios as a topic of the documents. */
export const TORTURE_TOPIC: Topic = { command: 'torture', scenarios: SCENARIOS }
