import type { Benchmark } from '../benchmark.ts'
import { createReportScenarios } from './reports.ts'

export const reports: Benchmark = {
  name: 'reports',
  summary: 'reports of a course of 200 carts: traffic, silences, utilisation, batteries',
  rounds: 'runs of each report',
  scenarios: createReportScenarios(),
}
