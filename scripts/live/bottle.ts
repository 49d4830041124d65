import { createHash } from 'node:crypto'
import { createWriteStream, type WriteStream } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Overrides } from '#gateway/services.ts'
import { createRandom } from '#shared/random.ts'
import type { LiveCart } from './model/cart.ts'
import { zonesGeoJson } from './model/ground.ts'
import { localToMs, NIGHT_MINUTE, nextDay, toLocal, ZONE } from './model/local-time.ts'
import type { LiveScreen } from './model/screen.ts'
import type { Entry, Plan } from './plan.ts'
import { type Answer, GatewayLife } from './world/gateway-life.ts'
import { installHost } from './world/host.ts'
import { Lines } from './world/lines.ts'
import { type Edit, installThreads, threadEvents } from './world/threads.ts'
import { VirtualTime } from './world/virtual-time.ts'

const LOOK_MS = 600_000
const SETTING_UP_MS = 60_000
/** Limit of a response. */
const ANSWER_MS = 60_000
/** Time after which all responses are right again once the clock is. */
const CLOCK_SETTLING_MS = 1_800_000
export const STOP_MS = 120_000

/** Days for which the gateway keeps positions, and events, in runs with retention; checks look back no further. */
export const [SAMPLE_DAYS, EVENT_DAYS] = [3, 2]

/** Statement of the product that was not true. */
export interface Finding {
  /** Cart, stream or other subject. */
  readonly subject?: string
  readonly is: string
  readonly expected: string
}

export interface Wrong extends Finding {
  readonly check: number
  readonly atMs: number
}

/** Claim of the product, compared with the model. */
export interface Check {
  /** Its number in `docs/faults.md`. */
  readonly number: number
  readonly claim: string
  /** `look`: every ten minutes; `night`: at three in the morning and at the end; `end`: only then. */
  readonly when: 'look' | 'night' | 'end'
  /** True if it also holds while the clock of the gateway is wrong, and until that has had its effects. */
  readonly isForWrongClocks?: boolean
  find(bottle: Bottle): Promise<Finding[]> | Finding[]
}

/** People, devices, programs or faults of the course: what they do, and what the product then shows. */
export interface Part {
  readonly checks: readonly Check[]
  /** Prepares what the gateway needs at its first start. */
  prepare?(): Promise<void>
  /** Prepares it once the gateway has its site and zones. */
  setUp?(): Promise<void>
  /** Begins to act, once all parts are set up. */
  start?(): void
  /** Performs the entries of its kinds. */
  perform?(entry: Entry): Promise<void>
  /** True while a fault makes unclear what the product must show in a check, which is left out then. */
  excuses?(check: number): boolean
}

export interface Command {
  readonly id: string
  readonly cart: LiveCart
  readonly command: string
  readonly atMs: number
}

export interface LogLine {
  readonly atMs: number
  readonly level: string
  readonly text: string
}

export interface BottleOptions {
  readonly plan: Plan
  readonly dataDir: string
  readonly createParts: (bottle: Bottle) => Part[]
  /** Number of the only check to make. */
  readonly only?: number
  /** Breaks of the product, to prove the checks. */
  readonly edits?: readonly Edit[]
  /** File for all lines of the trace. */
  readonly traceFile?: string
  /** Virtual time at which the run ends early, in ms since its start. */
  readonly untilMs?: number
}

/** Run of a gateway and its course in virtual time, with the checks of its responses. */
export class Bottle {
  /** True if the gateway deletes old data: with every third seed. */
  readonly isAging: boolean
  readonly plan: Plan
  readonly time: VirtualTime
  readonly lines: Lines
  readonly life: GatewayLife
  /** Folder of the run, with that of the gateway in it. */
  readonly folder: string
  readonly carts: LiveCart[] = []
  readonly dataDir: string
  /** Settings and replacements of the gateway, to which parts add before its first start. */
  readonly settings: Record<string, string> = {
    // few carts have blocks as well
    CARTBARN_SEAL_SAMPLES: '4096',
  }
  readonly overrides: Overrides = {}
  readonly commands: Command[] = []
  /** Screens in carts. */
  readonly screens: LiveScreen[] = []
  /** Commands of staff, by id. */
  readonly commandIds = new Set<string>()
  /** Times at which commands of staff were first seen in a final state, by id. */
  readonly finalAtMs = new Map<string, number>()
  readonly log: LogLine[] = []
  readonly wrong: Wrong[] = []
  /** Times of kills and restarts, newest last. */
  readonly kills: number[] = []
  /** Times from which kills lost what a failing disk had not taken. */
  readonly unsaved: number[] = []
  /** Times of copies of the data folder, and of their restores. */
  readonly restores: { readonly fromMs: number; readonly toMs: number }[] = []
  /** Time since which the disk has not failed; infinite while it does. */
  diskWellSinceMs = Number.NEGATIVE_INFINITY
  /** Time at which the edge of the barn was drawn last. */
  barnDrawnAtMs = Number.NEGATIVE_INFINITY
  /** End of the last time in which a write took seconds. */
  slowUntilMs = Number.NEGATIVE_INFINITY
  /** Alerts that staff closed, by kind and cart, until their cause was seen to have ended. */
  readonly closedByStaff = new Map<string, { readonly atMs: number; readonly isSure: boolean }>()
  /** Time since which the clock of the gateway has been right and confirmed; infinite while it is not. */
  clockRightSinceMs = Number.NEGATIVE_INFINITY
  /** Times in which it was not, newest last. */
  readonly wrongClocks: { readonly fromMs: number; toMs: number }[] = []
  /** Called before the writer thread takes a write, with the name of the write. */
  readonly onWrite: ((name: string) => void)[] = []
  /** Entries that have been performed. */
  readonly done: Entry[] = []
  looks = 0
  /** Lines of the log at warn or error that faults explain. */
  readonly explained: RegExp[] = []
  /** Time at which a fault last began or ended on the lines of a cart. */
  readonly disturbedAtMs = new Map<LiveCart, number>()
  readonly checks: readonly Check[]
  readonly #parts: readonly Part[]
  /** Checks that were skipped because of a wrong clock. */
  readonly #skipped = new Set<Check>()
  readonly #trace = createHash('sha256')
  readonly #traceFile: WriteStream | undefined
  readonly #endMs: number

