import type { Benchmark } from '../benchmark.ts'
import { maps, months, neighbours } from './reports.ts'

export const reports: Benchmark = {
  name: 'reports',
  summary: 'reports of a course of 200 carts: traffic, silences, utilisation, batteries',
  rounds: 'runs of each report',
  scenarios: [maps, months, neighbours],
}
