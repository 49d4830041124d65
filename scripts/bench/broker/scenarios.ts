import type { Benchmark } from '../benchmark.ts'
import { runIdle } from './idle.ts'
import { runNeighbours } from './neighbours.ts'
import { runSoak } from './soak.ts'
import { runStorm } from './storm.ts'

export const broker: Benchmark = {
  name: 'broker',
  summary: 'many clients: memory, reconnect storms, noisy clients, hours of work',
  rounds: 'storms of each kind, pairs of measurements alone and disturbed',
  scenarios: [
    { name: 'idle', summary: '5,000 idle clients: resident memory of each', run: runIdle },
    {
      name: 'storm',
      summary: '2,000 kept sessions with last wills are cut and reconnect, all together',
      run: runStorm,
    },
    {
      name: 'neighbours',
      summary: '200 devices at 1 message a second, with each kind of noisy client',
      run: runNeighbours,
    },
    { name: 'soak', summary: '500 messages a second of every kind for an hour: memory must not grow', run: runSoak },
  ],
}
