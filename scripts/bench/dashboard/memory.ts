import { setTimeout as sleep } from 'node:timers/promises'
import { atMost, formatMb, printProgress, type ScenarioReport, withoutTarget } from '#scripts/rig/report.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import { DashboardEnvironment } from './environment.ts'
import { compiledBytes, drag, heapBytes } from './probes.ts'

/**
 * An hour, sampled each minute and compared with the fifth. Until then each action is repeated every ten seconds, later
 * once a minute: V8 compiles frequently used code, by the fifth minute as much as by the hour.
 */
const FULL = { durationS: 3600, everyS: 60, fromS: 300, warmEveryS: 10 }
const SHORT = { durationS: 12, everyS: 3, fromS: 3, warmEveryS: 3 }
const TARGET_RATIO = 1.1

/** Heap size of the page at a moment, including our program as compiled by V8. */
interface HeapMeasurement {
  atS: number
  bytes: number
  /** Size of the compiled code; read only at the two moments that are compared. */
  codeBytes: number | null
}

/** Measures a tablet that is never reloaded: heap size of its page after a collection, over time. */
export async function runMemory(context: ScenarioContext): Promise<ScenarioReport> {
  const { isShort } = context
  const plan = {
    ...(isShort ? SHORT : FULL),
    ...(context.durationS === undefined ? {} : { durationS: context.durationS }),
  }
  const environment = await DashboardEnvironment.lay(context)
  const opened = await environment.openPage()
  await environment.show(opened, 'Map')
  const measurements: HeapMeasurement[] = []
  const startedMs = performance.now()
  for (let atS = plan.warmEveryS; atS <= plan.durationS; atS += atS < plan.fromS ? plan.warmEveryS : plan.everyS) {
    await sleep(Math.max(0, startedMs + atS * 1000 - performance.now()))
    // occasional actions of a user must not leave memory in use either
    await environment.show(opened, 'Fleet')
    await environment.show(opened, 'Map')
    await drag(opened.page, 1)
    if (atS % plan.everyS !== 0) continue
    const bytes = await heapBytes(opened.cdp)
    const isCompared = atS === plan.fromS || atS + plan.everyS > plan.durationS
    measurements.push({ atS, bytes, codeBytes: isCompared ? await compiledBytes(opened.cdp) : null })
    printProgress(`  after ${atS} s: ${formatMb(bytes)} MB`)
  }
  await environment.clear()
  const first = measurements.find(({ atS }) => atS >= Math.min(plan.fromS, plan.durationS))
  const last = measurements.at(-1)
  const ratio = (of: (measurement: HeapMeasurement) => number) =>
    first === undefined || last === undefined ? Number.NaN : of(last) / of(first)
  const span = `after ${plan.durationS} s : after ${plan.fromS} s`
  const judged = { digits: 2, isJudged: !isShort }
  return {
    figures: [
      atMost(
        `dashboard: heap ${span}`,
        ratio(({ bytes }) => bytes),
        TARGET_RATIO,
        judged,
      ),
      atMost(
        `dashboard: heap without compiled code ${span}`,
        ratio(({ bytes, codeBytes }) => bytes - (codeBytes ?? Number.NaN)),
        TARGET_RATIO,
        judged,
      ),
      withoutTarget('dashboard: heap at the end', `${formatMb(last?.bytes ?? Number.NaN)} MB`),
    ],
    raw: { plan, looks: measurements },
  }
}
