import { setPriority } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Figure, none } from '#scripts/rig/figures.ts'
import type { BenchDevice } from '#scripts/rig/gateway-api.ts'
import { type GatewayProcess, startGateway } from '#scripts/rig/gateway-process.ts'
import { countLost, type LoadPair, pairValues } from '#scripts/rig/load/beside.ts'
import type { LoadResult } from '#scripts/rig/load/plan.ts'
import { startDeviceLoad } from '#scripts/rig/load/process.ts'
import type { Neighbour } from '#scripts/rig/neighbours/attack-plan.ts'
import { type AttackedBroker, BROKER_NEIGHBOURS, GUESSES } from '#scripts/rig/neighbours/broker-attacks.ts'
import { startNeighbour } from '#scripts/rig/neighbours/process.ts'
import { printProgress } from '#scripts/rig/report.ts'
import { measurement, type RunContext } from '#scripts/rig/scenario.ts'

const DEVICES = 200
const PER_DEVICE_PER_S = 1
const WARMUP_S = 1
/** Time for a noisy client to start, and for the gateway to recover from it. */
const SETTLE_MS = 3000
const LOWEST_PRIORITY = 19

const p99Ratio: Figure = { what: 'PUBACK p99 of the devices, disturbed : alone', target: ['<=', 1.5], digits: 2 }

interface Environment {
  context: RunContext
  gateway: GatewayProcess
  devices: BenchDevice[]
  target: AttackedBroker
}

interface Pair extends LoadPair {
  name: string
  /** Logins of the noisy client that were accepted. */
  logins: number
}

/** Measures what a client that behaves badly costs the others. */
export const neighbours = measurement<string>({
  name: 'neighbours',
  summary: `${DEVICES} devices at ${PER_DEVICE_PER_S} message a second, with each kind of noisy client`,
  rounds: 5,
  durationS: [20, 5],
  figures: {
    ...Object.fromEntries(
      BROKER_NEIGHBOURS.map(({ name }) => [name, { ...p99Ratio, what: `${name}: ${p99Ratio.what}` }]),
    ),
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
    const [device, ...devices] = await gateway.api.registerDevices(DEVICES + 1)
    if (device === undefined) throw new Error('no devices')
    const target = { admin: await gateway.api.createAdmin('neighbour'), device }
    const pairs: Pair[] = []
    for (const kind of BROKER_NEIGHBOURS) {
      for (let round = 0; round < context.rounds; round++) {
        printProgress(`  ${kind.name}`)
        pairs.push(await measurePair({ context, gateway, devices, target }, kind))
      }
    }
    await gateway.process.stop()
    const groups = [...Map.groupBy(pairs, ({ name }) => name)]
    const ratios = groups.map(([name, group]) => [name, pairValues(group).p99Ratio])
    return {
      ...Object.fromEntries(ratios),
      p99Alone: pairValues(pairs).p99Alone,
      lost: pairs.map(({ beside }) => countLost([beside]) + beside.reconnects),
      letIn: pairs.map(({ name, logins }) => (name === GUESSES ? logins : 0)),
    }
  },
})

async function measurePair(environment: Environment, { name, plan }: Neighbour<AttackedBroker>): Promise<Pair> {
  const { context, gateway, target } = environment
  const alone = await loadOnce(environment)
  const neighbour = startNeighbour(context.bench)
  // in the field it has its own processor; here it must not take the gateway's
  setPriority(neighbour.pid, LOWEST_PRIORITY)
  const start = await neighbour.call('start', plan(target, context.isShort), gateway.ports)
  await sleep(SETTLE_MS)
  const beside = await loadOnce(environment)
  const end = await neighbour.call('result')
  await neighbour.stop()
  await sleep(SETTLE_MS)
  printProgress(`  ${JSON.stringify([start.counts, end.counts])}`)
  const logins = [start, end].reduce((sum, { counts }) => sum + (counts['logins taken'] ?? 0), 0)
  return { name, alone, beside, logins }
}

function loadOnce({ context, gateway, devices }: Environment): Promise<LoadResult> {
  const options = { warmupS: WARMUP_S, durationS: context.durationS }
  return startDeviceLoad(context.bench, gateway, devices, PER_DEVICE_PER_S, options).result()
}
