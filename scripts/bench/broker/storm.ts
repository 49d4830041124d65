import { setTimeout as sleep } from 'node:timers/promises'
import { startGateway } from '#scripts/rig/gateway-process.ts'
import { readCpuSeconds } from '#scripts/rig/process-usage.ts'
import {
  below,
  type Figure,
  formatCount,
  median,
  noneOf,
  printProgress,
  printTable,
  type ScenarioReport,
} from '#scripts/rig/report.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import { compileSlowFsync } from '#scripts/rig/slow-fsync.ts'
import { waitUntil } from '#scripts/rig/wait-until.ts'
import { startSwarm } from './children.ts'
import { countRetained, publishRetained } from './retained-messages.ts'
import type { StormKind, StormResult } from './swarm.ts'
import { willPayload } from './swarm-client.ts'

const KINDS: readonly StormKind[] = ['reconnect', 'resubscribe']
const TARGET_MS = 3000
const RETAINED = 2000
const PAUSE_MS = 2000
const WILLS_LIMIT_MS = 10_000

interface Environment {
  name: string
  retained: number
  preload?: string
}

interface StormRun {
  environment: string
  kind: StormKind
  result: StormResult
  gatewayCpuS: number
  /** Clients whose last will of this storm was not retained. */
  withoutWill: number
}

/** Measures the return of power to a whole course. */
export async function runStorm(context: ScenarioContext): Promise<ScenarioReport> {
  const clients = context.isShort ? 500 : 2000
  const rounds = context.rounds ?? (context.isShort ? 1 : 5)
  const slowFsync = compileSlowFsync(context.bench)
  if (slowFsync === undefined) printProgress('  C compiler not found: no run with a slow fsync')
  const environments: Environment[] = [
    { name: 'empty', retained: 0 },
    { name: `${formatCount(RETAINED)} retained`, retained: RETAINED },
  ]
  if (slowFsync !== undefined)
    environments.push({ name: 'retained, slow fsync', retained: RETAINED, preload: slowFsync })
  const runs: StormRun[] = []
  for (const environment of environments) runs.push(...(await measure(context, environment, clients, rounds)))
  print(runs, clients)
  return { figures: createFigures(runs, context.isShort), raw: { clients, rounds, runs } }
}

async function measure(
  { bench, entry }: ScenarioContext,
  environment: Environment,
  clients: number,
  rounds: number,
): Promise<StormRun[]> {
  const dataDir = bench.createFolder('storm')
  const registering = await startGateway(bench, { entry, dataDir })
  const devices = await registering.api.registerDevices(clients)
  const admin = await registering.api.createAdmin('storm')
  await registering.process.stop()

  const gateway = await startGateway(bench, { entry, dataDir, preload: environment.preload })
  const port = gateway.ports.mqtt
  await publishRetained(port, admin, environment.retained)
  const swarm = await startSwarm(bench, {
    port,
    leaves: ['cmd', 'cfg', 'ta'],
    isClean: false,
    hasWill: true,
    clients: devices,
  })
  const runs: StormRun[] = []
  for (let round = 0; round < rounds; round++) {
    for (const kind of KINDS) {
      await sleep(PAUSE_MS)
      const cpuBefore = readCpuSeconds(gateway.process.pid)
      const result = await swarm.call('storm', kind)
      const gatewayCpuS = readCpuSeconds(gateway.process.pid) - cpuBefore
      let withoutWill = clients
      const haveWills = async () => {
        withoutWill = clients - (await countRetained(port, admin, 'dev/+/st', willPayload(runs.length)))
        return withoutWill <= 0
      }
      await waitUntil(haveWills, WILLS_LIMIT_MS, PAUSE_MS)
      printProgress(`  ${environment.name}, ${kind}: ${formatCount(result.durationMs)} ms`)
      runs.push({ environment: environment.name, kind, result, gatewayCpuS, withoutWill })
    }
  }
  await swarm.stop()
  await gateway.process.stop()
  return runs
}

function print(runs: readonly StormRun[], clients: number): void {
  const rows = groupsOf(runs).map(([name, group]) => {
    const of = (pick: (run: StormRun) => number) => median(group.map(pick))
    return [
      name,
      formatCount(of(({ result }) => result.through.p50Ms)),
      formatCount(of(({ result }) => result.durationMs)),
      formatCount(Math.max(...group.map(({ result }) => result.durationMs))),
      of((run) => run.gatewayCpuS).toFixed(2),
      of(({ result }) => result.cpuS).toFixed(2),
    ]
  })
  const header = ['medians', 'half through ms', 'all through ms', 'worst ms', 'gateway CPU s', 'swarm CPU s']
  printTable(`Storm: ${formatCount(clients)} clients`, header, rows)
}

function createFigures(runs: readonly StormRun[], isShort: boolean): Figure[] {
  const sum = (pick: (run: StormRun) => number) => runs.reduce((total, run) => total + pick(run), 0)
  const counts = [
    ['without their session', sum(({ result }) => result.withoutSession)],
    ['subscriptions refused', sum(({ result }) => result.refusedSubscriptions)],
    ['last wills not retained', sum((run) => run.withoutWill)],
  ] as const
  return [
    ...groupsOf(runs).map(([name, group]) => {
      const durationMs = median(group.map(({ result }) => result.durationMs))
      return below(`storm: all through, ${name}`, durationMs, TARGET_MS, { unit: ' ms', isJudged: !isShort })
    }),
    ...counts.map(([name, count]) => noneOf(`storm: ${name}`, count)),
  ]
}

function groupsOf(runs: readonly StormRun[]): [string, StormRun[]][] {
  return [...Map.groupBy(runs, ({ environment, kind }) => `${kind}, ${environment}`)]
}
