import type { Scenario } from '#scripts/rig/scenario.ts'
import { runDay } from './day.ts'
import { runFirstLoad } from './first-load.ts'
import { runLine } from './line.ts'
import { runLoad } from './load.ts'
import { runMemory } from './memory.ts'
import { runSlow } from './slow.ts'
import { runZones } from './zones.ts'

/**
 * The door of this room: one Chromium without a GPU and a gateway of its own for each scenario, beside carts that are
 * heard of once a second. Times of the main thread are Chromium's own, of CPU; frames compare within a machine only.
 */
export const DASHBOARD: readonly Scenario[] = [
  { name: 'first-load', summary: 'bytes until the map is there, seconds of a build', run: runFirstLoad },
  { name: 'load', summary: '500 carts at one message a second: main thread of a page', run: runLoad },
  { name: 'slow', summary: 'the same on a tablet four times as slow: first paint, frames', run: runSlow },
  {
    name: 'zones',
    summary: 'a corner of 100 zones of 200 corners dragged, four times as slow',
    run: runZones,
  },
  { name: 'memory', summary: 'the same for an hour: what the page holds', run: runMemory },
  {
    name: 'line',
    summary: 'a line that closes or falls silent, and 40 tablets that come back',
    run: runLine,
  },
  {
    name: 'day',
    summary: "a cart's day at one fix a second, any minute of a day of 200 carts: until they are shown",
    run: runDay,
  },
]
