import type { Benchmark } from '../benchmark.ts'
import { drain } from './drain.ts'
import { lag } from './lag.ts'
import { sites } from './sites.ts'

export const sync: Benchmark = {
  name: 'sync',
  summary: 'replication to a hub: lag, drain, bytes, many sites',
  rounds: 'drains',
  scenarios: [lag, drain, sites],
}
