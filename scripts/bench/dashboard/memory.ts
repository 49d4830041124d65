import { setTimeout as sleep } from 'node:timers/promises'
import { atMost, formatMb, printProgress, type ScenarioReport, told } from '#scripts/rig/report.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import { DashboardGround } from './ground.ts'
import { drag, heapBytes } from './probes.ts'

/** An hour, looked at each minute, compared with the fifth. */
const FULL = { durationS: 3600, everyS: 60, fromS: 300 }
const SHORT = { durationS: 12, everyS: 3, fromS: 3 }
const TARGET_RATIO = 1.1

/** A tablet that is never loaded anew: what its page holds after a collection, in the course of time. */
export async function runMemory(context: ScenarioContext): Promise<ScenarioReport> {
  const { isShort } = context
  const plan = {
    ...(isShort ? SHORT : FULL),
    ...(context.durationS === undefined ? {} : { durationS: context.durationS }),
  }
  const ground = await DashboardGround.lay(context)
  const opened = await ground.openPage()
  await ground.show(opened, 'Map')
  const looks: { atS: number; bytes: number }[] = []
  const startedMs = performance.now()
  for (let atS = plan.everyS; atS <= plan.durationS; atS += plan.everyS) {
    await sleep(Math.max(0, startedMs + atS * 1000 - performance.now()))
    // what a person does now and then must leave nothing behind either
    await ground.show(opened, 'Fleet')
    await ground.show(opened, 'Map')
    await drag(opened.page, 1)
    const bytes = await heapBytes(opened.cdp)
    looks.push({ atS, bytes })
    printProgress(`  after ${atS} s: ${formatMb(bytes)} MB`)
  }
  await ground.clear()
  const first = looks.find(({ atS }) => atS >= Math.min(plan.fromS, plan.durationS))?.bytes ?? Number.NaN
  const last = looks.at(-1)?.bytes ?? Number.NaN
  const name = `dashboard: heap after ${plan.durationS} s : after ${plan.fromS} s`
  return {
    figures: [
      atMost(name, last / first, TARGET_RATIO, { digits: 2, isJudged: !isShort }),
      told('dashboard: heap at the end', `${formatMb(last)} MB`),
    ],
    raw: { plan, looks },
  }
}
