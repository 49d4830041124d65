import type { Benchmark } from '../benchmark.ts'
import { gatewayRows } from './gateway-rows.ts'
import { hubRows } from './hub-rows.ts'

/** Careless or hostile clients, a row for each kind that the audit found, and their cost for all others. */
export const neighbours: Benchmark = {
  name: 'neighbours',
  summary: 'one careless or hostile client, and its effect on all others',
  rounds: 'runs of each row',
  scenarios: [...gatewayRows, ...hubRows],
}
