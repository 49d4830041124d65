import type { Figure } from '#scripts/rig/figures.ts'
import { printProgress } from '#scripts/rig/report.ts'
import { measurement } from '#scripts/rig/scenario.ts'
import { startTablets } from '../staff/staffed-gateway.ts'
import { openDashboard, show } from './environment.ts'
import { secondsOf } from './probes.ts'

const TABLETS = { full: 40, short: 4 }
const LIMIT_MS = 60_000
const soon = (what: string, mostS: number): Figure => ({ what, unit: ' s', target: ['<=', mostS], digits: 2 })

/** Measures, with 40 tablets, how soon a page shows a lost connection (close or silence) and the gateway's return. */
export const line = measurement({
  name: 'line',
  summary: 'a connection that closes or goes silent, and 40 tablets that reconnect',
  rounds: 3,
  figures: {
    closed: soon('a closed connection is shown after', 5),
    silent: soon('a silent connection is shown after', 20),
    back: soon(`${TABLETS.full} tablets are live after the gateway listens`, 5),
  },
  async run(context) {
    const { bench, isShort, rounds } = context
    const dashboard = await openDashboard(context)
    const { link, apiKey } = dashboard
    const count = (isShort ? TABLETS.short : TABLETS.full) - 1
    const tablets = await startTablets(bench, dashboard.gateway, count, apiKey)
    const { page } = await dashboard.openPage()
    await page.goto(dashboard.appUrl)
    await show(page, 'Map')
    const banner = page.getByRole('status').filter({ hasText: 'No connection for' })
    const untilLost = () => banner.waitFor({ timeout: LIMIT_MS })
    const untilLive = () => banner.waitFor({ state: 'detached', timeout: LIMIT_MS })
    const untilTablets = async () => {
      const atMs = await tablets.call('allLiveAtMs', dashboard.count, LIMIT_MS)
      if (atMs === null) throw new Error('tablets did not reconnect')
    }
    const disturbed = async (disturb: () => void) => {
      disturb()
      const tookS = await secondsOf(untilLost)
      link.restore()
      await untilLive()
      return tookS
    }
    const values = { closed: [] as number[], silent: [] as number[], back: [] as number[] }
    for (let round = 0; round < rounds; round++) {
      values.closed.push(await disturbed(() => link.cut()))
      values.silent.push(await disturbed(() => link.freeze()))
      await dashboard.gateway.process.stop()
      await untilLost()
      await dashboard.restart()
      values.back.push(await secondsOf(() => Promise.all([untilLive(), untilTablets()])))
      printProgress(`  silent ${values.silent[round]?.toFixed(1)} s, back ${values.back[round]?.toFixed(1)} s`)
    }
    await tablets.call('stop')
    await tablets.stop()
    await dashboard.clear()
    return values
  },
})
