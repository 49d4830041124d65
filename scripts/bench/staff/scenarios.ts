import type { Benchmark } from '../benchmark.ts'
import { runAlerts } from './alerts.ts'
import { runHeartbeat } from './heartbeat.ts'
import { runIngest } from './ingest.ts'
import { list } from './list.ts'
import { orders } from './orders.ts'
import { runRounds } from './rounds.ts'
import { runTabletsReturn } from './tablets-return.ts'

export const staff: Benchmark = {
  name: 'staff',
  summary: 'carts, locks, alerts: cost and latency',
  rounds: 'runs of each',
  scenarios: [
    { name: 'heartbeat', summary: 'cost of carts, alerts and auto-lock, per device and second', run: runHeartbeat },
    { name: 'ingest', summary: 'at full speed with all of that, compared with a gateway without', run: runIngest },
    list,
    orders,
    {
      name: 'rounds',
      summary: 'rounds of a day of 200 carts, and rounds in progress, under device load',
      run: runRounds,
    },
    { name: 'tablets', summary: '40 tablets of one user reconnect after a restart', run: runTabletsReturn },
    { name: 'alerts', summary: '500 alerts together, 20 webhooks and notifiers, half of which hang', run: runAlerts },
  ],
}
