import type { Benchmark } from '../benchmark.ts'
import { day } from './day.ts'
import { firstLoad } from './first-load.ts'
import { line } from './line.ts'
import { load } from './load.ts'
import { memory } from './memory.ts'
import { slow } from './slow.ts'
import { zones } from './zones.ts'

/**
 * Scenarios of the dashboard: each uses one Chromium without a GPU and its own gateway, with carts that report once a
 * second. Times of the main thread are CPU times as Chromium reports them; frames compare within a machine only.
 */
export const dashboard: Benchmark = {
  name: 'dashboard',
  summary: 'the app in Chromium: bytes, CPU, frames, memory, connection',
  rounds: 'runs of each',
  scenarios: [firstLoad, load, slow, zones, memory, line, day],
}
