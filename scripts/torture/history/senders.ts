import { type BenchDevice, loginOf } from '#scripts/rig/gateway-api.ts'
import type { Outgoing } from '#scripts/rig/outgoing.ts'
import { SessionClient } from '#scripts/rig/session-client.ts'
import { mustReach } from '#scripts/rig/wait-until.ts'
import { DAY_MS } from '#shared/time.ts'
import type { ExpectedHistory, Send } from './expected-history.ts'
import { sampleAt } from './records.ts'

const TICK_MS = 50
/** Maximum number of samples in a message of times past. */
const BACKLOG_SAMPLES = 60
const MAX_UNACKNOWLEDGED = 12
const LIVE_CHANCE = 0.5
const REPEAT_CHANCE = 0.15
const LIVE_SAMPLES = 3
const KEPT_FOR_REPEATS = 50
const READY_LIMIT_MS = 30_000
const SECOND_MS = 1000
const HOUR_S = 3600
/** Days of the backlogs, each of which covers an hour of one: so few times that many are sent again. */
export const BACKLOG_DAYS = 20

interface Sender {
  device: number
  hardwareId: string
  client: SessionClient
  newestMs: number
  lately: (readonly number[])[]
  sends: Map<Outgoing, Send>
}

/** Devices that send current samples, long backlogs of times past, and repetitions of what they sent before. */
export class HistorySenders {
  readonly #expected: ExpectedHistory
  readonly #port: number
  #senders: Sender[]
  readonly #startMs = Date.now()
  #timer: NodeJS.Timeout | undefined

  constructor(devices: readonly BenchDevice[], port: number, expected: ExpectedHistory) {
    this.#expected = expected
    this.#port = port
    this.#senders = devices.map((login, device) => this.#createSender(device, login))
  }

  /** Stops a device; its unacknowledged messages will never be acknowledged. */
  leave(device: number): void {
    const left = this.#senders.find((sender) => sender.device === device)
    left?.client.goOffline('abruptly')
    this.#senders = this.#senders.filter((sender) => sender !== left)
  }

  /** Starts a device, with another login than before. */
  join(device: number, login: BenchDevice): void {
    this.leave(device)
    const sender = this.#createSender(device, login)
    this.#senders.push(sender)
    sender.client.goOnline()
  }

  get unacknowledged(): number {
    return this.#senders.reduce((sum, { client }) => sum + client.unacknowledged, 0)
  }

  /** Resolves when all active devices are connected. */
  ready(): Promise<void> {
    const areReady = () => this.#senders.every(({ client }) => client.isReady)
    return mustReach(areReady, READY_LIMIT_MS, 'the devices cannot connect')
  }

  goOnline(): void {
    for (const { client } of this.#senders) client.goOnline()
  }

  start(): void {
    this.#timer = setInterval(() => this.#sendSomething(), TICK_MS)
  }

  /** Ends new messages; those in flight are still repeated until they are acknowledged. */
  pause(): void {
    clearInterval(this.#timer)
  }

  close(): void {
    this.pause()
    for (const { client } of this.#senders) client.goOffline('politely')
  }

  /** `count` consecutive times of the past, some of which have records already. */
  pastTimes(count: number): number[] {
    const day = 1 + Math.floor(Math.random() * BACKLOG_DAYS)
    const firstS = Math.floor(Math.random() * (HOUR_S - count))
    // every third is off the grid of whole seconds
    const jitterMs = (i: number) => ((firstS + i) % 3 === 0 ? 250 : 0)
    const beginMs = Math.floor(this.#startMs / SECOND_MS) * SECOND_MS - day * DAY_MS
    return Array.from({ length: count }, (_, i) => beginMs + (firstS + i) * SECOND_MS + jitterMs(i))
  }

  #createSender(device: number, login: BenchDevice): Sender {
    const client = new SessionClient({ port: this.#port, ...loginOf(login), isPersistent: false })
    const sends = new Map<Outgoing, Send>()
    client.onAcknowledged = (message) => {
      const send = sends.get(message)
      if (send !== undefined) this.#expected.acknowledge(send)
      sends.delete(message)
    }
    return { device, hardwareId: login.hardwareId, client, newestMs: 0, lately: [], sends }
  }

  #sendSomething(): void {
    const sender = this.#senders[Math.floor(Math.random() * this.#senders.length)]
    if (sender === undefined || sender.client.unacknowledged >= MAX_UNACKNOWLEDGED) return
    const times = this.#choose(sender)
    const samples = times.map((atMs) => sampleAt(sender.device, atMs))
    const payload = JSON.stringify(samples.length === 1 ? samples[0] : samples)
    const message: Outgoing = { topic: `dev/${sender.hardwareId}/tlm`, payload, qos: 1, retain: false }
    sender.sends.set(message, this.#expected.send(sender.device, times))
    sender.client.publish(message)
  }

  #choose(sender: Sender): readonly number[] {
    const chance = Math.random()
    if (chance < REPEAT_CHANCE) {
      const again = sender.lately[Math.floor(Math.random() * sender.lately.length)]
      if (again !== undefined) return again
    }
    const times =
      chance < LIVE_CHANCE
        ? liveTimes(sender, 1 + Math.floor(Math.random() * LIVE_SAMPLES))
        : this.pastTimes(1 + Math.floor(Math.random() * BACKLOG_SAMPLES))
    sender.lately.push(times)
    if (sender.lately.length > KEPT_FOR_REPEATS) sender.lately.shift()
    return times
  }
}

function liveTimes(sender: Sender, count: number): number[] {
  const firstMs = Math.max(sender.newestMs + 1, Date.now())
  sender.newestMs = firstMs + count - 1
  return Array.from({ length: count }, (_, i) => firstMs + i)
}
