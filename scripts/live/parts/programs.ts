import type { Bottle, Check, Part } from '../bottle.ts'
import { countCheck } from '../checks/broker.ts'
import { boardCheck, deliveryCheck, lentCheck, type Programs as OnBroker, stateCheck } from '../checks/programs.ts'
import { Mortal } from '../model/mortal.ts'
import { Board, type Login, ProgramClient, Publisher, Subscriber, type Topic } from '../model/programs.ts'
import type { Away, Entry } from '../plan.ts'
import { MQTT_PORT } from '../world/gateway-life.ts'
import type { Line } from '../world/lines.ts'
import { running } from '../world/virtual-time.ts'

type Lost = Pick<Extract<Entry, { kind: 'away' }>, 'turns' | 'forMs' | 'how'>

const PUBLISHERS = 2
const MORTALS = 4
const BOARD_CARTS = 3
const MOST_TURNS_MS = 500

/** Programs on the broker of the course: a home automation, displays, and equipment with a last will. */
export class Programs implements Part, OnBroker {
  readonly checks: readonly Check[]
  publishers: readonly Publisher[] = []
  subscribers: readonly Subscriber[] = []
  mortals: readonly Mortal[] = []
  /** Reads the wills. */
  heir: ProgramClient | undefined
  board: Board | undefined
  /** Tracker that is lent for some hours. */
  lent: ProgramClient | null = null
  readonly returned: string[] = []
  login: Login = { port: MQTT_PORT, username: '', password: '' }
  /** Wills that came and are of no connection. */
  readonly strangeWills: string[] = []
  readonly bottle: Bottle
  readonly #now: () => number
  #lends = 0
  #isLeaving = false

  constructor(bottle: Bottle) {
    this.bottle = bottle
    this.#now = () => bottle.time.nowMs
    this.checks = [countCheck(this), deliveryCheck(this), stateCheck(this), boardCheck(this), lentCheck(this)]
  }

  get clients(): ProgramClient[] {
    const bodies = this.mortals.flatMap((mortal) => mortal.bodies)
    const others = [this.heir, this.board, this.lent].filter((one) => one != null)
    return [...this.publishers, ...this.subscribers, ...bodies, ...others]
  }

  linesOf({ program }: Pick<ProgramClient, 'program'>): Line[] {
    return [...this.bottle.lines.open].filter(({ owner }) => owner === program)
  }

