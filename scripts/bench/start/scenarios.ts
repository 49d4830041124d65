import type { Benchmark } from '../benchmark.ts'
import { createStartScenarios } from './start.ts'

export const start: Benchmark = {
  name: 'start',
  summary: 'a gateway with a year on the disk: start, memory, idle load',
  rounds: 'starts of each kind',
  scenarios: createStartScenarios(),
}
