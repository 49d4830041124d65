import { setTimeout as sleep } from 'node:timers/promises'
import { formatMb, printProgress } from '#scripts/rig/report.ts'
import { measurement } from '#scripts/rig/scenario.ts'
import { openDashboard, show } from './environment.ts'
import { compiledBytes, drag, heapBytes } from './probes.ts'

/**
 * An hour, sampled each minute and compared with the fifth. Until then each action is repeated every ten seconds, later
 * once a minute: V8 compiles frequently used code, by the fifth minute as much as by the hour.
 */
const FULL = { everyS: 60, fromS: 300, warmEveryS: 10 }
const SHORT = { everyS: 3, fromS: 3, warmEveryS: 3 }

/** Measures a tablet that is never reloaded: heap size of its page after a collection, over time. */
export const memory = measurement({
  name: 'memory',
  summary: 'the same for an hour: heap of the page at its end : after five minutes',
  durationS: [3600, 12],
  figures: {
    heap: { what: 'heap', target: ['<=', 1.1], digits: 2 },
    ownHeap: { what: 'heap without compiled code', target: ['<=', 1.1], digits: 2 },
    end: { what: 'heap at the end', unit: ' MB', digits: 1 },
  },
  async run(context) {
    const { isShort, durationS } = context
    const { everyS, fromS, warmEveryS } = isShort ? SHORT : FULL
    const dashboard = await openDashboard(context)
    const { page, cdp } = await dashboard.openPage()
    await page.goto(dashboard.appUrl)
    await show(page, 'Map')
    /** With and without the compiled code, at the two moments that are compared. */
    const compared: { bytes: number; ownBytes: number }[] = []
    const startedMs = performance.now()
    for (let atS = warmEveryS; atS <= durationS; atS += atS < fromS ? warmEveryS : everyS) {
      await sleep(Math.max(0, startedMs + atS * 1000 - performance.now()))
      // occasional actions of a user must not leave memory in use either
      await show(page, 'Fleet')
      await show(page, 'Map')
      await drag(page, 1)
      if (atS % everyS !== 0) continue
      const bytes = await heapBytes(cdp)
      printProgress(`  after ${atS} s: ${formatMb(bytes)} MB`)
      if (atS !== fromS && atS + everyS <= durationS) continue
      compared.push({ bytes, ownBytes: bytes - (await compiledBytes(cdp)) })
    }
    await dashboard.clear()
    const [first, last] = [compared[0], compared.at(-1)]
    if (first === undefined || last === undefined) throw new Error('too short for a measurement')
    return { heap: last.bytes / first.bytes, ownHeap: last.ownBytes / first.ownBytes, end: last.bytes / 1e6 }
  },
})
