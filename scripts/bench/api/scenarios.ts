import type { Benchmark } from '../benchmark.ts'
import { counts } from './counts.ts'
import { downloads } from './downloads.ts'
import { requests } from './requests.ts'

export const api: Benchmark = {
  name: 'api',
  summary: 'HTTP: requests a second, counts and downloads of a long history',
  rounds: 'runs of each kind, alternating',
  scenarios: [requests, counts, downloads],
}
