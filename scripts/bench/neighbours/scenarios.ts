import type { Benchmark } from '../benchmark.ts'
import { createNeighbourScenarios } from './neighbours.ts'

export const neighbours: Benchmark = {
  name: 'neighbours',
  summary: 'one careless or hostile client, and its effect on all others',
  rounds: 'runs of each row',
  scenarios: createNeighbourScenarios(),
}
