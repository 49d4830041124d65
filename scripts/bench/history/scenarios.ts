import type { Benchmark } from '../benchmark.ts'
import { createHistoryScenarios } from './history.ts'

export const history: Benchmark = {
  name: 'history',
  summary: 'long histories: bytes on the disk, trips, sealing',
  rounds: 'runs of each measurement',
  scenarios: createHistoryScenarios(),
}
