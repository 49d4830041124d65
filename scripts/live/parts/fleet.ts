import { createRandom } from '#shared/random.ts'
import type { Bottle, Check, Part } from '../bottle.ts'
import { alertChecks } from '../checks/alerts.ts'
import { commandChecks } from '../checks/commands.ts'
import { dayChecks } from '../checks/days.ts'
import { deviceChecks } from '../checks/devices.ts'
import { lockChecks } from '../checks/locks.ts'
import { underWayChecks } from '../checks/under-way.ts'
import { zoneChecks } from '../checks/zones.ts'
import { LiveCart } from '../model/cart.ts'
import type { Entry } from '../plan.ts'
import { MQTT_PORT } from '../world/gateway-life.ts'
import type { Line } from '../world/lines.ts'
import { running } from '../world/virtual-time.ts'

/** The carts, their journeys and their radio. */
export class Fleet implements Part {
  readonly checks: readonly Check[] = [
    ...deviceChecks,
    ...commandChecks,
    ...lockChecks,
    ...alertChecks,
    ...dayChecks,
    ...zoneChecks,
    ...underWayChecks,
  ]
  readonly #bottle: Bottle
  /** Carts in a place without signal, with the time until which they are there. */
  readonly #shadowed = new Map<LiveCart, number>()

  constructor(bottle: Bottle) {
    this.#bottle = bottle
    bottle.lines.onOpen.push((line) => this.#opened(line))
  }

  async setUp(): Promise<void> {
    const { carts, plan, time } = this.#bottle
    for (let number = 1; number <= plan.carts; number++) {
      const body = { hardware_id: `cart-${number}`, device_type: 'teebox', cart: String(number) }
      const { mqtt } = await this.#bottle.set('POST', '/devices', body)
      const random = createRandom(plan.seed, 'device', number)
      const now = () => time.nowMs
      carts.push(new LiveCart({ number, password: mqtt.password, port: MQTT_PORT, random, now }))
    }
  }

  start(): void {
    for (const cart of this.#bottle.carts) running.run(cart.program, () => cart.start())
  }

  async perform(entry: Entry): Promise<void> {
    if (entry.kind === 'rush') this.#reconnectAll()
    if (!('cart' in entry)) return
    const cart = this.#bottle.carts[entry.cart - 1]
    if (cart === undefined) return
    const { kind } = entry
    if (kind === 'shadow') this.#shadow(cart, entry.forMs)
    else
      running.run(cart.program, () => {
        if (kind === 'drive') cart.drive(entry.journey, entry.pace)
        else if (kind === 'sleep') cart.sleep()
        else if (kind === 'wake') cart.wake()
        else if (kind === 'plug' || kind === 'unplug') cart.plug(kind === 'plug')
      })
  }

  #reconnectAll(): void {
    const { lines, carts, disturbedAtMs, time } = this.#bottle
    for (const { port, client } of lines.open) if (port === MQTT_PORT) client.run(() => client.destroy())
    for (const one of carts) disturbedAtMs.set(one, time.nowMs)
  }

  /** The cart drives through a place without signal. */
  #shadow(cart: LiveCart, forMs: number): void {
    const { time, lines, disturbedAtMs } = this.#bottle
    const untilMs = time.nowMs + forMs
    this.#shadowed.set(cart, Math.max(untilMs, this.#shadowed.get(cart) ?? 0))
    disturbedAtMs.set(cart, time.nowMs)
    const own = () => [...lines.open].filter(({ owner }) => owner === cart.program)
    for (const line of own()) line.cut('both')
    setTimeout(() => {
      if ((this.#shadowed.get(cart) ?? 0) > time.nowMs) return
      this.#shadowed.delete(cart)
      disturbedAtMs.set(cart, time.nowMs)
      for (const line of own()) line.mend()
    }, forMs)
  }

  #opened(line: Line): void {
    for (const cart of this.#shadowed.keys()) if (line.owner === cart.program) line.cut('both')
  }
}
