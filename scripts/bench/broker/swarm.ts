import { createInterface } from 'node:readline'
import { LatencyHistogram } from '#scripts/rig/latency-histogram.ts'
import { SwarmClient } from './swarm-client.ts'
import {
  type StormKind,
  type StormResult,
  type SwarmEvent,
  type SwarmPlan,
  stormKinds,
  swarmPlanSchema,
} from './swarm-plan.ts'

/** The process of a swarm: a plan and then commands on stdin, events on stdout, ends when its parent does. */

const CONNECTS_AT_ONCE = 32

function say(event: SwarmEvent): void {
  process.stdout.write(`${JSON.stringify(event)}\n`)
}

class Swarm {
  readonly #clients: SwarmClient[]
  #round = 0

  constructor(plan: SwarmPlan) {
    this.#clients = plan.clients.map((client) => new SwarmClient(plan, client))
  }

  /** Connects all, a few at a time. */
  connect(): Promise<number> {
    return new Promise((resolve) => {
      const waiting = this.#clients.values()
      let left = this.#clients.length
      let refusedSubscriptions = 0
      const next = () => {
        waiting.next().value?.come(this.#round, true, (arrival) => {
          refusedSubscriptions += arrival.refusedSubscriptions
          left--
          if (left === 0) resolve(refusedSubscriptions)
          next()
        })
      }
      for (let i = 0; i < CONNECTS_AT_ONCE; i++) next()
    })
  }

  /** Cuts all at once and lets all come back at once. */
  storm(kind: StormKind): Promise<StormResult> {
    const through = new LatencyHistogram()
    const total = { withoutSession: 0, refusedSubscriptions: 0, retries: 0 }
    let left = this.#clients.length
    this.#round++
    const cpuBefore = process.cpuUsage()
    const startMs = performance.now()
    for (const client of this.#clients) client.cut()
    return new Promise((resolve) => {
      for (const client of this.#clients) {
        client.come(this.#round, kind === 'resubscribe', (arrival) => {
          const tookMs = performance.now() - startMs
          through.record(tookMs * 1000)
          if (!arrival.isSessionPresent) total.withoutSession++
          total.refusedSubscriptions += arrival.refusedSubscriptions
          total.retries += arrival.retries
          left--
          if (left > 0) return
          const cpu = process.cpuUsage(cpuBefore)
          const cpuS = (cpu.user + cpu.system) / 1e6
          resolve({ durationMs: tookMs, through: through.summary(), ...total, cpuS })
        })
      }
    })
  }
}

let swarm: Swarm | undefined

async function obey(line: string): Promise<void> {
  if (swarm === undefined) {
    swarm = new Swarm(swarmPlanSchema.parse(JSON.parse(line)))
    say({ event: 'connected', refusedSubscriptions: await swarm.connect() })
    return
  }
  const kind = stormKinds.find((each) => each === line)
  if (kind === undefined) throw new Error(`no command ${line}`)
  say({ event: 'storm', result: await swarm.storm(kind) })
}

const lines = createInterface({ input: process.stdin })
lines.on('close', () => process.exit(0))
lines.on('line', (line) => {
  obey(line).catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
    process.exit(1)
  })
})
