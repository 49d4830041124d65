import type { Benchmark } from '../benchmark.ts'
import { months } from './months.ts'
import { listening, rest, size, trips } from './start.ts'

export const start: Benchmark = {
  name: 'start',
  summary: 'a gateway with a year on the disk: start, memory, idle load',
  rounds: 'starts of each kind',
  scenarios: [listening, rest, trips, months, size],
}
