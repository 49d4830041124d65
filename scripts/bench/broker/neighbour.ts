import { setPriority } from 'node:os'
import { answerCalls } from '#scripts/rig/calls.ts'
import { ownCpuSeconds } from '#scripts/rig/process-usage.ts'
import { guessPasswords, openByHalves } from './neighbour-connections.ts'
import type { Count, NeighbourKind, NeighbourPlan, NeighbourResult } from './neighbour-plan.ts'
import { floodTelemetry, publishAtFullSpeed } from './neighbour-publishers.ts'
import { workAsUsual } from './neighbour-regulars.ts'
import { stallReader, subscribeToEverything } from './neighbour-subscribers.ts'

/** Process of a noisy client. */

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

function start(kind: NeighbourKind, plan: NeighbourPlan): void {
  // in the field it has its own processor; here it must not take the gateway's
  if (kind !== 'regulars') setPriority(LOWEST_PRIORITY)
  setTimeout(() => process.exit(0), plan.lifeS * 1000)
  HABITS[kind](plan, (name) => {
    counts[name] = (counts[name] ?? 0) + 1
  })
}

const functions = answerCalls({ start, result: (): NeighbourResult => ({ counts, cpuS: ownCpuSeconds() }) })

export type NeighbourFunctions = typeof functions
