import { setTimeout as sleep } from 'node:timers/promises'
import { startGateway } from '#scripts/rig/gateway-process.ts'
import { checkHistory, type HistoryCheck } from '#scripts/rig/load/history-check.ts'
import type { LoadResult } from '#scripts/rig/load/plan.ts'
import { startDeviceLoad } from '#scripts/rig/load/process.ts'
import {
  type Figure,
  formatCount,
  median,
  noneOf,
  printProgress,
  printTable,
  type ScenarioReport,
  withoutTarget,
} from '#scripts/rig/report.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'

const DEVICES = 200
const PER_DEVICE_PER_S = 25
const LIFE_MIN_MS = 300
const LIFE_SPREAD_MS = 2000

interface Outcome {
  kills: number
  restartMs: number[]
  load: LoadResult
  history: HistoryCheck
}

/** Checks that a message with a PUBACK is on disk. */
export async function runKill(context: ScenarioContext): Promise<ScenarioReport> {
  const kills = context.rounds ?? (context.isShort ? 3 : 20)
  const outcome = await measure(context, kills)
  print(outcome)
  return { figures: createFigures(outcome), raw: outcome }
}

async function measure({ bench, entry }: ScenarioContext, kills: number): Promise<Outcome> {
  const dataDir = bench.createFolder('kill')
  let gateway = await startGateway(bench, { entry, dataDir })
  const clients = await gateway.api.registerDevices(DEVICES)
  const load = startDeviceLoad(bench, gateway, clients, PER_DEVICE_PER_S, { keepsJournal: true })
  await load.connected()

  const restartMs: number[] = []
  for (let done = 1; done <= kills; done++) {
    await sleep(LIFE_MIN_MS + Math.random() * LIFE_SPREAD_MS)
    const killedAtMs = performance.now()
    await gateway.process.stop('SIGKILL')
    gateway = await startGateway(bench, { entry, dataDir, ports: gateway.ports })
    restartMs.push(performance.now() - killedAtMs)
    await load.connected()
    printProgress(`  kill ${done} of ${kills}: listening again after ${formatCount(restartMs.at(-1) ?? 0)} ms`)
  }
  await sleep(LIFE_MIN_MS)
  load.stop()
  const { load: result, journal } = await load.finish()
  const history = await checkHistory(gateway.api, journal)
  await gateway.process.stop()
  return { kills, restartMs, load: result, history }
}

function print({ kills, restartMs, load, history }: Outcome): void {
  printTable(
    `Kill: ${kills} times kill -9 at ${formatCount(DEVICES * PER_DEVICE_PER_S)} messages a second`,
    ['acknowledged', 'stored', 'sent again', 'reconnects', 'missing', 'duplicates', 'restart ms'],
    [
      [
        history.acknowledged,
        history.stored,
        load.resent,
        load.reconnects,
        history.missing,
        history.duplicates,
        median(restartMs),
      ].map(formatCount),
    ],
  )
  for (const example of history.examples) printProgress(`  missing: ${example}`)
}

function createFigures({ load, history, restartMs }: Outcome): Figure[] {
  const counts = [
    ['acknowledged but missing', history.missing],
    ['stored twice', history.duplicates],
    ['never acknowledged', load.sent - load.acknowledged],
  ] as const
  return [
    ...counts.map(([name, count]) => noneOf(`kill: ${name}, of ${formatCount(history.acknowledged)}`, count)),
    withoutTarget('kill: listening again, median', `${formatCount(median(restartMs))} ms`),
  ]
}
