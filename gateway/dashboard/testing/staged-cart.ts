import type { MqttClient } from 'mqtt'
import { eventually } from '#shared/testing/eventually.ts'
import type { Clock } from '#shared/time.ts'
import type { CallMessage, CommandMessage } from '#shared/wire/mqtt.ts'
import type { TestGateway } from '#testing/start-gateway.ts'
import { PLACES, type Place, toLatLong } from './places.ts'

/** Response to a command: executed immediately, accepted but not executed yet, rejected, or ignored. */
export type Obedience = 'obeys' | 'takes' | 'refuses' | 'ignores'

interface Identity {
  /** Number of the cart. */
  number: string
  hardwareId: string
  password: string
  /** Clock that dates its readings. */
  clock: Clock
}

interface Report {
  isLocked?: boolean
  voltageV?: number
  speedKmh?: number
}

const SECOND_MS = 1000
/** Distance from which it approaches when it drives. */
const RUN_UP_M = 40

/** Cart with a tee box that reports what a test specifies, and executes commands. */
export class StagedCart {
  readonly number: string
  readonly hardwareId: string
  obedience: Obedience = 'obeys'
  /** Received commands, oldest first. */
  readonly received: CommandMessage[] = []
  readonly #gateway: TestGateway
  readonly #password: string
  readonly #clock: Clock
  readonly #taken: CommandMessage[] = []
  #client: MqttClient | undefined
  #place: Place = PLACES.barn
  #reported: Report = {}
  #reportedAtMs = 0
  #events = 0

  constructor(gateway: TestGateway, { number, hardwareId, password, clock }: Identity) {
    this.#gateway = gateway
    this.number = number
    this.hardwareId = hardwareId
    this.#password = password
    this.#clock = clock
  }

  /** Publishes a call of its golfer. */
  async calls(call: CallMessage['call'], text?: string): Promise<void> {
    const message = { call, text, cid: `call-${++this.#events}`, ts: this.#clock.nowMs() }
    await this.#client?.publishAsync(`dev/${this.hardwareId}/call`, JSON.stringify(message), { qos: 1 })
  }

  async connect(): Promise<void> {
    const client = await this.#gateway.connect(this.hardwareId, this.#password)
    this.#client = client
    client.on('message', (_, payload) => void this.#receive(JSON.parse(payload.toString())))
    await client.subscribeAsync(`dev/${this.hardwareId}/cmd`, { qos: 1 })
  }

  /** Reports a confirmed stop at a place; resolves when the gateway has it. */
  async stands(place: keyof typeof PLACES | Place, report: Report = {}): Promise<void> {
    this.#place = typeof place === 'string' ? PLACES[place] : place
    await this.#sendReport(this.#place, { ...report, speedKmh: 0 }, SECOND_MS)
    await this.#sendReport(this.#place, { ...report, speedKmh: 0 })
  }

  /** Reports a drive to a place from the south. */
  async drives(place: keyof typeof PLACES | Place, report: Report = {}): Promise<void> {
    this.#place = typeof place === 'string' ? PLACES[place] : place
    const { eastM, northM } = this.#place
    const moving = { speedKmh: 15, isLocked: false, ...report }
    await this.#sendReport({ eastM, northM: northM - RUN_UP_M }, moving, SECOND_MS)
    await this.#sendReport(this.#place, moving)
  }

  /** Uses the lock at the cart itself, with a tag. */
  async turnsLock(event: 'lock' | 'unlock', code = '04A1B2C3'): Promise<void> {
    await this.#report({ event, source: 'rfid', code })
  }

  /** Executes the accepted commands. */
  async finish(): Promise<void> {
    for (const command of this.#taken.splice(0)) await this.#carryOut(command)
  }

  /** Waits for a command of this name; returns it. */
  async receives(name: string): Promise<CommandMessage> {
    const last = () => this.received.findLast(({ cmd }) => cmd === name)
    await eventually(() => last() !== undefined, `cart ${this.number} hears ${name}`)
    const command = last()
    if (command === undefined) throw new Error('it was there')
    return command
  }

  /** Drops its connection without a DISCONNECT. `connect` restores it. */
  async lose(): Promise<void> {
    this.#client?.stream.destroy()
    await eventually(async () => {
      const { body } = await this.#gateway.request('GET', `/devices/${this.hardwareId}`)
      return !body.is_online
    }, `${this.hardwareId} is gone`)
  }

  async #sendReport(place: Place, report: Report, agoMs = 0): Promise<void> {
    this.#reported = { ...this.#reported, ...report }
    const { isLocked, voltageV, speedKmh } = this.#reported
    this.#reportedAtMs = Math.max(this.#reportedAtMs + 1, this.#clock.nowMs() - agoMs)
    await this.#send('tlm', {
      ts: this.#reportedAtMs,
      ...toLatLong(place),
      speed: speedKmh ?? 0,
      ...(isLocked === undefined ? {} : { lock_status: Number(isLocked) }),
      ...(voltageV === undefined ? {} : { battery_voltage: voltageV }),
    })
  }

  async #receive(command: CommandMessage): Promise<void> {
    this.received.push(command)
    if (this.obedience === 'ignores') return
    if (this.obedience === 'refuses') return this.#acknowledge(command, 'failed', { err: 'jammed' })
    const isDoneAtOnce = this.obedience === 'obeys'
    // before the acknowledgement is published, after which a test may call `finish`
    if (!isDoneAtOnce) this.#taken.push(command)
    await this.#acknowledge(command, 'acknowledged')
    if (isDoneAtOnce) await this.#carryOut(command)
  }

  async #carryOut(command: CommandMessage): Promise<void> {
    if (command.cmd === 'lock' || command.cmd === 'unlock') {
      this.#reported = { ...this.#reported, isLocked: command.cmd === 'lock' }
      await this.#report({ event: command.cmd, source: 'remote', cmd: command.id })
    }
    if (command.cmd === 'locate') await this.#sendReport(this.#place, {})
    await this.#acknowledge(command, 'completed')
  }

  #acknowledge({ id }: CommandMessage, st: string, others: object = {}): Promise<void> {
    return this.#send('ack', { id, st, ...others })
  }

  #report(event: object): Promise<void> {
    this.#events += 1
    return this.#send('evt', { eid: `${this.hardwareId}-${this.#events}`, ...event })
  }

  /** Resolves when the gateway has the message; a message being sent when the connection broke is lost. */
  async #send(level: string, payload: object): Promise<void> {
    const client = this.#client
    if (client === undefined) throw new Error(`${this.hardwareId} is not connected`)
    await client.publishAsync(`dev/${this.hardwareId}/${level}`, JSON.stringify(payload), { qos: 1 })
  }
}
