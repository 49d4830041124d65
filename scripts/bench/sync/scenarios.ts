import type { Benchmark } from '../benchmark.ts'
import { runDrain } from './drain.ts'
import { runLag } from './lag.ts'
import { runSites } from './sites.ts'

export const sync: Benchmark = {
  name: 'sync',
  summary: 'replication to a hub: lag, drain, bytes, many sites',
  rounds: 'drains',
  scenarios: [
    { name: 'lag', summary: '200 devices x 1/s: from the device to the hub, bytes a row', run: runLag },
    { name: 'drain', summary: 'ten days of backlog: the map first, then the rest; devices meanwhile', run: runDrain },
    { name: 'sites', summary: '200 simulated sites on one hub', run: runSites },
  ],
}
