import type { Topic } from '#scripts/rig/figure-tables.ts'
import { api } from './api/scenarios.ts'
import { backup } from './backup/scenarios.ts'
import type { Benchmark } from './benchmark.ts'
import { broker } from './broker/scenarios.ts'
import { dashboard } from './dashboard/scenarios.ts'
import { disk } from './disk/scenarios.ts'
import { blocks, history } from './history/scenarios.ts'
import { ingest } from './ingest/scenarios.ts'
import { neighbours } from './neighbours/scenarios.ts'
import { realtime } from './realtime/scenarios.ts'
import { reports } from './reports/scenarios.ts'
import { staff } from './staff/scenarios.ts'
import { start } from './start/scenarios.ts'
import { sync } from './sync/scenarios.ts'

export const BENCHMARKS: readonly Benchmark[] = [
  ingest,
  broker,
  api,
  history,
  blocks,
  reports,
  neighbours,
  realtime,
  disk,
  backup,
  sync,
  staff,
  dashboard,
  start,
]

/** The benchmarks as topics of the documents. */
export const BENCH_TOPICS: readonly Topic[] = BENCHMARKS.map(({ name, scenarios }) => ({
  command: `bench ${name}`,
  scenarios,
}))
