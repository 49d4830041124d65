import type { Bottle, Check, Finding, Part } from '../bottle.ts'
import type { Program } from '../world/program.ts'

const MINUTE_MS = 60_000
/** Window below which timers are not compared. */
const SHORTEST_MS = 5 * MINUTE_MS
/** Timer of the evaluation of all carts, by its source: nothing else shows an evaluation in which nothing changes. */
const EVALUATION = '() => this.tick()'
const LEAST_A_MINUTE = 60
const MOST_A_MINUTE = 240
/** Mean number of waiting timers of a chain that is alone, with a margin for its first one. */
const ALONE = 1.05
/**
 * Timers of which there may be more, with their number: of each request, connection and target of alerts, and of each
 * kind of old records.
 */
const MANY: readonly (readonly [RegExp, number])[] = [
  [/controller\.abort|the attempt did not end in time/, Number.POSITIVE_INFINITY],
  // of the broker: they fire for each client whose line was cut, or that waits to be let in
  [/function keepaliveTimeout|connect did not arrive in time/, Number.POSITIVE_INFINITY],
  // of the kernel, on lines of the gateway
  [/#giveUp\(from\)|emit\('timeout'\)/, Number.POSITIVE_INFINITY],
  [/#runsAtMs = Number/, 5],
  [/this\.runOnce\(\)\.then/, 3],
]
/** Loops of the agent, with the same source as those of old records. */
const AGENT_LOOPS = 8

/** Timers of the gateway: each chain must be alone, because a tick that runs twice changes no clock. */
export class Timers implements Part {
  readonly checks: readonly Check[]
  readonly #bottle: Bottle
  #life: Program | null = null
  #sinceMs = 0
  /** Total delay of the timers that have fired, by source. */
  #delays = new Map<string, number>()
  /** Evaluations by minute since the start of the gateway. */
  #evaluations: number[] = []

  constructor(bottle: Bottle) {
    this.#bottle = bottle
    bottle.time.onFire = ({ program, call, delayMs, isRepeated, origin }) => {
      if (program === undefined || program !== bottle.life.program) return
      const source = String(call)
      // several components have the same source, with intervals of their own
      const isOwn = isRepeated || delayMs >= MINUTE_MS
      this.#count(program, isOwn ? `${delayMs} ms ${source} ${origin}`.trimEnd() : source, delayMs)
    }
    this.checks = [
      {
        number: 52,
        claim: 'carts are evaluated 60 to 240 times a minute, and each chain of timers is alone',
        when: 'look',
        find: () => this.#compare(),
      },
    ]
  }

  #count(program: Program, source: string, delayMs: number): void {
    const { nowMs } = this.#bottle.time
    if (program !== this.#life) this.#begin(program)
    // one that began before the window counts in part
    const partMs = Math.min(delayMs, nowMs - this.#sinceMs)
    this.#delays.set(source, (this.#delays.get(source) ?? 0) + partMs)
    if (!source.includes(EVALUATION)) return
    const minute = Math.floor((nowMs - this.#bottle.life.startedAtMs) / MINUTE_MS)
    this.#evaluations[minute] = (this.#evaluations[minute] ?? 0) + 1
  }

  #begin(program: Program | null): void {
    this.#life = program
    this.#sinceMs = this.#bottle.time.nowMs
    this.#delays = new Map()
    this.#evaluations = []
  }

  #compare(): Finding[] {
    const { life, time } = this.#bottle
    const { program } = life
    const { hub = 'none' } = this.#bottle.plan
    const windowMs = time.nowMs - this.#sinceMs
    if (program === null || !life.isRunning || program !== this.#life || windowMs < SHORTEST_MS) return []
    const found: Finding[] = []
    for (const [source, delayMs] of this.#delays) {
      const [, known = 1] = MANY.find(([one]) => one.test(source)) ?? []
      const most = source.includes('this.runOnce()') && hub !== 'none' ? known + AGENT_LOOPS : known
      const count = delayMs / windowMs
      if (count > ALONE * most)
        found.push({ is: `${count.toFixed(2)} timers at the same time: ${source}`, expected: `${most}` })
    }
    const complete = Math.floor((time.nowMs - life.startedAtMs) / MINUTE_MS)
    for (let minute = 1; minute < complete; minute++) {
      const count = this.#evaluations[minute] ?? 0
      if (count < LEAST_A_MINUTE - 1 || count > MOST_A_MINUTE)
        found.push({ is: `${count} evaluations in a minute`, expected: `${LEAST_A_MINUTE} to ${MOST_A_MINUTE}` })
    }
    const evaluations = this.#evaluations
    this.#begin(program)
    this.#evaluations = evaluations.map((count, minute) => (minute < complete ? LEAST_A_MINUTE : count))
    return found
  }
}
