import { createRandom, type Random } from '#shared/random.ts'
import { type Bottle, type Check, type Finding, type Part, STOP_MS } from '../bottle.ts'
import { NIGHT_MINUTE, toLocal } from '../model/local-time.ts'
import { RareWrites } from '../model/rare-writes.ts'
import type { Entry } from '../plan.ts'
import type { Program } from '../world/program.ts'
import { slowness } from '../world/threads.ts'
import { running } from '../world/virtual-time.ts'

/** Lines at warn or error that the faults of the model explain. */
const EXPLAINED: readonly RegExp[] = [/killed|not stopped|unclean/i]

/** Equal lines in ten minutes: a retry that fails again and again is one line. */
const MOST_LINES = 60

/** Length of the shown source of a timer. */
const SHOWN = 80

/** Counts of the timers of a night, and the pause between them: requests have timers of their own for some seconds. */
const TIMER_COUNTS = 4
const PAUSE_MS = 60_000

/** Delay of a write from which answers of the gateway may come late. */
const SECONDS_MS = 500

/** Pause of a service manager before another start. */
const RESTART_MS = 5_000

/** The process of the gateway: its kills, restarts and slow writes, its timers and its log. */
export class Process implements Part {
  readonly checks: readonly Check[]
  readonly #bottle: Bottle
  readonly #random: Random
  /** Timers of the night before, by start of the gateway and by connected devices. */
  readonly #timers = new Map<string, ReadonlyMap<string, number>>()
  readonly #killed = new RareWrites()
  #nextWriteKill: Extract<Entry, { kind: 'write-kill' }> | null = null

  constructor(bottle: Bottle) {
    this.#bottle = bottle
    this.#random = createRandom(bottle.plan.seed, 'slowness')
    bottle.onWrite.push((name) => this.#killAt(name))
    const timers: Check = {
      number: 48,
      claim: 'a night has as many timers as the night before',
      when: 'night',
      find: () => this.#compareTimers(),
    }
    const log: Check = {
      number: 51,
      claim: 'no line at warn or error without a fault that explains it',
      when: 'look',
      // faults explain lines for some minutes only
      isForWrongClocks: true,
      find: () => this.#unexplained(),
    }
    this.checks = [timers, log]
  }

  async perform(entry: Entry): Promise<void> {
    if (entry.kind === 'kill') this.#killAfter(entry.turns, entry.downMs)
    if (entry.kind === 'write-kill') this.#nextWriteKill = entry
    if (entry.kind === 'restart') await this.#restart(entry.downMs)
    if (entry.kind === 'slow') {
      const { time } = this.#bottle
      if (entry.delayMs > SECONDS_MS) this.#bottle.slowUntilMs = time.nowMs + entry.forMs
      slowness.delay = (thread) => (thread === 'writer' ? 1 + Math.floor(this.#random.next() * entry.delayMs) : 0)
      setTimeout(() => {
        slowness.delay = () => 0
      }, entry.forMs)
    }
  }

  #killAt(name: string): void {
    const entry = this.#nextWriteKill
    if (!this.#killed.isRare(name) || entry === null || this.#bottle.life.program?.onTurn !== null) return
    this.#nextWriteKill = null
    this.#killed.count(name)
    this.#killAfter(entry.turns, entry.downMs)
  }

  #killAfter(turns: number, downMs: number): void {
    const { life, kills, time } = this.#bottle
    const { program } = life
    if (program === null || !life.isRunning) return
    let left = turns
    program.onTurn = () => {
      if (left-- > 0) return
      program.onTurn = null
      kills.push(time.nowMs)
      life.kill()
      running.exit(() => setTimeout(() => startAgain(this.#bottle), downMs))
    }
  }

  /** Stops the gateway and starts it again; a kill may come before it has stopped. */
  async #restart(downMs: number): Promise<void> {
    const { life, kills, time } = this.#bottle
    const { program } = life
    if (program === null || !life.isRunning) return
    const { promise: dead, resolve } = Promise.withResolvers<void>()
    program.onDeath(resolve)
    const killsBefore = kills.push(time.nowMs)
    await time.until('the stop of the gateway', Promise.race([life.stop(), dead]), STOP_MS)
    if (kills.length === killsBefore) setTimeout(() => startAgain(this.#bottle), downMs)
  }

  async #compareTimers(): Promise<Finding[]> {
    const { life, time } = this.#bottle
    // at the end of a run the carts are not as at night
    if (toLocal(time.nowMs).minute !== NIGHT_MINUTE) return []
    let found: Finding[] = []
    const { starts } = life
    for (let i = 0; i < TIMER_COUNTS; i++) {
      if (i > 0) await time.runUntil(time.nowMs + PAUSE_MS)
      if (life.program === null || !life.isRunning || life.starts !== starts) return []
      found = this.#moreTimers(life.program)
      if (found.length === 0) return []
    }
    return found
  }

  #moreTimers(program: Program): Finding[] {
    const { life, time, carts } = this.#bottle
    const connected = carts.filter(({ isConnected }) => isConnected).length
    const key = `${life.starts} ${connected}`
    const now = new Map<string, number>()
    for (const { call, delayMs } of time.waitingOf(program)) {
      const source = `${delayMs} ms ${call}`.slice(0, SHOWN)
      now.set(source, (now.get(source) ?? 0) + 1)
    }
    const before = this.#timers.get(key)
    const [is = 0, expected = 0] = [now, before].map((counts) => sumOf(counts ?? new Map()))
    if (before === undefined || Math.abs(is - expected) <= Math.max(2, expected * 0.02)) {
      this.#timers.set(key, now)
      return []
    }
    const changed = [...now].filter(([source, count]) => count !== before.get(source))
    const shown = changed.map(([source, count]) => `${count} of ${source}, not ${before.get(source) ?? 0}`)
    return [{ is: `${is} timers: ${shown.join('; ')}`, expected: `${expected}, as the night before` }]
  }

  #unexplained(): Finding[] {
    const explained = [...EXPLAINED, ...this.#bottle.explained]
    const lines = this.#bottle.log.splice(0).filter(({ level }) => level === 'error' || level === 'warn')
    const found = lines
      .filter(({ text }) => !explained.some((one) => one.test(text)))
      .map(({ level, text }) => ({ is: `${level}: ${text}`, expected: 'no such line' }))
    // those of requests and of refused clients are as many as these
    const own = lines.filter(({ text }) => !/"(requestId|refused)"/.test(text))
    for (const [text, same] of Map.groupBy(own, (line) => line.text))
      if (same.length > MOST_LINES)
        found.push({ is: `${same.length} times: ${text}`, expected: `at most ${MOST_LINES}` })
    return found
  }
}

/** Starts the gateway after its end, as a service manager does: again and again on a disk that fails. */
export function startAgain(bottle: Bottle): void {
  const { life } = bottle
  life.start().catch((error: unknown) => {
    if (!life.disk.isFailing) {
      bottle.report(52, { is: `the gateway does not start: ${String(error)}`, expected: 'a start' })
      return
    }
    life.kill()
    running.exit(() => setTimeout(() => startAgain(bottle), RESTART_MS))
  })
}

function sumOf(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((sum, one) => sum + one, 0)
}
