// Process of a swarm: MQTT clients that connect, subscribe and wait, controlled by calls of its parent.
import { createHistogram } from 'node:perf_hooks'
import { answerCalls } from '#scripts/rig/calls.ts'
import { type LatencySummary, recordMs, summarise } from '#scripts/rig/latency.ts'
import { ownCpuSeconds } from '#scripts/rig/process-usage.ts'
import { type Arrival, SwarmClient, type SwarmPlan } from './swarm-client.ts'

const CONNECTS_AT_ONCE = 32

/** Action of the clients once they are back; `reconnect` leaves the subscriptions to the session. */
export type StormKind = 'reconnect' | 'resubscribe'

/** Result of one reconnect storm, from the cut to the last response to the last client. */
export interface StormResult {
  durationMs: number
  /** Time of each client from the cut to its last response. */
  through: LatencySummary
  withoutSession: number
  refusedSubscriptions: number
  /** Connections that ended before they were through and had to be retried. */
  retries: number
  /** CPU seconds of the swarm itself. */
  cpuS: number
}

let clients: SwarmClient[] = []
let round = 0

/** Connects all devices, a few at a time; throws if a subscription is refused. */
async function connect(plan: SwarmPlan): Promise<void> {
  clients = plan.clients.map((client) => new SwarmClient(plan, client))
  const waiting = clients.values()
  let refused = 0
  const connectInTurn = async () => {
    for (const client of waiting) refused += (await come(client, true)).refusedSubscriptions
  }
  await Promise.all(Array.from({ length: CONNECTS_AT_ONCE }, connectInTurn))
  if (refused > 0) throw new Error(`${refused} subscriptions refused`)
}

/** Cuts all connections together and lets all clients reconnect together. */
async function storm(kind: StormKind): Promise<StormResult> {
  const through = createHistogram()
  const total = { withoutSession: 0, refusedSubscriptions: 0, retries: 0 }
  round++
  const cpuBeforeS = ownCpuSeconds()
  const startMs = performance.now()
  for (const client of clients) client.cut()
  const comeBack = async (client: SwarmClient) => {
    const arrival = await come(client, kind === 'resubscribe')
    recordMs(through, performance.now() - startMs)
    if (!arrival.isSessionPresent) total.withoutSession++
    total.refusedSubscriptions += arrival.refusedSubscriptions
    total.retries += arrival.retries
  }
  await Promise.all(clients.map(comeBack))
  const durationMs = performance.now() - startMs
  return { durationMs, through: summarise(through), ...total, cpuS: ownCpuSeconds() - cpuBeforeS }
}

function come(client: SwarmClient, subscribes: boolean): Promise<Arrival> {
  return new Promise((resolve) => client.come(round, subscribes, resolve))
}

const functions = answerCalls({ connect, storm })

export type SwarmFunctions = typeof functions
