import type { Benchmark } from '../benchmark.ts'
import { everything, named } from './fan-out.ts'

export const realtime: Benchmark = {
  name: 'realtime',
  summary: 'many readers of /realtime: delivery, CPU, effect on devices',
  rounds: 'not used',
  scenarios: [everything, named],
}
