import type { MqttClient } from 'mqtt'
import { eventually } from '#shared/testing/eventually.ts'
import type { Clock } from '#shared/time.ts'
import type { CommandMessage } from '#shared/wire/mqtt.ts'
import type { TestGateway } from '#testing/start-gateway.ts'
import { PLACES, type Place, toLatLong } from './places.ts'

/** What becomes of a command: done at once, taken and not yet done, refused, or not heard of. */
export type Obedience = 'obeys' | 'takes' | 'refuses' | 'ignores'

interface Identity {
  /** Of the cart. */
  number: string
  hardwareId: string
  password: string
  /** What its readings are dated by. */
  clock: Clock
}

interface Saying {
  isLocked?: boolean
  voltageV?: number
  speedKmh?: number
}

const SECOND_MS = 1000
/** So far it comes from when it drives. */
const RUN_UP_M = 40

/** A cart with a teebox that says what a test tells it to, and does what it is commanded. */
export class StagedCart {
  readonly number: string
  readonly hardwareId: string
  obedience: Obedience = 'obeys'
  /** What it was commanded, oldest first. */
  readonly heard: CommandMessage[] = []
  readonly #gateway: TestGateway
  readonly #password: string
  readonly #clock: Clock
  readonly #taken: CommandMessage[] = []
  #client: MqttClient | undefined
  #place: Place = PLACES.barn
  #said: Saying = {}
  #toldAtMs = 0
  #events = 0

  constructor(gateway: TestGateway, { number, hardwareId, password, clock }: Identity) {
    this.#gateway = gateway
    this.number = number
    this.hardwareId = hardwareId
    this.#password = password
    this.#clock = clock
  }

  async connect(): Promise<void> {
    const client = await this.#gateway.connect(this.hardwareId, this.#password)
    this.#client = client
    client.on('message', (_, payload) => void this.#hear(JSON.parse(payload.toString())))
    await client.subscribeAsync(`dev/${this.hardwareId}/cmd`, { qos: 1 })
  }

  /** Is there, still, for good: the gateway has it when this resolves. */
  async stands(place: keyof typeof PLACES | Place, said: Saying = {}): Promise<void> {
    this.#place = typeof place === 'string' ? PLACES[place] : place
    await this.#tell(this.#place, { ...said, speedKmh: 0 }, SECOND_MS)
    await this.#tell(this.#place, { ...said, speedKmh: 0 })
  }

  /** Comes there from the south, driving. */
  async drives(place: keyof typeof PLACES | Place, said: Saying = {}): Promise<void> {
    this.#place = typeof place === 'string' ? PLACES[place] : place
    const { eastM, northM } = this.#place
    const moving = { speedKmh: 15, isLocked: false, ...said }
    await this.#tell({ eastM, northM: northM - RUN_UP_M }, moving, SECOND_MS)
    await this.#tell(this.#place, moving)
  }

  /** Uses the lock at the cart itself, with a tag. */
  async turnsLock(event: 'lock' | 'unlock', code = '04A1B2C3'): Promise<void> {
    await this.#report({ event, source: 'rfid', code })
  }

  /** Does what it has taken. */
  async finish(): Promise<void> {
    for (const command of this.#taken.splice(0)) await this.#carryOut(command)
  }

  /** Waits for a command of this name; returns it. */
  async hears(name: string): Promise<CommandMessage> {
    const last = () => this.heard.findLast(({ cmd }) => cmd === name)
    await eventually(() => last() !== undefined, `cart ${this.number} hears ${name}`)
    const command = last()
    if (command === undefined) throw new Error('it was there')
    return command
  }

  /** Its connection is gone without a goodbye. `connect` brings it back. */
  async lose(): Promise<void> {
    this.#client?.stream.destroy()
    await eventually(async () => {
      const { body } = await this.#gateway.request('GET', `/devices/${this.hardwareId}`)
      return !body.is_online
    }, `${this.hardwareId} is gone`)
  }

  async #tell(place: Place, said: Saying, agoMs = 0): Promise<void> {
    this.#said = { ...this.#said, ...said }
    const { isLocked, voltageV, speedKmh } = this.#said
    this.#toldAtMs = Math.max(this.#toldAtMs + 1, this.#clock.nowMs() - agoMs)
    await this.#send('tlm', {
      ts: this.#toldAtMs,
      ...toLatLong(place),
      speed: speedKmh ?? 0,
      ...(isLocked === undefined ? {} : { lock_status: Number(isLocked) }),
      ...(voltageV === undefined ? {} : { battery_voltage: voltageV }),
    })
  }

  async #hear(command: CommandMessage): Promise<void> {
    this.heard.push(command)
    if (this.obedience === 'ignores') return
    if (this.obedience === 'refuses') return this.#acknowledge(command, 'failed', { err: 'jammed' })
    const isDoneAtOnce = this.obedience === 'obeys'
    // before anybody hears that it was taken, and tells it to finish
    if (!isDoneAtOnce) this.#taken.push(command)
    await this.#acknowledge(command, 'acknowledged')
    if (isDoneAtOnce) await this.#carryOut(command)
  }

  async #carryOut(command: CommandMessage): Promise<void> {
    if (command.cmd === 'lock' || command.cmd === 'unlock') {
      this.#said = { ...this.#said, isLocked: command.cmd === 'lock' }
      await this.#report({ event: command.cmd, source: 'remote', cmd: command.id })
    }
    if (command.cmd === 'locate') await this.#tell(this.#place, {})
    await this.#acknowledge(command, 'completed')
  }

  #acknowledge({ id }: CommandMessage, st: string, others: object = {}): Promise<void> {
    return this.#send('ack', { id, st, ...others })
  }

  #report(event: object): Promise<void> {
    this.#events += 1
    return this.#send('evt', { eid: `${this.hardwareId}-${this.#events}`, ...event })
  }

  /** Resolves when the gateway has it; what was to be said when the line broke is lost. */
  async #send(level: string, payload: object): Promise<void> {
    const client = this.#client
    if (client === undefined) throw new Error(`${this.hardwareId} is not connected`)
    await client.publishAsync(`dev/${this.hardwareId}/${level}`, JSON.stringify(payload), { qos: 1 })
  }
}
