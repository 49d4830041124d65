import type { Benchmark } from '../benchmark.ts'
import { idle } from './idle.ts'
import { neighbours } from './neighbours.ts'
import { soak } from './soak.ts'
import { storm } from './storm.ts'

export const broker: Benchmark = {
  name: 'broker',
  summary: 'many clients: memory, reconnect storms, noisy clients, hours of work',
  rounds: 'storms of each kind, pairs of measurements alone and disturbed',
  scenarios: [idle, storm, neighbours, soak],
}
