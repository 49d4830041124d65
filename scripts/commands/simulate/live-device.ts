import { z } from 'zod'
import type { Random } from '#shared/random.ts'
import { type CallMessage, zonesTopic } from '#shared/wire/mqtt.ts'
import {
  type Command,
  type CommandAck,
  type CommandEffects,
  CommandMemory,
  carryOut,
  isTooLate,
  parseCommand,
  readMessage,
} from './commands.ts'
import type { Cart } from './course/cart.ts'
import type { DeviceLink } from './device-client.ts'
import { downloadsZones } from './device-types.ts'
import type { PlannedDevice } from './fleet-plan.ts'
import { Outbox } from './outbox.ts'
import type { LockMessage } from './payload.ts'
import type { DeviceModel } from './sample.ts'

export interface LiveDeviceOptions {
  readonly device: PlannedDevice
  readonly model: DeviceModel
  readonly cart: Cart
  readonly gatewayUrl: string
  readonly boot: number
  readonly bootedAtMs: number
  readonly random: Random
  readonly createLink: (live: LiveDevice) => DeviceLink
}

/** Time without signal after which the broker also considers a device gone. */
const LINK_LOST_MS = 90_000
/**
 * Maximum of unacknowledged messages; beyond it a device buffers, so that a stalled gateway does not fill the memory.
 */
const WINDOW = 8

const versionSchema = z.looseObject({ v: z.number(), group_id: z.number().nullish() })

/** Device of the running fleet: sends its samples immediately, or later after a signal loss. */
export class LiveDevice {
  readonly device: PlannedDevice
  readonly #options: LiveDeviceOptions
  readonly #outbox: Outbox
  readonly #link: DeviceLink
  #events: { level: 'evt' | 'call'; message: object }[] = []
  readonly #memory = new CommandMemory()
  #received: { command: Command; atMs: number }[] = []
  #boot: number
  #bootedAtMs: number
  #nextEvent = 1
  #shadowedAtMs: number | undefined
  #nowMs: number

  constructor(options: LiveDeviceOptions) {
    this.device = options.device
    this.#options = options
    this.#boot = options.boot
    this.#bootedAtMs = options.bootedAtMs
    this.#nowMs = options.bootedAtMs
    this.#outbox = new Outbox(() => ({
      isEnvelope: options.random.chance(0.5),
      hasClock: options.device.hasClock,
      boot: this.#boot,
      bootedAtMs: this.#bootedAtMs,
    }))
    this.#link = options.createLink(this)
  }

  /** Number of the current boot, incremented by a reboot. */
  get boot(): number {
    return this.#boot
  }

  /** Number of samples, lock events and calls not sent yet. */
  get buffered(): number {
    return this.#outbox.size + this.#events.length
  }

  get isConnected(): boolean {
    return this.#link.isConnected
  }

  get isAwake(): boolean {
    return this.#options.model.isAwake
  }

  /** Observes the cart once. `atMs` is the time of the observed state, `nowMs` the wall-clock time. */
  observe(atMs: number, nowMs: number, isInShadow: boolean): void {
    this.#nowMs = nowMs
    const sample = this.#options.model.observe(atMs, this.#options.cart)
    if (sample !== undefined) this.#outbox.add(sample)
    this.#tendLink(isInShadow)
    this.#flush()
  }

  /** Reports a change of the lock, at the cart or remotely. */
  reportLock(event: Omit<LockMessage, 'eid' | 'ts'>, atMs: number): void {
    this.#report('evt', { eid: this.#eventId(), ...event }, atMs)
  }

  /** Reports a call of the golfer. */
  call(message: Pick<CallMessage, 'call' | 'text'>, atMs: number): void {
    this.#report('call', { cid: this.#eventId(), ...message }, atMs)
  }

  #eventId(): string {
    return `${this.#boot}-${this.#nextEvent++}`
  }

  #report(level: 'evt' | 'call', message: object, atMs: number): void {
    this.#events.push({ level, message: { ...message, ...(this.device.hasClock && { ts: atMs }) } })
  }

  /** Handles a message of the broker to this device. */
  receive(topic: string, payload: string): void {
    const level = topic.split('/').at(-1)
    if (level === 'cmd') {
      const command = parseCommand(payload)
      if (command !== undefined) this.#received.push({ command, atMs: this.#nowMs })
      this.#flush()
    } else if (level === 'cfg' || level === 'sz') {
      this.#applyVersion(level, payload)
    }
  }

  async stop(): Promise<void> {
    await this.#link.sleep()
  }

  #tendLink(isInShadow: boolean): void {
    this.#shadowedAtMs = isInShadow ? (this.#shadowedAtMs ?? this.#nowMs) : undefined
    if (this.#shadowedAtMs !== undefined) {
      if (this.#nowMs - this.#shadowedAtMs >= LINK_LOST_MS) this.#link.loseSignal()
    } else if (this.isAwake || this.buffered > 0) {
      this.#link.connect()
    } else if (this.isConnected && this.#link.inFlight === 0) {
      void this.#link.sleep()
    }
  }

  #flush(): void {
    const link = this.#link
    if (this.#shadowedAtMs !== undefined) return
    for (const { command, atMs } of this.#received.splice(0)) this.#execute(command, atMs)
    while (link.isConnected && link.inFlight < WINDOW && this.buffered > 0) {
      const event = this.#events.shift()
      const payload = event === undefined ? this.#outbox.take(this.#nowMs) : JSON.stringify(event.message)
      if (payload === undefined) return
      void link.publish(event?.level ?? 'tlm', payload)
    }
  }

  #execute(command: Command, receivedAtMs: number): void {
    const acknowledge = (ack: CommandAck) => {
      this.#memory.note(ack)
      void this.#link.publish('ack', JSON.stringify(ack))
    }
    const known = this.#memory.answerTo(command.id)
    if (known !== undefined) acknowledge(known)
    else if (isTooLate(command, receivedAtMs, this.#nowMs, this.device.hasClock)) {
      acknowledge({ id: command.id, st: 'failed', err: 'expired' })
    } else void carryOut(command, this.#effects(), acknowledge)
  }

  #effects(): CommandEffects {
    const { cart, model, gatewayUrl, device } = this.#options
    return {
      // one in four confirms no message
      readsMessages: (device.hardwareId.codePointAt(device.hardwareId.length - 1) ?? 0) % 4 !== 0,
      turnLock: (event, cmd) => {
        cart.turnLock(event)
        this.reportLock({ event, source: 'remote', cmd }, this.#nowMs)
        this.#flush()
      },
      reportPosition: () => {
        this.#outbox.add(model.measure(this.#nowMs, cart))
        this.#flush()
      },
      reboot: () => {
        this.#boot += 1
        this.#bootedAtMs = this.#nowMs
        this.#nextEvent = 1
        this.#link.loseSignal()
      },
      download: async (url) => {
        const response = await fetch(new URL(url, gatewayUrl))
        await response.arrayBuffer()
        if (!response.ok) throw new Error(`Download answered ${response.status}`)
      },
    }
  }

  #applyVersion(level: 'cfg' | 'sz', payload: string): void {
    const version = readMessage(versionSchema, payload)
    if (version === undefined) return
    if (level === 'cfg' && !downloadsZones(this.device.deviceType)) {
      const { group_id: groupId = null } = version
      this.#link.follow(groupId === null ? null : zonesTopic(groupId))
    }
    void this.#link.publish('ack', JSON.stringify({ [level]: version.v }))
  }
}
