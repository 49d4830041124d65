import { SessionClient } from '#scripts/rig/session-client.ts'
import type { Random } from '#shared/random.ts'
import { Program } from '../world/program.ts'
import { DaySums } from './day-sums.ts'
import { Diary } from './diary.ts'
import { BARN, distanceM, isIn, type Spot, toDegrees } from './ground.ts'
import { type JourneyKind, Journeys } from './journey.ts'
import { firmwareOf } from './local-time.ts'
import { ZonePath } from './zone-path.ts'

const DRIVING_FIX_MS = 5_000
const STANDING_FIX_MS = 30_000
const BARN_FIX_MS = 300_000
/** Time in which it reports that it has set off or stopped. */
const MOTION_MS = 1_000
/** Time after which the gateway has that report. */
const KNOWN_MS = 3_000
/** Age of a position from which the gateway locates a cart before it locks it, unless it was in the barn. */
const LOCATED_MS = 60_000
/** Time without movement after which the battery is at rest. */
const REST_MS = 300_000
const MOST_IN_BATCH = 100
const EMPTY_V = 46.9
const SPAN_V = 4.1
const SAG_V = 0.6
/** Share of the charge that a metre takes, and that a millisecond at the charger gives. */
const DRIVE_SHARE = 1 / 9_000
const CHARGE_SHARE = 1 / (6 * 3_600_000)
const REMEMBERED_COMMANDS = 100
const KEPT = 1_000

export interface CommandReceipt {
  readonly id: string
  readonly command: string
  readonly atMs: number
  /** Time at which the gateway sent it, by its message. */
  readonly madeAtMs: number
  /** Number of the connection on which it came. */
  readonly connection: number
  /** Speed in m/s, at that moment and some seconds before. */
  readonly speedMps: number
  /** In the barn by its last position, which is old: staff lock such a cart without locating it. */
  readonly wasInBarn: boolean
}

export interface LockEvent {
  readonly eid: string
  readonly event: 'lock' | 'unlock'
  readonly atMs: number
}

interface CartOptions {
  readonly number: number
  readonly password: string
  readonly port: number
  readonly random: Random
  readonly now: () => number
}

interface Sample {
  readonly atMs: number
  readonly text: string
}

/** A cart with its lock: where it is, what its battery has, what it has sent and what was acknowledged. */
export class LiveCart {
  readonly hardwareId: string
  /** Code that a guest enters at its keypad; null for its drivers' own. */
  guestCode: string | null = null
  readonly driversCode: string
  readonly program: Program
  readonly journeys = new Journeys()
  readonly diary = new Diary()
  isLocked = false
  isAwake = true
  charge = 1
  /** False while it is in the barn without its charger. */
  isPluggedIn = true
  /** Time of its last lock or unlock. */
  lockChangedAtMs: number
  /** Distances that it was moved while locked, newest last. */
  readonly lockedDrives: { readonly atMs: number; readonly metres: number }[] = []
  /** Position and voltage of each fix of the last minutes, newest last. */
  readonly fixes: { readonly atMs: number; readonly spot: Spot }[] = []
  /** Times at which it was connected or not, the newest last; null before the first. */
  linkChangedAtMs: number | null = null
  connections = 0
  /** Newest sample that was acknowledged. */
  last: { atMs: number; heardMs: number; spot: Spot; voltageV: number } | null = null
  /** Number of samples that were acknowledged. */
  acknowledged = 0
  /** Times of the samples of the last days; true once acknowledged. */
  readonly samples = new Map<number, boolean>()
  readonly zonePath = new ZonePath()
  /** Sums of acknowledged records, by day. */
  readonly stored = { gps: new DaySums(), battery: new DaySums() }
  readonly lockEvents: LockEvent[] = []
  readonly receipts: CommandReceipt[] = []
  /** Locks by command, with the state before. */
  readonly ownLocks: { id: string; atMs: number; unlockedForMs: number; stillForMs: number; wasLocked: boolean }[] = []
  /** Time of the last command of staff whose response was lost: it may reach the cart. */
  unansweredMs = Number.NEGATIVE_INFINITY
  /** Ends of the lives of the commands that turned the lock. */
  readonly carriedOut = new Map<string, number>()
  /** Times at which the gateway had the final response to a command. */
  readonly answeredAtMs = new Map<string, number>()
  readonly client: SessionClient
  readonly #options: CartOptions
  readonly #answers = new Map<string, string>()
  #waiting: Sample[] = []
  /** Times at which samples that are not acknowledged were sent first. */
  readonly #sentMs = new Map<number, number>()
  #isConnected = false
  #eid = 0
  #timer: NodeJS.Timeout | undefined
  /** Time at which it was seen to move last. */
  #movedAtMs: number
  #steppedAtMs: number
  #steppedAt: Spot = BARN

