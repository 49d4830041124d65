import { setTimeout as sleep } from 'node:timers/promises'
import { atLeast, atMost, median, printProgress, type ScenarioReport, withoutTarget } from '#scripts/rig/report.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import { mustReach } from '#scripts/rig/wait-until.ts'
import { DashboardEnvironment } from './environment.ts'
import { drag, framesPerS, NOTE_FIRST_CART, readTimes, slowDown } from './probes.ts'

const RATE = 4
const TARGETS = { framesPerS: 30, paintS: 1.5, cartsS: 3 }
const DURATION_S = 15
const SHORT_S = 3
const ROUNDS = 5
const LIMIT_MS = 60_000

/** Measures a tablet that is four times as slow: time until something is visible, and smoothness of the map. */
export async function runSlow(context: ScenarioContext): Promise<ScenarioReport> {
  const { isShort } = context
  const durationS = context.durationS ?? (isShort ? SHORT_S : DURATION_S)
  const rounds = context.rounds ?? (isShort ? 1 : ROUNDS)
  const environment = await DashboardEnvironment.lay(context)
  const raw = { paintS: [] as number[], cartsS: [] as number[], restFps: 0, dragFps: 0 }
  for (let round = 0; round < rounds; round++) {
    // a new browser: nothing is cached
    const opened = await environment.openPage()
    await slowDown(opened.cdp, RATE)
    await opened.page.addInitScript(NOTE_FIRST_CART)
    await opened.page.goto(`${environment.link.url}/app/`)
    const areShown = async () => (await readTimes(opened.page)).cartsMs !== null
    await mustReach(areShown, LIMIT_MS, 'no cart came onto the map', 100)
    const { paintMs, cartsMs } = await readTimes(opened.page)
    raw.paintS.push((paintMs ?? Number.POSITIVE_INFINITY) / 1000)
    raw.cartsS.push((cartsMs ?? Number.POSITIVE_INFINITY) / 1000)
    printProgress(`  painted after ${paintMs?.toFixed(0)} ms, carts after ${cartsMs?.toFixed(0)} ms`)
    if (round === rounds - 1) {
      raw.restFps = await framesPerS(opened.page, () => sleep(durationS * 1000))
      raw.dragFps = await framesPerS(opened.page, () => drag(opened.page, durationS))
    }
    await opened.context.close()
  }
  await environment.clear()
  const judged = { isJudged: !isShort }
  const slow = `dashboard: ${RATE} times as slow, ${environment.count} carts:`
  return {
    figures: [
      atLeast(`${slow} frames a second while the map is dragged`, raw.dragFps, TARGETS.framesPerS, judged),
      withoutTarget(`${slow} frames a second at rest`, raw.restFps.toFixed(0)),
      atMost(`${slow} first paint`, median(raw.paintS), TARGETS.paintS, { unit: ' s', digits: 2, ...judged }),
      atMost(`${slow} carts on the map`, median(raw.cartsS), TARGETS.cartsS, {
        unit: ' s',
        digits: 2,
        ...judged,
      }),
    ],
    raw,
  }
}
