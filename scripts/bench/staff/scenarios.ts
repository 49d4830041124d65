import type { Benchmark } from '../benchmark.ts'
import { alerts } from './alerts.ts'
import { heartbeat } from './heartbeat.ts'
import { ingest } from './ingest.ts'
import { list } from './list.ts'
import { orders } from './orders.ts'
import { rounds } from './rounds.ts'
import { tablets } from './tablets-return.ts'

export const staff: Benchmark = {
  name: 'staff',
  summary: 'carts, locks, alerts: cost and latency',
  rounds: 'runs of each',
  scenarios: [heartbeat, ingest, list, orders, rounds, tablets, alerts],
}
