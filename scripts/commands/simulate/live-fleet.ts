import { createRandom } from '#shared/random.ts'
import type { Clock } from '#shared/time.ts'
import type { Cart } from './course/cart.ts'
import { MID_MORNING_S } from './course/itinerary.ts'
import { DAY_S, dayOf } from './course/model-day.ts'
import { isInShadow } from './course/radio.ts'
import type { DeviceLink } from './device-client.ts'
import { createCart, createDeviceModel, type FleetPlan, type PlannedCart } from './fleet-plan.ts'
import { callDue, type Incident, incidentOf, isMuted, prepareIncident, stepIncident } from './incidents.ts'
import { LiveDevice } from './live-device.ts'

export interface LiveFleetOptions {
  readonly plan: FleetPlan
  readonly gatewayUrl: string
  /** Model seconds per second. */
  readonly speedUp: number
  /** Number of different days of play; after the last the first is played again. */
  readonly days: number
  readonly clock: Clock
  readonly createLink: (device: LiveDevice) => DeviceLink
}

interface LiveCart {
  readonly cart: Cart
  readonly devices: readonly LiveDevice[]
  readonly incident: Incident | undefined
  dueAtMs: number
  /** Seconds of model time since the morning of the first day. */
  second: number
  /** Elapsed model time not stepped through yet, below one second. */
  owedS: number
}

const STEP_MS = 1000
const TICK_MS = 50
/** After a longer pause of the process (a suspended laptop) the fleet continues instead of catching up. */
const LONGEST_LAG_MS = 30_000

/** All carts of the course, driving now. Each is observed once a second, spread over the second. */
export class LiveFleet {
  readonly #options: LiveFleetOptions
  readonly #carts: LiveCart[] = []
  #firstDay = 0
  #timer: NodeJS.Timeout | undefined

  constructor(options: LiveFleetOptions) {
    this.#options = options
  }

  get devices(): LiveDevice[] {
    return this.#carts.flatMap((cart) => cart.devices)
  }

  async start(): Promise<void> {
    await this.prepare()
    this.#timer = setInterval(() => this.runOnce(), TICK_MS)
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await Promise.all(this.devices.map((device) => device.stop()))
  }

  /** Moves every cart to its position at half past ten. */
  async prepare(): Promise<void> {
    const { plan, clock } = this.#options
    const startedAtMs = clock.nowMs()
    this.#firstDay = dayOf(startedAtMs, plan.center)
    for (const planned of plan.fleet) {
      const offsetMs = Math.floor((planned.index * STEP_MS) / plan.carts)
      this.#carts.push(this.#createLiveCart(planned, startedAtMs, startedAtMs + offsetMs))
      // hundreds of carts take a second or two: lets signals and sockets run
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  /** Observes every cart that is due. Samples carry the time they were due at, so that they do not depend on delays. */
  runOnce(): void {
    const nowMs = this.#options.clock.nowMs()
    for (const cart of this.#carts) {
      if (nowMs - cart.dueAtMs > LONGEST_LAG_MS) {
        cart.dueAtMs += Math.floor((nowMs - cart.dueAtMs) / STEP_MS) * STEP_MS
      }
      while (cart.dueAtMs <= nowMs) {
        this.#advance(cart, cart.dueAtMs, nowMs)
        cart.dueAtMs += STEP_MS
      }
    }
  }

  #advance(live: LiveCart, atMs: number, nowMs: number): void {
    const { plan, speedUp } = this.#options
    live.owedS += speedUp
    for (; live.owedS >= 1; live.owedS -= 1) this.#step(live, atMs)
    const isShadowed =
      isInShadow(plan.shadows, live.cart.position) || isMuted(live.incident, live.second - MID_MORNING_S)
    for (const device of live.devices) device.observe(atMs, nowMs, isShadowed)
  }

  #step(live: LiveCart, atMs: number): void {
    if (live.second % DAY_S === 0) live.cart.startDay(this.#firstDay + ((live.second / DAY_S) % this.#options.days))
    live.second += 1
    stepIncident(live.cart, live.incident, live.second - MID_MORNING_S, this.#options.plan)
    const call = callDue(live.incident, live.second - MID_MORNING_S)
    // from the screen, where there is one
    if (call !== undefined) (live.devices.find(({ device }) => !device.hasLock) ?? live.devices[0])?.call(call, atMs)
    for (const action of live.cart.step()) {
      for (const device of live.devices) if (device.device.hasLock) device.reportLock(action, atMs)
    }
  }

  #createLiveCart(planned: PlannedCart, startedAtMs: number, dueAtMs: number): LiveCart {
    const cart = createCart(this.#options.plan, planned.index)
    cart.startDay(this.#firstDay)
    const devices = planned.devices.map((device) => {
      return new LiveDevice({
        device,
        model: createDeviceModel(this.#options.plan, device, this.#firstDay),
        cart,
        gatewayUrl: this.#options.gatewayUrl,
        // a number that no earlier run has used, so that its lock events do not count as duplicates
        boot: Math.floor(startedAtMs / 1000),
        bootedAtMs: startedAtMs,
        random: createRandom(this.#options.plan.seed, 'upload', device.hardwareId),
        createLink: this.#options.createLink,
      })
    })
    for (let second = 1; second <= MID_MORNING_S; second++) {
      for (const action of cart.step()) {
        // lock events of the morning, so that their list does not start empty
        const withClock = devices.filter(({ device }) => device.hasLock && device.hasClock)
        for (const device of withClock) device.reportLock(action, startedAtMs - (MID_MORNING_S - second) * 1000)
      }
    }
    const incident = incidentOf(this.#options.plan, planned.index)
    prepareIncident(cart, incident)
    return { cart, devices, incident, dueAtMs, second: MID_MORNING_S, owedS: 0 }
  }
}