  constructor(options: CartOptions) {
    this.#options = options
    this.hardwareId = `cart-${options.number}`
    this.driversCode = `7305${100 + options.number}`
    this.program = new Program(this.hardwareId)
    this.#steppedAtMs = options.now()
    this.#movedAtMs = options.now()
    this.lockChangedAtMs = options.now()
    this.client = new SessionClient({
      port: options.port,
      clientId: this.hardwareId,
      username: this.hardwareId,
      password: options.password,
      isPersistent: true,
      subscriptions: { [this.#topic('cmd')]: 1, [this.#topic('cfg')]: 1 },
      will: { topic: this.#topic('st'), payload: '{"online":false}', qos: 1, retain: true },
      longestRetryMs: 15_000,
    })
    this.client.onReady = () => this.#connected()
    this.client.onLost = () => this.#lost()
    this.client.onRefused = () => this.client.goOnline()
    this.client.onDelivery = ({ topic, payload }) => this.#receive(topic, payload)
    this.client.onAcknowledged = ({ payload, topic }) => this.#acknowledged(topic, payload)
  }

  get isConnected(): boolean {
    return this.#isConnected
  }

  /** True if all it has measured was acknowledged. */
  get isDrained(): boolean {
    return this.#waiting.length === 0 && this.client.unacknowledged === 0
  }

  /** Time since which it stands where it is; now while it moves. */
  get stillSinceMs(): number {
    return this.here().speedMps > 0 ? this.#options.now() : this.#movedAtMs
  }

  get voltageV(): number {
    return Math.round((EMPTY_V + SPAN_V * this.charge - (this.here().speedMps > 0 ? SAG_V : 0)) * 100) / 100
  }

  /** True position and speed. */
  here(): { spot: Spot; speedMps: number } {
    return this.journeys.at(this.#options.now())
  }

  start(): void {
    this.client.goOnline()
    this.#schedule(this.#options.random.integer(1_000, 30_000))
  }

  /** Sets out on a journey: a driver unlocks the cart at its keypad. */
  drive(kind: JourneyKind, pace: number): void {
    this.wake()
    // a thief has no code
    if (kind !== 'night') this.turnLock('unlock', 'keypad')
    const legs = this.journeys.add(kind, this.#options.now() + 1_000, pace)
    this.diary.journey(legs)
    const endsAtMs = legs.at(-1)?.toMs ?? 0
    this.#schedule(1_000)
    setTimeout(() => this.turnLock('lock', 'keypad'), endsAtMs - this.#options.now() + 60_000)
  }

  /** A person plugs it in, or forgets to. */
  plug(isPluggedIn: boolean): void {
    this.#step()
    this.isPluggedIn = isPluggedIn
  }

  /** Announces its sleep and disconnects, as a parked device at night. */
  sleep(): void {
    if (!this.isAwake || this.journeys.isUnderWay(this.#options.now())) return
    this.isAwake = false
    this.#publish('st', '{"online":false,"r":"sleep"}', true)
    clearTimeout(this.#timer)
    setTimeout(() => {
      if (!this.isAwake) this.client.goOffline('politely')
      this.#lost()
    }, 5_000)
  }

  wake(): void {
    if (this.isAwake) return
    this.isAwake = true
    this.client.goOnline()
    this.#schedule(1_000)
  }

  turnLock(event: 'lock' | 'unlock', source: string, command?: string): void {
    if (source !== 'remote' && this.isLocked === (event === 'lock')) return
    this.#step()
    this.isLocked = event === 'lock'
    const atMs = this.#options.now()
    this.lockChangedAtMs = atMs
    const eid = `1-${++this.#eid}`
    this.lockEvents.push({ eid, event, atMs })
    const code = source === 'keypad' ? { code: this.guestCode ?? this.driversCode } : {}
    const fields = { eid, event, source, ts: atMs, ...code, ...(command === undefined ? {} : { cmd: command }) }
    this.#publish('evt', JSON.stringify(fields))
  }

  #schedule(inMs: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#measure(), inMs)
  }

  #measure(): void {
    this.#step()
    const atMs = this.#options.now()
    const { spot, speedMps } = this.here()
    const fields = {
      ...toDegrees(spot),
      speed: speedMps * 3.6,
      battery_voltage: this.voltageV,
      lock_status: this.isLocked,
    }
    const isDriving = speedMps > 0
    // a request for its position may come in the millisecond of a sample
    if (!this.samples.has(atMs)) {
      this.diary.sample({ atMs, isDriving, isAtRest: atMs - this.stillSinceMs >= REST_MS, voltageV: this.voltageV })
      this.samples.set(atMs, false)
      this.#waiting.push({ atMs, text: JSON.stringify({ ts: atMs, ...fields }) })
    }
    this.#flush()
    const usualMs = speedMps > 0 ? DRIVING_FIX_MS : distanceM(spot, BARN) < 30 ? BARN_FIX_MS : STANDING_FIX_MS
    // its sensor of motion wakes it
    const changeMs = this.journeys.nextChangeMs(atMs) - atMs + MOTION_MS
    this.#schedule(Math.min(usualMs, changeMs))
  }

  /** Brings the battery up to now. */
  #step(): void {
    const atMs = this.#options.now()
    const { spot } = this.here()
    const drivenM = distanceM(spot, this.#steppedAt)
    const isCharging = drivenM === 0 && this.isPluggedIn && distanceM(spot, BARN) < 30
    if (drivenM > 0) this.#movedAtMs = atMs
    if (drivenM > 0 && this.isLocked) keep(this.lockedDrives, { atMs, metres: drivenM })
    keep(this.fixes, { atMs, spot })
    const change = isCharging ? (atMs - this.#steppedAtMs) * CHARGE_SHARE : -drivenM * DRIVE_SHARE
    this.charge = Math.min(1, Math.max(0, this.charge + change))
    this.#steppedAtMs = atMs
    this.#steppedAt = spot
  }

  #flush(): void {
    while (this.#isConnected && this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, MOST_IN_BATCH)
      const nowMs = this.#options.now()
      for (const { atMs } of batch) this.#sentMs.set(atMs, nowMs)
      const texts = batch.map(({ text }) => text)
      this.#publish('tlm', texts.length === 1 ? (texts[0] as string) : `[${texts.join(',')}]`)
    }
  }

  #connected(): void {
    this.#isConnected = true
    this.connections += 1
    this.linkChangedAtMs = this.#options.now()
    this.#publish('st', `{"online":true,"type":"teebox","fw":"${firmwareOf(this.linkChangedAtMs)}","boot":1}`, true)
    this.#flush()
  }

  #lost(): void {
    if (!this.#isConnected) return
    this.#isConnected = false
    this.linkChangedAtMs = this.#options.now()
  }

  #receive(topic: string, payload: string): void {
    const level = topic.split('/').at(-1)
    if (payload === '') return
    const message = JSON.parse(payload)
    if (level === 'cmd') this.#obey(message)
    else this.#publish('ack', JSON.stringify({ cfg: message.v }))
  }

  /** True if it was in the barn by its last position, which is old. */
  #wasInBarn(): boolean {
    const nowMs = this.#options.now()
    const heardMs = this.last?.atMs ?? 0
    const known = this.fixes.findLast(({ atMs }) => atMs <= heardMs)?.spot
    return heardMs < nowMs - LOCATED_MS && known !== undefined && isIn('parking', known)
  }

  #obey({ id, cmd, ts, ttl }: { id: string; cmd: string; ts: number; ttl: number }): void {
    const atMs = this.#options.now()
    this.receipts.push({
      id,
      command: cmd,
      atMs,
      madeAtMs: ts,
      connection: this.connections,
      speedMps: Math.min(this.here().speedMps, this.journeys.at(atMs - KNOWN_MS).speedMps),
      wasInBarn: this.#wasInBarn(),
    })
    const known = this.#answers.get(id) ?? (atMs - ts > ttl * 1000 ? 'failed' : undefined)
    if (known !== undefined) {
      this.#answer(id, known)
      return
    }
    this.#answer(id, 'acknowledged')
    if (cmd === 'lock' || cmd === 'unlock') {
      this.carriedOut.set(id, ts + ttl * 1000)
      dropOldest(this.carriedOut)
      // another lock, which the gateway sent at the same time, may have come first
      if (cmd === 'lock' && !(this.isLocked && this.lockChangedAtMs >= ts))
        this.ownLocks.push({
          id,
          atMs,
          unlockedForMs: atMs - this.lockChangedAtMs,
          stillForMs: atMs - this.stillSinceMs,
          wasLocked: this.isLocked,
        })
      this.turnLock(cmd, 'remote', id)
    }
    if (cmd === 'locate') this.#measure()
    this.#answer(id, 'completed')
  }

  #answer(id: string, st: string): void {
    this.#answers.set(id, st)
    dropOldest(this.#answers)
    this.#publish('ack', JSON.stringify({ id, st, ...(st === 'failed' ? { err: 'expired' } : {}) }))
  }

  #acknowledged(topic: string, payload: string): void {
    if (topic.endsWith('/ack')) this.#answered(JSON.parse(payload))
    if (!topic.endsWith('/tlm')) return
    const parsed = JSON.parse(payload)
    for (const { ts, lat, long, speed, battery_voltage: voltageV } of Array.isArray(parsed) ? parsed : [parsed]) {
      // a command may ask for a sample at the moment of another one
      if (this.samples.get(ts) === true) continue
      this.acknowledged += 1
      this.samples.set(ts, true)
      const spot = this.fixes.findLast(({ atMs }) => atMs === ts)?.spot
      const heardMs = this.#options.now()
      this.zonePath.heard({ atMs: ts, sentMs: this.#sentMs.get(ts) ?? heardMs, heardMs, spot })
      this.#sentMs.delete(ts)
      this.stored.gps.add(ts, lat, long, speed)
      this.stored.battery.add(ts, voltageV)
      if (this.last === null || ts > this.last.atMs)
        this.last = { atMs: ts, heardMs, spot: { x: long, y: lat }, voltageV }
    }
  }

  #answered({ id, st }: { id?: string; st?: string }): void {
    if (id === undefined || st === 'acknowledged' || this.answeredAtMs.has(id)) return
    this.answeredAtMs.set(id, this.#options.now())
    dropOldest(this.answeredAtMs)
  }

  #publish(level: string, payload: string, retain = false): void {
    this.client.publish({ topic: this.#topic(level), payload, qos: 1, retain })
  }

  #topic(level: string): string {
    return `dev/${this.hardwareId}/${level}`
  }
}

/** Forgets the oldest command, if there are many. */
function dropOldest(byCommand: Map<string, unknown>): void {
  const [oldest] = byCommand.keys()
  if (byCommand.size > REMEMBERED_COMMANDS && oldest !== undefined) byCommand.delete(oldest)
}

/** Keeps the newest entries of a list. */
function keep<Entry>(list: Entry[], entry: Entry): void {
  list.push(entry)
  if (list.length > 1.1 * KEPT) list.splice(0, list.length - KEPT)
}
