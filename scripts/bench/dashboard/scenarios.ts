import type { Benchmark } from '../benchmark.ts'
import { runDay } from './day.ts'
import { runFirstLoad } from './first-load.ts'
import { runLine } from './line.ts'
import { runLoad } from './load.ts'
import { runMemory } from './memory.ts'
import { runSlow } from './slow.ts'
import { runZones } from './zones.ts'

/**
 * Scenarios of the dashboard: each uses one Chromium without a GPU and its own gateway, with carts that report once a
 * second. Times of the main thread are CPU times as Chromium reports them; frames compare within a machine only.
 */
export const dashboard: Benchmark = {
  name: 'dashboard',
  summary: 'the app in Chromium: bytes, CPU, frames, memory, connection',
  rounds: 'runs of each',
  scenarios: [
    { name: 'first-load', summary: 'bytes until the map is shown, seconds of a build', run: runFirstLoad },
    { name: 'load', summary: '500 carts at one message a second: main thread of a page', run: runLoad },
    { name: 'slow', summary: 'the same on a tablet four times as slow: first paint, frames', run: runSlow },
    {
      name: 'zones',
      summary: 'a corner of 100 zones of 200 corners dragged, four times as slow',
      run: runZones,
    },
    { name: 'memory', summary: 'the same for an hour: heap of the page', run: runMemory },
    {
      name: 'line',
      summary: 'a connection that closes or goes silent, and 40 tablets that reconnect',
      run: runLine,
    },
    {
      name: 'day',
      summary: "a cart's day at one fix a second, any minute of a day of 200 carts: until they are shown",
      run: runDay,
    },
  ],
}
