import { setTimeout as sleep } from 'node:timers/promises'
import { atMost, median, printProgress, type ScenarioReport, withoutTarget } from '#scripts/rig/report.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import { DashboardEnvironment } from './environment.ts'
import { drag, mainThreadMs } from './probes.ts'

const TARGETS_MS = { rest: 150, dragging: 350, table: 150 }
const DURATION_S = 20
const SHORT_S = 3
const ROUNDS = 3

/** Measures one page while every cart reports once a second: idle, with the map dragged, on the fleet's table. */
export async function runLoad(context: ScenarioContext): Promise<ScenarioReport> {
  const { isShort } = context
  const durationS = context.durationS ?? (isShort ? SHORT_S : DURATION_S)
  const rounds = context.rounds ?? (isShort ? 1 : ROUNDS)
  const environment = await DashboardEnvironment.lay(context)
  const opened = await environment.openPage()
  const { page, cdp } = opened
  const before = await environment.carts.call('counts')
  const startedMs = performance.now()
  const runs: Record<keyof typeof TARGETS_MS, number[]> = { rest: [], dragging: [], table: [] }
  for (let round = 0; round < rounds; round++) {
    await environment.show(opened, 'Map')
    runs.rest.push(await mainThreadMs(cdp, () => sleep(durationS * 1000)))
    runs.dragging.push(await mainThreadMs(cdp, () => drag(page, durationS)))
    await environment.show(opened, 'Fleet')
    runs.table.push(await mainThreadMs(cdp, () => sleep(durationS * 1000)))
    printProgress(
      `  ${Object.entries(runs)
        .map(([name, all]) => `${name} ${all.at(-1)?.toFixed(0)} ms`)
        .join(', ')}`,
    )
  }
  const { sent } = await environment.carts.call('counts')
  const perS = (sent - before.sent) / ((performance.now() - startedMs) / 1000)
  await environment.clear()
  const name = (what: string) => `dashboard: ${environment.count} carts: main thread a second ${what}`
  const options = { unit: ' ms', isJudged: !isShort }
  return {
    figures: [
      atMost(name('at rest on the map'), median(runs.rest), TARGETS_MS.rest, options),
      atMost(name('while the map is dragged'), median(runs.dragging), TARGETS_MS.dragging, options),
      atMost(name("on the fleet's table"), median(runs.table), TARGETS_MS.table, options),
      withoutTarget('dashboard: messages of carts a second', perS.toFixed(0)),
    ],
    raw: { durationS, carts: environment.count, runs, perS },
  }
}
