import { setTimeout as sleep } from 'node:timers/promises'
import type { BenchDevice } from '#scripts/rig/gateway-api.ts'
import { startGateway } from '#scripts/rig/gateway-process.ts'
import { readResidentBytes } from '#scripts/rig/process-usage.ts'
import {
  below,
  formatCount,
  formatMb,
  median,
  printProgress,
  printTable,
  type ScenarioReport,
  withoutTarget,
} from '#scripts/rig/report.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import { startSwarm } from './children.ts'
import type { SwarmPlan } from './swarm-client.ts'

const TARGET_KB = 30
const SETTLE_MS = 5000
const SAMPLES = 9
const SAMPLE_GAP_MS = 500

interface Kind {
  name: string
  leaves: string[]
  isClean: boolean
  hasTarget: boolean
}

const KINDS: readonly Kind[] = [
  { name: '1 subscription, clean session', leaves: ['cmd'], isClean: true, hasTarget: true },
  {
    name: '3 subscriptions, kept session',
    leaves: ['cmd', 'cfg', 'ta'],
    isClean: false,
    hasTarget: false,
  },
]

interface Outcome {
  name: string
  hasTarget: boolean
  baseBytes: number
  connectedBytes: number
  perClientKb: number
}

/** Measures the cost of an idle client. */
export async function runIdle(context: ScenarioContext): Promise<ScenarioReport> {
  const clients = context.isShort ? 1000 : 5000
  const outcomes: Outcome[] = []
  for (const kind of KINDS) outcomes.push(await measure(context, clients, kind))
  printTable(
    `Idle: ${formatCount(clients)} clients`,
    ['', 'before MB', 'connected MB', 'KB each'],
    outcomes.map(({ name, baseBytes, connectedBytes, perClientKb }) => [
      name,
      formatMb(baseBytes),
      formatMb(connectedBytes),
      perClientKb.toFixed(1),
    ]),
  )
  return {
    figures: outcomes.map(({ name, hasTarget, perClientKb }) => {
      const figure = `idle: memory of a client, ${name}`
      if (!hasTarget) return withoutTarget(figure, `${perClientKb.toFixed(1)} KB`)
      // a tenth of the clients does not average out what the first few cost
      return below(figure, perClientKb, TARGET_KB, { unit: ' KB', digits: 1, isJudged: !context.isShort })
    }),
    raw: { clients, outcomes },
  }
}

/** Measures on a new gateway, started with devices registered before: registering leaves memory in use. */
async function measure(context: ScenarioContext, count: number, kind: Kind): Promise<Outcome> {
  const { bench, entry } = context
  const dataDir = bench.createFolder('idle')
  const clients = await register(context, dataDir, count)
  const gateway = await startGateway(bench, { entry, dataDir })
  const { pid } = gateway.process
  // the first client makes the gateway load code, which is not a cost per client
  await startSwarm(bench, planOf(gateway.ports.mqtt, kind, clients.slice(0, 1)))
  const baseBytes = await readSettled(pid)
  const swarm = await startSwarm(bench, planOf(gateway.ports.mqtt, kind, clients.slice(1)))
  printProgress(`  ${kind.name}: connected`)
  const connectedBytes = await readSettled(pid)
  const perClientKb = (connectedBytes - baseBytes) / (count - 1) / 1024
  await swarm.stop()
  await gateway.process.stop()
  return { name: kind.name, hasTarget: kind.hasTarget, baseBytes, connectedBytes, perClientKb }
}

async function register(context: ScenarioContext, dataDir: string, count: number): Promise<BenchDevice[]> {
  const gateway = await startGateway(context.bench, { entry: context.entry, dataDir })
  const devices = await gateway.api.registerDevices(count)
  await gateway.process.stop()
  return devices
}

function planOf(port: number, { leaves, isClean }: Kind, clients: BenchDevice[]): SwarmPlan {
  return { port, leaves, isClean, hasWill: false, clients }
}

/** Resident memory once the garbage collector has had time to run; the median of a few readings. */
async function readSettled(pid: number): Promise<number> {
  await sleep(SETTLE_MS)
  const samples: number[] = []
  for (let i = 0; i < SAMPLES; i++) {
    samples.push(readResidentBytes(pid))
    await sleep(SAMPLE_GAP_MS)
  }
  return median(samples)
}
