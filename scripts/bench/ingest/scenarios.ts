import type { Benchmark } from '../benchmark.ts'
import { kill } from './kill.ts'
import { memory } from './memory.ts'
import { peers } from './peers/peers.ts'
import { fewClients, saturation } from './saturation.ts'
import { steady } from './steady.ts'

export const ingest: Benchmark = {
  name: 'ingest',
  summary: 'from the device to the disk: latency, throughput, loss, memory',
  rounds: 'rounds of saturation, number of kills',
  scenarios: [steady, saturation, fewClients, peers, kill, memory],
}
