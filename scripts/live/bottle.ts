import { createHash } from 'node:crypto'
import { createWriteStream, type WriteStream } from 'node:fs'
import { join } from 'node:path'
import { createRandom, type Random } from '#shared/random.ts'
import { LiveCart } from './model/cart.ts'
import { zonesGeoJson } from './model/ground.ts'
import { localToMs, NIGHT_MINUTE, nextDay, toLocal, ZONE } from './model/local-time.ts'
import { StaffKey } from './model/staff.ts'
import type { Entry, Plan } from './plan.ts'
import { type Answer, GatewayLife, MQTT_PORT } from './world/gateway-life.ts'
import { installHost } from './world/host.ts'
import { type Line, Lines } from './world/lines.ts'
import { type Edit, installThreads, slowness } from './world/threads.ts'
import { HangError, running, VirtualTime } from './world/virtual-time.ts'

const LOOK_MS = 600_000
const SETTING_UP_MS = 60_000
const STOP_MS = 120_000

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
  find(bottle: Bottle): Promise<Finding[]> | Finding[]
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
  readonly checks: readonly Check[]
  /** Breaks of the product, to prove the checks. */
  readonly edits?: readonly Edit[]
  /** File for all lines of the trace. */
  readonly traceFile?: string
  /** Virtual time at which the run ends early, in ms since its start. */
  readonly untilMs?: number
}

/** Run of a gateway and its course in virtual time, with the checks of its responses. */
export class Bottle {
  readonly plan: Plan
  readonly time: VirtualTime
  readonly lines: Lines
  readonly life: GatewayLife
  readonly carts: LiveCart[] = []
  readonly staff: StaffKey[] = []
  readonly commands: Command[] = []
  /** Commands of staff, by id. */
  readonly commandIds = new Set<string>()
  readonly log: LogLine[] = []
  readonly wrong: Wrong[] = []
  /** Times of kills and restarts, newest last. */
  readonly kills: number[] = []
  /** Entries that have been performed. */
  readonly done: Entry[] = []
  looks = 0
  /** Time at which a fault last began or ended on the lines of a cart. */
  readonly disturbedAtMs = new Map<LiveCart, number>()
  readonly #checks: readonly Check[]
  readonly #trace = createHash('sha256')
  readonly #traceFile: WriteStream | undefined
  readonly #random: Random
  readonly #endMs: number
  readonly #shadowed = new Map<LiveCart, number>()

  /** Replaces clocks, sockets and threads of this process. */
  constructor({ plan, dataDir, checks, edits = [], traceFile, untilMs }: BottleOptions) {
    this.plan = plan
    this.#checks = checks
    const startMs = localToMs(plan.start, 0)
    this.time = new VirtualTime(startMs)
    this.#endMs = startMs + Math.min(untilMs ?? Number.POSITIVE_INFINITY, dayAfter(plan) - startMs)
    this.#random = createRandom(plan.seed, 'fleet')
    this.#traceFile = traceFile === undefined ? undefined : createWriteStream(traceFile)
    this.lines = new Lines(this.time, (line, bytes) => this.#note(line, Buffer.from(bytes).toString('latin1')))
    this.lines.onOpen = (line) => this.#opened(line)
    const product = createRandom(plan.seed, 'product')
    this.time.install()
    installHost(product)
    installThreads({ time: this.time, random: product, edits })
    this.lines.install()
    this.life = new GatewayLife({
      time: this.time,
      dataDir: join(dataDir, 'gateway'),
      settings: {},
      overrides: {},
      onLog: (line) => this.#logged(line),
    })
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
        await this.#perform(entry)
        this.done.push(entry)
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
    if (this.life.isRunning) await time.until('the stop of the gateway', this.life.stop(), STOP_MS)
    this.#traceFile?.end()
  }

  /** SHA-256 of all bytes on all lines, with their times, and of all log lines. */
  traceSum(): string {
    return this.#trace.copy().digest('hex')
  }

  /** Sends a request as the admin, or with `key`; null if the gateway is down, or dies meanwhile. */
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
    await this.time.runUntil(this.time.nowMs + 120_000, () => isOver || program?.isAlive === false)
    if (program?.isAlive === false) return null
    if (!isOver) throw new HangError(`${method} ${path} was not answered within two minutes`)
    await asked
    return answer
  }