  /** Replaces clocks, sockets and threads of this process. */
  constructor({ plan, dataDir, createParts, only, edits = [], traceFile, untilMs }: BottleOptions) {
    this.plan = plan
    this.isAging = plan.seed % 3 === 0
    this.folder = dataDir
    this.dataDir = join(dataDir, 'gateway')
    const startMs = localToMs(plan.start, 0)
    this.time = new VirtualTime(startMs)
    this.#endMs = startMs + Math.min(untilMs ?? Number.POSITIVE_INFINITY, dayAfter(plan) - startMs)
    this.#traceFile = traceFile === undefined ? undefined : createWriteStream(traceFile)
    this.lines = new Lines(this.time, (line, bytes) => this.#note(line, Buffer.from(bytes).toString('latin1')))
    const product = createRandom(plan.seed, 'product')
    this.time.install()
    installHost(product)
    installThreads({ time: this.time, random: product, edits })
    threadEvents.onMessage = (thread, message) => {
      const { kind, name } = message as { kind?: string; name?: string }
      if (thread === 'writer' && kind === 'write' && name !== undefined) for (const call of this.onWrite) call(name)
    }
    this.lines.install()
    this.life = new GatewayLife({
      time: this.time,
      dataDir: this.dataDir,
      settings: this.settings,
      overrides: this.overrides,
      onLog: (line) => this.logged(line),
    })
    this.#parts = createParts(this)
    this.checks = this.#parts.flatMap(({ checks }) => checks).filter(({ number }) => (only ?? number) === number)
  }

  /** Runs the plan, until its end or the first wrong answer. */
  async run(): Promise<void> {
    await this.#setUp()
    const { time, plan } = this
    let lookMs = time.nowMs + LOOK_MS
    let nightMs = nextNight(time.nowMs)
    const entries = plan.entries.filter(({ atMs }) => atMs > time.nowMs)
    let next = 0
    while (this.wrong.length === 0) {
      const entry = entries[next]
      const atMs = Math.min(entry?.atMs ?? Number.POSITIVE_INFINITY, lookMs, nightMs, this.#endMs)
      await time.runUntil(atMs)
      if (entry !== undefined && atMs === entry.atMs) {
        next += 1
        await this.perform(entry)
      }
      if (atMs === lookMs) {
        lookMs += LOOK_MS
        await this.#look('look')
      }
      if (atMs === nightMs) {
        await this.#look('night')
        nightMs = nextNight(time.nowMs)
      }
      if (atMs >= this.#endMs) break
    }
    if (this.wrong.length === 0) await this.#look('end')
    const { program } = this.life
    if (this.life.isRunning && program !== null) {
      const { promise: dead, resolve } = Promise.withResolvers<void>()
      program.onDeath(resolve)
      // a kill that is due may come first
      await time.until('the stop of the gateway', Promise.race([this.life.stop(), dead]), STOP_MS)
    }
    this.#traceFile?.end()
  }

  /** SHA-256 of all bytes on all lines, with their times, and of all log lines. */
  traceSum(): string {
    return this.#trace.copy().digest('hex')
  }

  /** Sends a request as the admin, or with `key`; null if the gateway is down, or it or its disk fails. */
  async ask(method: string, path: string, body?: unknown, key?: string): Promise<Answer | null> {
    if (!this.life.isRunning) return null
    const program = this.life.program
    let answer: Answer | null = null
    let isOver = false
    const asked = this.life.request(method, path, body, key).then(
      (one) => {
        answer = one
        isOver = true
      },
      (error: unknown) => {
        isOver = true
        throw error
      },
    )
    asked.catch(() => undefined)
    await this.time.runUntil(this.time.nowMs + ANSWER_MS, () => isOver || program?.isAlive === false)
    if (program?.isAlive === false) return null
    if (!isOver) {
      this.report(52, { is: `${method} ${path} was not answered within a minute`, expected: 'an answer' })
      return null
    }
    await asked
    // it may have done a part
    if (path !== '/health' && this.life.disk.isFailing && hasFailed(answer)) return null
    return answer
  }

  /** Sends a request as the admin, which must succeed. */
  async set(method: string, path: string, body: unknown): Promise<Answer['body']> {
    const answer = await this.ask(method, path, body)
    if (answer === null || answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`)
    return answer.body
  }

  /** True if the clock of the gateway was wrong at some moment since a time. */
  wasClockWrong(sinceMs: number, untilMs: number = this.time.nowMs): boolean {
    return this.wrongClocks.some(({ fromMs, toMs }) => fromMs <= untilMs && toMs >= sinceMs)
  }

  /** Performs an entry of the plan, or one that follows from another. */
  async perform(entry: Entry): Promise<void> {
    for (const part of this.#parts) await part.perform?.(entry)
    this.done.push(entry)
  }

  /** Time since which nothing delays or refuses a write; infinite while something does. */
  get writesSinceMs(): number {
    return Math.max(
      this.diskWellSinceMs,
      this.slowUntilMs > this.time.nowMs ? Number.POSITIVE_INFINITY : this.slowUntilMs,
    )
  }

  /** Records a wrong statement of the product, which ends the run. */
  report(check: number, finding: Finding): void {
    if (this.#parts.some((part) => part.excuses?.(check))) return
    this.wrong.push({ check, atMs: this.time.nowMs, ...finding })
  }

  async #setUp(): Promise<void> {
    for (const part of this.#parts) await part.prepare?.()
    await this.time.until('the first start', this.life.start(), 300_000)
    const days = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun']
    await this.set('PATCH', '/site', {
      name: 'Bottle',
      time_zone: ZONE,
      opening_hours: Object.fromEntries(days.map((day) => [day, ['06:00', '21:30']])),
      pack: { empty_v: 46.9, full_v: 51, low_v: 47.7 },
      auto_lock_after_min: 10,
      lock_at_closing: true,
    })
    await this.set('PUT', '/zones', zonesGeoJson())
    for (const part of this.#parts) await part.setUp?.()
    for (const part of this.#parts) part.start?.()
    await this.time.runUntil(this.time.nowMs + SETTING_UP_MS)
  }

  async #look(when: Check['when']): Promise<void> {
    this.looks += 1
    const isClockWrong = this.time.nowMs < this.clockRightSinceMs + CLOCK_SETTLING_MS
    for (const check of this.checks) {
      if (check.when !== when && !(when === 'end' && check.when === 'night')) continue
      if (isClockWrong && check.isForWrongClocks !== true) this.#skipped.add(check)
      else {
        const found = await check.find(this)
        // what was seen meanwhile
        if (!this.#skipped.delete(check)) for (const one of found) this.report(check.number, one)
      }
    }
  }

  /** Takes a line of the log of a program. */
  logged(line: string): void {
    const { level, time: _, ...fields } = JSON.parse(line)
    const text = JSON.stringify(fields).replaceAll(dirname(this.dataDir), '')
    this.log.push({ atMs: this.time.nowMs, level, text })
    // a backup has the authority, whose key comes from a generator of its own
    this.#note('log', `${level} ${text.replace(/"(newBytes|totalBytes)":\d+/g, '"$1":0')}`)
  }

  #note(name: string, text: string): void {
    const line = `${this.time.nowMs - this.time.startMs} ${name} ${JSON.stringify(withoutDate(text))}\n`
    this.#trace.update(line)
    this.#traceFile?.write(line)
  }
}

function hasFailed(answer: Answer | null): boolean {
  return answer?.status === 503
}

/** Node writes the date of a response from a clock of its own. */
function withoutDate(text: string): string {
  return text.startsWith('HTTP/1.1') ? text.replace(/^Date: .*$/m, 'Date:') : text
}

function dayAfter({ start, days }: Plan): number {
  let date = start
  for (let day = 0; day < days; day++) date = nextDay(date)
  return localToMs(date, 0)
}

/** Three in the morning, when nothing happens on the course. */
function nextNight(afterMs: number): number {
  const { date } = toLocal(afterMs)
  const today = localToMs(date, NIGHT_MINUTE)
  return today > afterMs ? today : localToMs(nextDay(date), NIGHT_MINUTE)
}
