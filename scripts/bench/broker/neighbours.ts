import { setTimeout as sleep } from 'node:timers/promises'
import { type Figure, none } from '#scripts/rig/figures.ts'
import type { BenchDevice, BenchLogin } from '#scripts/rig/gateway-api.ts'
import { type GatewayProcess, startGateway } from '#scripts/rig/gateway-process.ts'
import { countLost, type LoadPair, pairValues } from '#scripts/rig/load/beside.ts'
import type { LoadResult } from '#scripts/rig/load/plan.ts'
import { startDeviceLoad } from '#scripts/rig/load/process.ts'
import { printProgress } from '#scripts/rig/report.ts'
import { measurement, type RunContext } from '#scripts/rig/scenario.ts'
import { startNeighbour } from './children.ts'
import { BAD_NEIGHBOURS, type NeighbourKind, type NeighbourResult } from './neighbour-plan.ts'

const DEVICES = 200
const PER_DEVICE_PER_S = 1
const WARMUP_S = 1
/** Time for a noisy client to start, and for the gateway to recover from it. */
const SETTLE_MS = 3000
const LIFE_MARGIN_S = 120

const p99Ratio: Figure = { what: 'PUBACK p99 of the devices, disturbed : alone', target: ['<=', 1.5], digits: 2 }

interface Environment {
  context: RunContext
  gateway: GatewayProcess
  devices: BenchDevice[]
  spare: BenchDevice
  login: BenchLogin
}

interface Pair extends LoadPair {
  kind: NeighbourKind
  neighbour: NeighbourResult
}

/** Measures what a client that behaves badly costs the others. */
export const neighbours = measurement<string>({
  name: 'neighbours',
  summary: `${DEVICES} devices at ${PER_DEVICE_PER_S} message a second, with each kind of noisy client`,
  rounds: 5,
  durationS: [20, 5],
  figures: {
    ...Object.fromEntries(BAD_NEIGHBOURS.map((kind) => [kind, { ...p99Ratio, what: `${kind}: ${p99Ratio.what}` }])),
    p99Alone: { what: 'PUBACK p99 of the devices alone', unit: ' ms', digits: 1 },
    lost: none('messages lost, and devices cut off'),
    letIn: none('logins with a wrong password'),
  },
  async run(context) {
    const gateway = await startGateway(context.bench, {
      entry: context.entry,
      dataDir: context.bench.createFolder('neighbours'),
      env: {
        // one for # and 100 more
        CARTBARN_MQTT_SUBSCRIPTIONS: '101',
        // the default of an installation
        CARTBARN_MQTT_MESSAGES_PER_SECOND: '500',
        CARTBARN_MQTT_CONNECTIONS_PER_ADDRESS: '2500',
        CARTBARN_MQTT_FAILED_LOGINS_PER_SECOND: '5',
      },
    })
    const [spare, ...devices] = await gateway.api.registerDevices(DEVICES + 1)
    if (spare === undefined) throw new Error('no devices')
    const login = await gateway.api.createAdmin('neighbour')
    const pairs: Pair[] = []
    for (const kind of BAD_NEIGHBOURS) {
      for (let round = 0; round < context.rounds; round++) {
        printProgress(`  ${kind}`)
        pairs.push(await measurePair({ context, gateway, devices, spare, login }, kind))
      }
    }
    await gateway.process.stop()
    const ratios = [...Map.groupBy(pairs, ({ kind }) => kind)].map(([kind, group]) => [
      kind,
      pairValues(group).p99Ratio,
    ])
    return {
      ...Object.fromEntries(ratios),
      p99Alone: pairValues(pairs).p99Alone,
      lost: pairs.map(({ beside }) => countLost([beside]) + beside.reconnects),
      letIn: pairs.map(({ neighbour }) => neighbour.counts['let in'] ?? 0),
    }
  },
})

async function measurePair(environment: Environment, kind: NeighbourKind): Promise<Pair> {
  const { context, gateway, spare: device, login } = environment
  const alone = await loadOnce(environment)
  const plan = { port: gateway.ports.mqtt, login, device, lifeS: context.durationS + LIFE_MARGIN_S }
  const neighbour = await startNeighbour(context.bench, kind, plan)
  await sleep(SETTLE_MS)
  const beside = await loadOnce(environment)
  const result = await neighbour.call('result')
  await neighbour.stop()
  await sleep(SETTLE_MS)
  return { kind, alone, beside, neighbour: result }
}

function loadOnce({ context, gateway, devices }: Environment): Promise<LoadResult> {
  const options = { warmupS: WARMUP_S, durationS: context.durationS }
  return startDeviceLoad(context.bench, gateway, devices, PER_DEVICE_PER_S, options).result()
}
