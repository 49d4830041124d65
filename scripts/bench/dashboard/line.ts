import { ForkedScript } from '#scripts/rig/calls.ts'
import { startGateway } from '#scripts/rig/gateway-process.ts'
import { atMost, median, printProgress, type ScenarioReport } from '#scripts/rig/report.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import { mustReach } from '#scripts/rig/wait-until.ts'
import type { TabletFunctions } from '../staff/tablets.ts'
import { DashboardEnvironment, type OpenPage } from './environment.ts'

const TARGETS_S = { closed: 5, silent: 20, back: 5 }
const ROUNDS = 3
const TABLETS = { full: 40, short: 4 }
const LIMIT_MS = 60_000

/** Measures, with 40 tablets, how soon a page shows a lost connection (close or silence) and the gateway's return. */
export async function runLine(context: ScenarioContext): Promise<ScenarioReport> {
  const { bench, entry, isShort } = context
  const rounds = context.rounds ?? (isShort ? 1 : ROUNDS)
  const environment = await DashboardEnvironment.lay(context)
  const tablets = new ForkedScript<TabletFunctions>(bench, 'tablets', new URL('../staff/tablets.ts', import.meta.url))
  const { ports } = environment.gateway
  const dataDir = environment.dataDir
  const plan = {
    port: ports.http,
    apiKey: environment.apiKey,
    tablets: (isShort ? TABLETS.short : TABLETS.full) - 1,
  }
  await tablets.call('signIn', plan)
  const opened = await environment.openPage()
  await environment.show(opened, 'Map')
  const raw = { closedS: [] as number[], silentS: [] as number[], backS: [] as number[] }
  for (let round = 0; round < rounds; round++) {
    raw.closedS.push(
      await secondsUntil(
        () => environment.link.cut(),
        () => untilLost(opened),
      ),
    )
    environment.link.restore()
    await untilLive(opened)
    raw.silentS.push(
      await secondsUntil(
        () => environment.link.freeze(),
        () => untilLost(opened),
      ),
    )
    environment.link.restore()
    await untilLive(opened)
    await environment.gateway.process.stop()
    await untilLost(opened)
    environment.gateway = await startGateway(bench, { entry, dataDir, ports })
    const isBack = () => Promise.all([untilLive(opened), untilTablets(tablets, environment.count)])
    raw.backS.push(await secondsUntil(() => undefined, isBack))
    printProgress(`  closed ${at(raw.closedS)}, silent ${at(raw.silentS)}, back ${at(raw.backS)}`)
  }
  await tablets.call('stop')
  await tablets.stop()
  await environment.clear()
  const options = { unit: ' s', digits: 1, isJudged: !isShort }
  return {
    figures: [
      atMost('dashboard: a closed connection is shown after', median(raw.closedS), TARGETS_S.closed, options),
      atMost('dashboard: a silent connection is shown after', median(raw.silentS), TARGETS_S.silent, options),
      atMost(
        `dashboard: ${plan.tablets + 1} tablets live after the gateway listens`,
        median(raw.backS),
        TARGETS_S.back,
        options,
      ),
    ],
    raw,
  }
}

function at(seconds: readonly number[]): string {
  return `${seconds.at(-1)?.toFixed(1)} s`
}

async function secondsUntil(act: () => void, isDone: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now()
  act()
  await isDone()
  return (performance.now() - startedMs) / 1000
}

function untilLost({ page }: OpenPage): Promise<void> {
  return page.getByRole('status').filter({ hasText: 'No contact' }).waitFor({ timeout: LIMIT_MS })
}

function untilLive({ page }: OpenPage): Promise<void> {
  const banner = page.getByRole('status').filter({ hasText: 'No contact' })
  return banner.waitFor({ state: 'detached', timeout: LIMIT_MS })
}

async function untilTablets(tablets: ForkedScript<TabletFunctions>, carts: number): Promise<void> {
  const areLive = async () => (await tablets.call('allLiveAtMs', carts, LIMIT_MS)) !== null
  await mustReach(areLive, LIMIT_MS, 'tablets did not reconnect')
}
