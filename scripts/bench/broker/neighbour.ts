import { setPriority } from 'node:os'
import { createInterface } from 'node:readline'
import { guessPasswords, openByHalves } from './neighbour-connections.ts'
import {
  type Count,
  type NeighbourEvent,
  type NeighbourKind,
  type NeighbourPlan,
  neighbourPlanSchema,
} from './neighbour-plan.ts'
import { floodTelemetry, publishAtFullSpeed } from './neighbour-publishers.ts'
import { workAsUsual } from './neighbour-regulars.ts'
import { stallReader, subscribeToEverything } from './neighbour-subscribers.ts'

/** The process of a neighbour: a plan and then `stop` on stdin, events on stdout, ends when its parent does. */

const LOWEST_PRIORITY = 19

const HABITS: Record<NeighbourKind, (plan: NeighbourPlan, count: Count) => void> = {
  'stalled-reader': stallReader,
  'wide-subscriber': subscribeToEverything,
  'publisher-qos0': (plan, count) => publishAtFullSpeed(plan, 0, count),
  'publisher-qos1': (plan, count) => publishAtFullSpeed(plan, 1, count),
  'flooding-device': floodTelemetry,
  'half-open': openByHalves,
  'wrong-passwords': guessPasswords,
  regulars: workAsUsual,
}

const counts: Record<string, number> = {}

function say(event: NeighbourEvent['event'], onSaid?: () => void): void {
  const { user, system } = process.cpuUsage()
  process.stdout.write(`${JSON.stringify({ event, counts, cpuS: (user + system) / 1e6 })}\n`, onSaid)
}

function start(plan: NeighbourPlan): void {
  // elsewhere it would have a processor of its own: here it must not take the gateway's
  if (plan.kind !== 'regulars') setPriority(LOWEST_PRIORITY)
  setTimeout(() => process.exit(0), plan.lifeS * 1000)
  HABITS[plan.kind](plan, (name) => {
    counts[name] = (counts[name] ?? 0) + 1
  })
  say('started')
}

const lines = createInterface({ input: process.stdin })
lines.on('close', () => process.exit(0))
lines.on('line', (line) => {
  if (line === 'stop') say('result', () => process.exit(0))
  else start(neighbourPlanSchema.parse(JSON.parse(line)))
})
