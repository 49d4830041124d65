import { toE7, toMilli } from '#shared/geo.ts'
import { createRandom } from '#shared/random.ts'
import type { LatestStatesPort } from '#shared/sync-source.ts'
import { toIso } from '#shared/time.ts'
import type { DeviceJson } from '#shared/wire/devices.ts'
import { Cart } from '../course/cart.ts'
import { createCourse } from '../course/course.ts'
import { MID_MORNING_S } from '../course/itinerary.ts'
import { DAY_S } from '../course/model-day.ts'
import { Sensors } from '../sample.ts'

const CENTER = { lat: 28.41, long: -81.58 }
/** Sites lie on a grid, about 50 km apart. */
const APART_DEGREES = 0.5
const SITES_PER_ROW = 20
const SPEED_ERROR_KMH = 0.2

/**
 * Carts that drive alike at every site, so that hundreds cost no more than one; the errors of their receivers differ.
 */
export class SharedCarts {
  readonly carts: readonly Cart[]
  #second = 0

  constructor(count: number, seed: number) {
    const course = createCourse(seed, CENTER)
    this.carts = Array.from({ length: count }, (_, index) => new Cart(course, { seed, index, fleetSize: count }))
    while (this.#second < MID_MORNING_S) this.step()
  }

  /** Advances by one second. */
  step(): void {
    for (const cart of this.carts) {
      if (this.#second % DAY_S === 0) cart.startDay(this.#second / DAY_S)
      cart.step()
    }
    this.#second += 1
  }
}

export interface Measured {
  readonly latE7: number
  readonly longE7: number
  readonly speedMilliKmh: number
  readonly voltageMv: number
}

/** Measurements of all devices of a site at one time. */
export interface SiteMeasurement {
  readonly atMs: number
  readonly measured: readonly Measured[]
}

/** Devices of one site, each on one of the shared carts. */
export class SiteDevices implements LatestStatesPort {
  readonly #devices: readonly { readonly cart: Cart; readonly sensors: Sensors }[]
  readonly #hardwareIds: readonly string[]
  readonly #createdAtMs: number
  #last: SiteMeasurement

  /** `site` counts from 0. */
  constructor({ carts }: SharedCarts, seed: number, site: number, nowMs: number) {
    const center = {
      lat: CENTER.lat + (site % SITES_PER_ROW) * APART_DEGREES,
      long: CENTER.long - Math.floor(site / SITES_PER_ROW) * APART_DEGREES,
    }
    const random = createRandom(seed, 'site', site)
    this.#devices = carts.map((cart) => ({ cart, sensors: new Sensors(center, random, SPEED_ERROR_KMH) }))
    this.#hardwareIds = carts.map((_, i) => `cart-${String(i + 1).padStart(3, '0')}`)
    this.#createdAtMs = nowMs
    this.#last = this.measure(nowMs)
  }

  measure(atMs: number): SiteMeasurement {
    const measured = this.#devices.map(({ cart, sensors }) => {
      const { lat, long, speed } = sensors.gps(cart, atMs)
      return {
        latE7: toE7(lat),
        longE7: toE7(long),
        speedMilliKmh: toMilli(speed),
        voltageMv: toMilli(sensors.battery(cart).battery_voltage),
      }
    })
    this.#last = { atMs, measured }
    return this.#last
  }

  hardwareIds(): readonly string[] {
    return this.#hardwareIds
  }

  /** Every device reports once a second. */
  takeChanged(): ReadonlySet<string> {
    return new Set(this.#hardwareIds)
  }

  deviceJson(hardwareId: string): Record<string, unknown> | undefined {
    const { atMs, measured } = this.#last
    const index = this.#hardwareIds.indexOf(hardwareId)
    const of = measured[index]
    if (of === undefined) return undefined
    return {
      short_id: `simcart${index}`,
      hardware_id: hardwareId,
      device_type: 'cartcaddie',
      name: `Cart ${index + 1}`,
      cart: null,
      attributes: {
        lat: of.latE7 / 1e7,
        long: of.longE7 / 1e7,
        speed: of.speedMilliKmh / 1000,
        battery_voltage: of.voltageMv / 1000,
      },
      is_online: true,
      group_id: null,
      created_at: toIso(this.#createdAtMs),
      updated_at: toIso(atMs),
      last_responded_at: toIso(atMs),
    } satisfies DeviceJson
  }
}
