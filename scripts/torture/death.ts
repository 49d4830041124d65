import { setTimeout as sleep } from 'node:timers/promises'
import { untilListening } from '#scripts/rig/gateway-process.ts'
import type { BenchProcess } from '#scripts/rig/processes.ts'
import { median } from '#scripts/rig/report.ts'

/** Moment of a gateway's life at which it is killed; `at a change` is in the middle of writing to its files. */
export type Moment = 'under load' | 'just started' | 'starting' | 'stopping' | 'at a change'

const CHANCES: readonly [Moment, number][] = [
  ['under load', 0.55],
  ['just started', 0.15],
  ['starting', 0.15],
  ['stopping', 0.15],
]

const LIFE_MIN_MS = 200
const LIFE_SPREAD_MS = 1500
const CHANGE_LIMIT_MS = 20_000
/** Devices reconnect 100 to 300 ms after their connection ended. */
const JUST_STARTED_MS = 400
const STOP_MS = 150

export function chooseMoment(): Moment {
  let left = Math.random()
  for (const [moment, chance] of CHANCES) {
    left -= chance
    if (left < 0) return moment
  }
  return 'under load'
}

export interface Life {
  moment: Moment
  /** Time since the start of the process; null if it was killed before. */
  listeningAfterMs: number | null
}

/**
 * Lets a just started gateway live until its moment and kills it with SIGKILL; at a change it kills itself.
 * `usualStartMs`: usual duration of a start. `whenListening` runs if the gateway listens; resolves when there is load.
 */
export async function killAt(
  moment: Moment,
  gateway: BenchProcess,
  usualStartMs: number,
  whenListening: () => Promise<void>,
): Promise<Life> {
  const startedAtMs = performance.now()
  let listeningAfterMs: number | null = null
  const listening = untilListening(gateway)
  if (moment === 'starting' || moment === 'at a change') {
    // killed before it listens, as intended
    listening.catch(() => undefined)
    const limitMs = moment === 'starting' ? Math.random() * usualStartMs : CHANGE_LIMIT_MS
    await Promise.race([gateway.exited, sleep(limitMs, undefined, { ref: false })])
  } else {
    await listening
    listeningAfterMs = performance.now() - startedAtMs
    if (moment === 'just started') await sleep(Math.random() * JUST_STARTED_MS)
    else {
      await whenListening()
      await sleep(LIFE_MIN_MS + Math.random() * LIFE_SPREAD_MS)
    }
  }
  if (moment === 'stopping') {
    gateway.signal('SIGTERM')
    await sleep(Math.random() * STOP_MS)
  }
  await gateway.stop('SIGKILL')
  return { moment, listeningAfterMs }
}

/** Durations of the starts that were not killed. */
export function startTimesMs(lives: readonly Life[]): number[] {
  return lives.flatMap(({ listeningAfterMs }) => listeningAfterMs ?? [])
}

const FIRST_GUESS_MS = 500

/** Median of those durations. */
export function usualStartMs(lives: readonly Life[]): number {
  return median(startTimesMs(lives)) || FIRST_GUESS_MS
}