  async setUp(): Promise<void> {
    // the product loads it for the first response of its metrics, which would take time of the host
    await this.bottle.time.holding('prom-client', import('prom-client'))
    const [automation, display] = [await this.#createLogin('Automation'), await this.#createLogin('Display')]
    const now = this.#now
    this.login = automation
    this.publishers = Array.from({ length: PUBLISHERS }, (_, i) => new Publisher(automation, i, now))
    const all = this.publishers.flatMap(({ topics }) => topics)
    const topics: ReadonlyMap<string, Topic> = new Map(all.map((topic) => [topic.name, topic]))
    const kept = { topics, isKept: true }
    const options = [
      { ...kept, filters: { 'shop/#': 2 } },
      { ...kept, filters: { 'shop/+/once': 1, 'shop/0/exactly': 1 } },
      { ...kept, filters: { 'shop/#': 0, 'shop/0/#': 1, 'shop/+/exactly': 2 } },
      { topics, isKept: false, filters: { 'shop/0/+': 2 } },
      { topics, isKept: false, filters: { 'shop/#': 0 } },
    ] as const
    this.subscribers = options.map((one, i) => new Subscriber(display, `subscriber-${i}`, one, now))
    const isCut = (body: ProgramClient) => this.linesOf(body).some(({ cutAtMs }) => cutAtMs !== null)
    this.mortals = Array.from({ length: MORTALS }, (_, i) => new Mortal(automation, i, { now, isCut }))
    this.heir = new Subscriber(automation, 'heir', { topics, isKept: true, filters: { 'will/#': 2 } }, now)
    this.heir.client.onDelivery = ({ payload }) => this.#inherit(payload)
    const shown = this.bottle.carts.slice(0, BOARD_CARTS)
    const ids = shown.map(({ hardwareId }) => hardwareId)
    const login = await this.#createLogin('Board', { role: 'user', allowed_hardware_ids: ids, mask_codes: true })
    this.board = new Board(login, shown, now)
  }

  start(): void {
    for (const one of this.clients)
      if (this.mortals.every(({ bodies }) => one !== bodies[1])) running.run(one.program, () => one.client.goOnline())
  }

  async perform(entry: Entry): Promise<void> {
    const { kind } = entry
    if (kind === 'publish') this.#publish(entry.publisher, entry.count)
    // what breaks the gateway or a line is most interesting in the middle of messages
    if (kind === 'kill' || kind === 'restart' || kind === 'rush' || kind === 'slow' || kind === 'away')
      for (const i of this.publishers.keys()) this.#publish(i, kind === 'away' ? 8 : 40)
    if (kind === 'guest') await this.#lend()
    if (kind === 'guest-leaves' || this.#isLeaving) await this.#takeBack()
    if (kind === 'away') {
      const one = [...this.subscribers, ...this.publishers][entry.program]
      if (one !== undefined) this.#lose(one, entry, () => one.goOffline(politeOr(entry.how), this.#now()))
    }
    if (kind === 'mortal') {
      const mortal = this.mortals[entry.mortal]
      if (mortal === undefined) return
      if (entry.how === 'takeover') {
        const next = mortal.takeOver()
        running.run(next.program, () => next.client.goOnline())
      } else {
        const { how } = entry
        this.#lose(mortal.body, { ...entry, how }, () => (how === 'politely' ? mortal.leave() : mortal.die()))
      }
    }
  }

  /** Registers a device and connects it. */
  async #lend(): Promise<void> {
    if (this.lent !== null) return
    const id = `lent-${++this.#lends}`
    const made = await this.bottle.ask('POST', '/devices', { hardware_id: id, device_type: 'teebox' })
    if (made?.status !== 201) return
    const login = { port: MQTT_PORT, username: id, password: made.body.mqtt.password }
    const lent = new ProgramClient(login, id, { isKept: true, filters: { [`dev/${id}/cmd`]: 1 } }, this.#now)
    const state = { topic: `dev/${id}/st`, payload: '{"online":true,"type":"teebox"}', qos: 1, retain: true } as const
    lent.onReady = () => lent.client.publish(state)
    this.lent = lent
    running.run(lent.program, () => lent.client.goOnline())
  }

  /** Removes the device that was lent; again after a request without a response, which may have removed it. */
  async #takeBack(): Promise<void> {
    const { lent } = this
    if (lent === null || !this.bottle.life.isRunning) return
    const answer = await this.bottle.ask('DELETE', `/devices/${lent.name}`)
    if (!this.#isLeaving) running.run(lent.program, () => lent.goOffline('abruptly', this.#now()))
    this.#isLeaving = answer === null || answer.status >= 500
    if (this.#isLeaving) return
    this.lent = null
    this.returned.push(lent.name)
  }

  #publish(number: number, count: number): void {
    const publisher = this.publishers[number]
    if (publisher !== undefined) running.run(publisher.program, () => publisher.publish(count))
  }

  #lose(one: ProgramClient, { how, turns, forMs }: Lost, leave: () => void): void {
    const { program } = one
    let left = turns
    const lose = () => {
      program.onTurn = null
      if (how !== 'cut') running.run(program, leave)
      else for (const line of this.linesOf(one)) line.cut('both')
    }
    if (turns === 0) lose()
    else
      program.onTurn = () => {
        if (--left === 0) lose()
      }
    const come = () => {
      for (const line of this.linesOf(one)) line.mend()
      const isReplaced = this.mortals.some(({ bodies, body }) => bodies.includes(one) && body !== one)
      if (how !== 'cut' && !isReplaced) one.client.goOnline()
    }
    running.run(program, () => {
      // it may have had fewer turns
      setTimeout(() => program.onTurn !== null && lose(), MOST_TURNS_MS)
      setTimeout(come, MOST_TURNS_MS + forMs)
    })
  }

  #inherit(payload: string): void {
    const existences = this.mortals.flatMap((mortal) => mortal.existences)
    const existence = existences.find(({ will }) => will === payload)
    if (existence === undefined) this.strangeWills.push(payload)
    else existence.arrivals.push({ atMs: this.#now(), connection: this.heir?.connections ?? 0 })
  }

  async #createLogin(name: string, rights: object = { role: 'admin' }): Promise<Login> {
    const { user, api_key: password } = await this.bottle.set('POST', '/users', { name, ...rights })
    return { port: MQTT_PORT, username: user.user_id, password }
  }
}

function politeOr(how: Away): 'politely' | 'abruptly' {
  return how === 'politely' ? 'politely' : 'abruptly'
}
