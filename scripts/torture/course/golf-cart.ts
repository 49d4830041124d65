import { setTimeout as sleep } from 'node:timers/promises'
import type { BenchDevice } from '#scripts/rig/gateway-api.ts'
import { SessionClient } from '#scripts/rig/session-client.ts'
import { BARN_PLACE, COURSE_PLACE, OUTSIDE_PLACE, RESTING_V } from '#scripts/rig/staff-course.ts'
import { waitUntil } from '#scripts/rig/wait-until.ts'
import type { WebhookReceiver } from './receiver.ts'
import type { Uptime } from './uptime.ts'

/** Excursion beyond the boundary that was acknowledged. */
export interface Excursion {
  /** Time at which the gateway had acknowledged the fix that reveals the excursion. */
  knownAtMs: number
}

const FIX_GAP_MS = 300
const PARKED_GAP_MS = 700
const POLL_MS = 50
/** Uptime of the gateway within which an alert, its end or a lock must come: many lives, however long starts take. */
const LIMIT_UP_MS = 40_000

/** Cart that leaves the course, returns, and is parked unlocked until locked remotely, in a loop across all lives. */
export class GolfCart {
  readonly hardwareId: string
  readonly cart: string
  readonly excursions: Excursion[] = []
  /** Stays in the barn that have ended or have timed out. */
  stays = 0
  /** Ids of lock commands, in order. */
  readonly locks = new Set<string>()
  /** Reactions that did not come in time. */
  readonly missed: string[] = []
  readonly #client: SessionClient
  readonly #receiver: WebhookReceiver
  readonly #uptime: Uptime
  readonly #acknowledged = new Map<string, () => void>()
  #isEnding = false
  #isLocked = false
  #ended: Promise<void> = Promise.resolve()
  #events = 0

  constructor(
    { hardwareId, password }: BenchDevice,
    cart: string,
    port: number,
    { receiver, uptime }: { receiver: WebhookReceiver; uptime: Uptime },
  ) {
    this.hardwareId = hardwareId
    this.cart = cart
    this.#receiver = receiver
    this.#uptime = uptime
    const login = { clientId: hardwareId, username: hardwareId, password }
    const subscriptions = { [`dev/${hardwareId}/cmd`]: 1 } as const
    this.#client = new SessionClient({ port, ...login, isPersistent: true, subscriptions })
    this.#client.onAcknowledged = ({ payload }) => {
      this.#acknowledged.get(payload)?.()
      this.#acknowledged.delete(payload)
    }
    this.#client.onDelivery = ({ payload }) => this.#obey(JSON.parse(payload))
  }

  start(): void {
    this.#client.goOnline()
    this.#ended = this.#drive()
  }

  /** Resolves when the excursion and the stay in progress are over. */
  async end(): Promise<void> {
    this.#isEnding = true
    await this.#ended
  }

  close(): void {
    this.#client.goOffline('politely')
  }

  async #drive(): Promise<void> {
    while (!this.#isEnding) {
      await this.#leaveCourse()
      await this.#park()
    }
  }

  async #leaveCourse(): Promise<void> {
    if (this.#isLocked) await this.#turnLock('unlock', { source: 'rfid', code: '04A1B2C3' })
    await this.#sayTwice(COURSE_PLACE)
    await this.#sayTwice(OUTSIDE_PLACE)
    this.excursions.push({ knownAtMs: Date.now() })
    await this.#mustBeDelivered('opened')
    await this.#sayTwice(COURSE_PLACE)
    await this.#mustBeDelivered('closed')
  }

  async #park(): Promise<void> {
    const before = this.locks.size
    await this.#sayTwice(BARN_PLACE, 0)
    this.stays += 1
    const parkedAtMs = Date.now()
    while (this.locks.size === before && !this.#waitsInVain(parkedAtMs)) {
      await sleep(PARKED_GAP_MS)
      await this.#say(BARN_PLACE, 0)
    }
    if (this.locks.size === before) this.missed.push(`${this.cart}: not locked in stay ${this.stays}`)
    else await this.#until(() => this.#isLocked)
  }

  async #mustBeDelivered(event: 'opened' | 'closed'): Promise<void> {
    const wanted = this.excursions.length
    const isDelivered = () => this.#receiver.count(this.cart, 'outside', event) >= wanted
    if (!(await this.#until(isDelivered))) this.missed.push(`${this.cart}: no ${event} event of excursion ${wanted}`)
  }

  /** Resolves to true if the condition becomes true before the limit, in uptime, expires. */
  async #until(isSo: () => boolean): Promise<boolean> {
    const fromMs = Date.now()
    await waitUntil(() => isSo() || this.#waitsInVain(fromMs), Number.POSITIVE_INFINITY, POLL_MS)
    return isSo()
  }

  #waitsInVain(sinceMs: number): boolean {
    return this.#uptime.upMs(sinceMs, Date.now()) > LIMIT_UP_MS
  }

  async #sayTwice(place: typeof BARN_PLACE, speed = 12): Promise<void> {
    await this.#say(place, speed)
    await sleep(FIX_GAP_MS)
    await this.#say(place, speed)
  }

  #say(place: typeof BARN_PLACE, speed: number): Promise<void> {
    const fields = { ...place, speed, battery_voltage: RESTING_V, lock_status: this.#isLocked ? 1 : 0 }
    return this.#publish('tlm', JSON.stringify({ ts: Date.now(), ...fields }))
  }

  /** Resolves when the gateway has acknowledged it, however many lives that takes. */
  #publish(level: string, payload: string): Promise<void> {
    const acknowledged = new Promise<void>((resolve) => this.#acknowledged.set(payload, resolve))
    this.#client.publish({ topic: `dev/${this.hardwareId}/${level}`, payload, qos: 1, retain: false })
    return acknowledged
  }

  #obey({ id, cmd }: { id: string; cmd: string }): void {
    if (cmd !== 'lock') return
    const isNew = !this.locks.has(id)
    this.locks.add(id)
    void this.#publish('ack', JSON.stringify({ id, st: 'completed', at: this.#events++ }))
    if (isNew) void this.#turnLock('lock', { source: 'remote', cmd: id })
  }

  async #turnLock(event: 'lock' | 'unlock', more: object): Promise<void> {
    const eid = `${this.hardwareId}-${this.#events++}`
    await this.#publish('evt', JSON.stringify({ eid, event, ...more, ts: Date.now() }))
    this.#isLocked = event === 'lock'
  }
}