  async #setUp(): Promise<void> {
    await this.time.until('the first start', this.life.start(), 300_000)
    const set = async (method: string, path: string, body: unknown) => {
      const answer = await this.ask(method, path, body)
      if (answer === null || answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`)
      return answer.body
    }
    const days = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun']
    await set('PATCH', '/site', {
      name: 'Bottle',
      time_zone: ZONE,
      opening_hours: Object.fromEntries(days.map((day) => [day, ['06:00', '21:30']])),
      pack: { empty_v: 46.9, full_v: 51, low_v: 47.7 },
      auto_lock_after_min: 10,
      lock_at_closing: true,
    })
    await set('PUT', '/zones', zonesGeoJson())
    for (let number = 1; number <= this.plan.carts; number++) {
      const body = { hardware_id: `cart-${number}`, device_type: 'teebox', cart: String(number) }
      const { mqtt } = await set('POST', '/devices', body)
      const random = createRandom(this.plan.seed, 'device', number)
      const now = () => this.time.nowMs
      this.carts.push(new LiveCart({ number, password: mqtt.password, port: MQTT_PORT, random, now }))
    }
    for (const name of ['Starter', 'Greenkeeper']) {
      const { user, api_key: key } = await set('POST', '/users', { name, role: 'staff', allowed_hardware_ids: ['*'] })
      this.staff.push(new StaffKey(user.user_id, key))
    }
    for (const cart of this.carts) this.#as(cart, () => cart.start())
    await this.time.runUntil(this.time.nowMs + SETTING_UP_MS)
  }

  async #perform(entry: Entry): Promise<void> {
    const cart = 'cart' in entry ? this.carts[entry.cart - 1] : undefined
    switch (entry.kind) {
      case 'drive':
        return this.#as(cart, (one) => one.drive(entry.journey, entry.pace))
      case 'sleep':
        return this.#as(cart, (one) => one.sleep())
      case 'wake':
        return this.#as(cart, (one) => one.wake())
      case 'plug':
      case 'unplug':
        return this.#as(cart, (one) => one.plug(entry.kind === 'plug'))
      case 'command':
        if (cart !== undefined) await this.#command(cart, entry.command)
        return
      case 'calls':
        for (let i = 0; i < entry.count; i++) await this.#call()
        return
      case 'shadow':
        if (cart !== undefined) this.#shadow(cart, entry.forMs)
        return
      case 'rush':
        for (const { port, client } of this.lines.open) if (port === MQTT_PORT) client.run(() => client.destroy())
        for (const one of this.carts) this.disturbedAtMs.set(one, this.time.nowMs)
        return
      case 'slow':
        slowness.delay = (thread) => (thread === 'writer' ? 1 + Math.floor(this.#random.next() * entry.delayMs) : 0)
        setTimeout(() => {
          slowness.delay = () => 0
        }, entry.forMs)
        return
      case 'kill':
        return this.#killAfter(entry.turns, entry.downMs)
      case 'restart':
        await this.#restart(entry.downMs)
    }
  }

  #as(cart: LiveCart | undefined, act: (cart: LiveCart) => void): void {
    if (cart !== undefined) running.run(cart.program, () => act(cart))
  }

  async #command(cart: LiveCart, command: string): Promise<void> {
    const staff = this.staff[0] as StaffKey
    const atMs = this.time.nowMs
    if (!this.life.isRunning) return
    staff.calls.push(atMs)
    const answer = await this.ask('POST', `/devices/${cart.hardwareId}/commands`, { command }, staff.key)
    if (answer?.status !== 202) return
    this.commands.push({ id: answer.body.command_id, cart, command, atMs })
    this.commandIds.add(answer.body.command_id)
  }

  async #call(): Promise<void> {
    const staff = this.staff[1] as StaffKey
    if (!this.life.isRunning) return
    staff.calls.push(this.time.nowMs)
    await this.ask('GET', '/carts', undefined, staff.key)
  }

  /** Stops the gateway and starts it again; a kill may come before it has stopped. */
  async #restart(downMs: number): Promise<void> {
    const { program } = this.life
    if (program === null || !this.life.isRunning) return
    const { promise: dead, resolve } = Promise.withResolvers<void>()
    program.onDeath(resolve)
    const killsBefore = this.kills.push(this.time.nowMs)
    await this.time.until('the stop of the gateway', Promise.race([this.life.stop(), dead]), STOP_MS)
    if (this.kills.length === killsBefore) setTimeout(() => this.#startAgain(), downMs)
  }

  /** The cart drives through a place without signal. */
  #shadow(cart: LiveCart, forMs: number): void {
    const untilMs = this.time.nowMs + forMs
    this.#shadowed.set(cart, Math.max(untilMs, this.#shadowed.get(cart) ?? 0))
    this.disturbedAtMs.set(cart, this.time.nowMs)
    const own = () => [...this.lines.open].filter(({ owner }) => owner === cart.program)
    for (const line of own()) line.cut('both')
    setTimeout(() => {
      if ((this.#shadowed.get(cart) ?? 0) > this.time.nowMs) return
      this.#shadowed.delete(cart)
      this.disturbedAtMs.set(cart, this.time.nowMs)
      for (const line of own()) line.mend()
    }, forMs)
  }

  #opened(line: Line): void {
    for (const cart of this.#shadowed.keys()) if (line.owner === cart.program) line.cut('both')
  }

  #killAfter(turns: number, downMs: number): void {
    const program = this.life.program
    if (program === null || !this.life.isRunning) return
    let left = turns
    const die = () => {
      if (left-- > 0) return
      program.onTurn = null
      this.kills.push(this.time.nowMs)
      this.life.kill()
      running.exit(() => setTimeout(() => this.#startAgain(), downMs))
    }
    program.onTurn = die
  }

  #startAgain(): void {
    this.life.start().catch((error: unknown) => {
      this.wrong.push({
        check: 52,
        atMs: this.time.nowMs,
        is: `the gateway does not start: ${String(error)}`,
        expected: 'a start',
      })
    })
  }

  async #look(when: Check['when']): Promise<void> {
    this.looks += 1
    for (const check of this.#checks) {
      if (check.when !== when && !(when === 'end' && check.when === 'night')) continue
      for (const found of await check.find(this))
        this.wrong.push({ check: check.number, atMs: this.time.nowMs, ...found })
    }
  }

  #logged(line: string): void {
    const { level, time: _, ...fields } = JSON.parse(line)
    const text = JSON.stringify(fields)
    this.log.push({ atMs: this.time.nowMs, level, text })
    this.#note('log', `${level} ${text}`)
  }

  #note(name: string, text: string): void {
    const line = `${this.time.nowMs - this.time.startMs} ${name} ${JSON.stringify(withoutDate(text))}\n`
    this.#trace.update(line)
    this.#traceFile?.write(line)
  }
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
