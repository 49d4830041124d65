import { eventually } from '#shared/testing/eventually.ts'
import { type Clock, systemClock } from '#shared/time.ts'
import type { CartJson } from '#shared/wire/carts.ts'
import type { TestGateway } from '#testing/start-gateway.ts'
import { PLACES, type Place, toLatLong } from './places.ts'
import { StagedCart } from './staged-cart.ts'

const PACK = { empty_v: 46, full_v: 51, low_v: 48 }
/** Voltage below the low-battery limit at rest and under load. */
export const LOW_V = 42
const FULL_V = 50.8

/** Options of a course for a test. */
export interface CourseOptions {
  /** False for a course whose barn is not set up yet. */
  hasBarn?: boolean
  /** Site settings that replace the defaults. */
  site?: object
}

/**
 * Small course with a barn, two holes, a green and a boundary, and the carts that a test adds, by default on the
 * machine's clock.
 */
export class StagedCourse {
  readonly gateway: TestGateway
  readonly #clock: Clock

  constructor(gateway: TestGateway, clock: Clock = systemClock) {
    this.gateway = gateway
    this.#clock = clock
  }

  /** Saves the zones and the site's name. */
  async open({ hasBarn = true, site = {} }: CourseOptions = {}): Promise<void> {
    const name = 'Pine Hollow'
    await this.#must('PATCH', '/site', { name, pack: PACK, rest_after_s: 1, ...site })
    const body = { type: 'FeatureCollection', features: features(hasBarn) }
    await this.#must('PUT', '/zones', body, { 'if-match': '*' })
  }

  /** Creates a cart of this number with a connected tee box, by default locked in the barn. */
  async cart(number: string, { isPlaced = true } = {}): Promise<StagedCart> {
    const hardwareId = `teebox-${number}`
    const body = { hardware_id: hardwareId, device_type: 'teebox', cart: number }
    const { mqtt } = await this.#must('POST', '/devices', body)
    const identity = { number, hardwareId, password: mqtt.password, clock: this.#clock }
    const cart = new StagedCart(this.gateway, identity)
    await cart.connect()
    if (isPlaced) await cart.stands('barn', { isLocked: true, voltageV: FULL_V })
    return cart
  }

  /** Creates the carts of a range of numbers, in the barn. */
  async carts(from: number, to: number): Promise<StagedCart[]> {
    const carts: StagedCart[] = []
    for (let number = from; number <= to; number++) carts.push(await this.cart(String(number)))
    return carts
  }

  /** Waits until the gateway evaluates a cart as wanted. */
  async becomes(number: string, isAsWanted: (cart: CartJson) => boolean, what: string): Promise<void> {
    const path = `/carts/${encodeURIComponent(number)}`
    const isTrue = async () => isAsWanted((await this.gateway.request('GET', path)).body)
    await eventually(isTrue, `cart ${number}: ${what}`, 30_000)
  }

  async #must(method: string, path: string, body: object, headers: Record<string, string> = {}) {
    const answer = await this.gateway.request(method, path, { body, headers })
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`)
    return answer.body
  }
}

function features(hasBarn: boolean): object[] {
  const barn = zone('barn', { name: 'Barn', type: 'parking' }, PLACES.barn, { eastM: 40, northM: 25 })
  return [
    ...(hasBarn ? [barn] : []),
    zone('course', { name: 'Course', type: 'boundary' }, { eastM: 200, northM: 250 }, { eastM: 450, northM: 350 }),
    zone('hole-1', { name: 'Hole 1', type: 'hole', hole: 1 }, PLACES.fairway, { eastM: 40, northM: 190 }),
    zone('hole-2', { name: 'Hole 2', type: 'hole', hole: 2 }, { eastM: 350, northM: 260 }, { eastM: 40, northM: 190 }),
    zone('green-1', { name: 'Green 1', type: 'stop' }, PLACES.green, { eastM: 15, northM: 15 }),
  ]
}

/** Builds a rectangular zone around a place. */
function zone(id: string, properties: object, { eastM, northM }: Place, half: Place): object {
  const corners = [
    [-1, -1],
    [1, -1],
    [1, 1],
    [-1, 1],
    [-1, -1],
  ] as const
  const ring = corners.map(([x, y]) => {
    const { lat, long } = toLatLong({ eastM: eastM + x * half.eastM, northM: northM + y * half.northM })
    return [long, lat]
  })
  return { type: 'Feature', id, properties, geometry: { type: 'Polygon', coordinates: [ring] } }
}
