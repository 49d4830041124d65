import { toE7, toMilli } from '#shared/geo.ts'
import { createRandom, type Random } from '#shared/random.ts'
import { toIso } from '#shared/time.ts'
import type { DeviceJson } from '#shared/wire/devices.ts'
import type { Cart } from '../course/cart.ts'
import { GpsNoise } from '../course/gps-noise.ts'
import { DAY_START_HOUR } from '../course/itinerary.ts'
import { type LatLong, toLatLong } from '../course/plane.ts'
import { createCart, planFleet } from '../fleet-plan.ts'
import { reportedKmh, reportedVolts } from '../sample.ts'

const CENTER: LatLong = { lat: 28.41, long: -81.58 }
/** Sites lie on a grid, some 50 km from one to the next. */
const APART_DEGREES = 0.5
const SITES_PER_ROW = 20
const DAY_S = 86_400
/** Mid-morning: every cart is out on the course. */
const START_S = (10.5 - DAY_START_HOUR) * 3600
const DAYS = 1000
const SPEED_ERROR_KMH = 0.2
const VOLTAGE_ERROR_V = 0.02

/** Carts that drive at every site alike, so that hundreds of sites cost no more than one; their receivers err apart. */
export class SharedCarts {
  readonly carts: readonly Cart[]
  #day: number
  #second = START_S

  constructor(count: number, seed: number) {
    const plan = planFleet({ seed, carts: count, center: CENTER, prefix: 'site' })
    this.#day = createRandom(seed, 'day').integer(0, DAYS)
    this.carts = Array.from({ length: count }, (_, index) => createCart(plan, index))
    for (const cart of this.carts) {
      cart.startDay(this.#day)
      for (let second = 1; second <= START_S; second++) cart.step()
    }
  }

  /** One second passes. */
  step(): void {
    if (this.#second === DAY_S) {
      this.#second = 0
      this.#day += 1
      for (const cart of this.carts) cart.startDay(this.#day)
    }
    this.#second += 1
    for (const cart of this.carts) cart.step()
  }
}

/** What all devices of a site measured at one time. */
export interface SiteLook {
  readonly atMs: number
  readonly latE7: Int32Array
  readonly longE7: Int32Array
  readonly speedMilliKmh: Int32Array
  readonly voltageMv: Int32Array
}

/** The devices of one site, each on one of the shared carts. */
export class SiteDevices {
  readonly hardwareIds: readonly string[]
  readonly #carts: readonly Cart[]
  readonly #center: LatLong
  readonly #random: Random
  readonly #noises: readonly GpsNoise[]
  readonly #createdAtMs: number
  #last: SiteLook | undefined

  /** `site` counts from 0. */
  constructor({ carts }: SharedCarts, seed: number, site: number, nowMs: number) {
    this.#carts = carts
    this.#center = {
      lat: CENTER.lat + (site % SITES_PER_ROW) * APART_DEGREES,
      long: CENTER.long - Math.floor(site / SITES_PER_ROW) * APART_DEGREES,
    }
    const random = createRandom(seed, 'site', site)
    this.#random = random
    this.#noises = carts.map(() => new GpsNoise(random))
    this.hardwareIds = carts.map((_, i) => `cart-${String(i + 1).padStart(3, '0')}`)
    this.#createdAtMs = nowMs
  }

  measure(atMs: number): SiteLook {
    const count = this.#carts.length
    const look: SiteLook = {
      atMs,
      latE7: new Int32Array(count),
      longE7: new Int32Array(count),
      speedMilliKmh: new Int32Array(count),
      voltageMv: new Int32Array(count),
    }
    const random = this.#random
    for (const [i, cart] of this.#carts.entries()) {
      const seen = this.#noises[i]?.observe(cart.position, atMs) ?? cart.position
      const { lat, long } = toLatLong(this.#center, seen)
      look.latE7[i] = toE7(lat)
      look.longE7[i] = toE7(long)
      look.speedMilliKmh[i] = toMilli(reportedKmh(cart.speedMps, SPEED_ERROR_KMH * random.gaussian()))
      look.voltageMv[i] = toMilli(reportedVolts(cart.voltageV, VOLTAGE_ERROR_V * random.gaussian()))
    }
    this.#last = look
    return look
  }

  /** Their states as a gateway tells them; none before the first look. */
  states(): DeviceJson[] {
    const look = this.#last
    if (look === undefined) return []
    return this.hardwareIds.map((hardwareId, i) => ({
      short_id: `simcart${i}`,
      hardware_id: hardwareId,
      device_type: 'cartcaddie',
      name: `Cart ${i + 1}`,
      attributes: {
        lat: (look.latE7[i] ?? 0) / 1e7,
        long: (look.longE7[i] ?? 0) / 1e7,
        speed: (look.speedMilliKmh[i] ?? 0) / 1000,
        battery_voltage: (look.voltageMv[i] ?? 0) / 1000,
      },
      is_online: true,
      group_id: null,
      created_at: toIso(this.#createdAtMs),
      updated_at: toIso(look.atMs),
      last_responded_at: toIso(look.atMs),
    }))
  }
}
