import type { Benchmark } from '../benchmark.ts'
import { runEverything, runNamed } from './fan-out.ts'

export const realtime: Benchmark = {
  name: 'realtime',
  summary: 'many readers of /realtime: delivery, CPU, effect on devices',
  rounds: 'not used',
  scenarios: [
    { name: 'everything', summary: '500 sockets on everything, 1,000 messages a second', run: runEverything },
    { name: 'named', summary: 'the same, with sockets that name every device', run: runNamed },
  ],
}
