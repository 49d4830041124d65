import { setTimeout as sleep } from 'node:timers/promises'
import { printProgress } from '#scripts/rig/report.ts'
import { measurement } from '#scripts/rig/scenario.ts'
import { openDashboard, show } from './environment.ts'
import { drag, mainThreadMs } from './probes.ts'

/** Measures one page while every cart reports once a second: idle, with the map dragged, on the fleet's table. */
export const load = measurement({
  name: 'load',
  summary: '500 carts at one message a second: main thread of a page in each second',
  rounds: 3,
  // of each of the three
  durationS: [20, 3],
  figures: {
    rest: { what: 'at rest on the map', unit: ' ms', target: ['<=', 150] },
    dragging: { what: 'while the map is dragged', unit: ' ms', target: ['<=', 350] },
    table: { what: "on the fleet's table", unit: ' ms', target: ['<=', 150] },
    messages: { what: 'messages of the carts', unit: '/s' },
  },
  async run(context) {
    const { rounds, durationS } = context
    const dashboard = await openDashboard(context)
    const { page, cdp } = await dashboard.openPage()
    await page.goto(dashboard.appUrl)
    const [sentBefore, startedMs] = [await dashboard.carts.call('countSent'), performance.now()]
    const runs = { rest: [] as number[], dragging: [] as number[], table: [] as number[] }
    for (let round = 0; round < rounds; round++) {
      await show(page, 'Map')
      runs.rest.push(await mainThreadMs(cdp, () => sleep(durationS * 1000)))
      runs.dragging.push(await mainThreadMs(cdp, () => drag(page, durationS)))
      await show(page, 'Fleet')
      runs.table.push(await mainThreadMs(cdp, () => sleep(durationS * 1000)))
      printProgress(`  ${runs.rest[round]?.toFixed(0)}, ${runs.dragging[round]?.toFixed(0)} ms`)
    }
    const sent = (await dashboard.carts.call('countSent')) - sentBefore
    const messages = (sent * 1000) / (performance.now() - startedMs)
    await dashboard.clear()
    return { ...runs, messages }
  },
})
