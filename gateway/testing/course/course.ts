import type { MqttClient } from 'mqtt'
import type { FakeClock } from '#shared/testing/clocks.ts'
import type { CartJson } from '#shared/wire/carts.ts'
import type { TestGateway } from '../start-gateway.ts'

/** Positions on a course; the first three are in zones of these names. */
export const PLACES = {
  barn: { lat: 0.1, long: 0.1 },
  green: { lat: 0.105, long: 0.1 },
  fairway: { lat: 0.11, long: 0.1 },
  /** Outside the boundary. */
  road: { lat: 0.2, long: 0.2 },
} as const
export type Place = keyof typeof PLACES

const ZONE_TYPES = { barn: 'parking', green: 'stop' } as const

/** Returns the zones of a course: circles, and by default a boundary around all of them. */
export function courseZones({ hasBoundary = true, hasBarn = true } = {}) {
  const circles = Object.entries(ZONE_TYPES)
    .filter(([id]) => hasBarn || id !== 'barn')
    .map(([id, type]) => ({
      type: 'Feature',
      id,
      properties: { name: `The ${id}`, type, radius_m: 50 },
      geometry: { type: 'Point', coordinates: coordinatesOf(id as keyof typeof ZONE_TYPES) },
    }))
  const corners = [
    [0.09, 0.09],
    [0.12, 0.09],
    [0.12, 0.12],
    [0.09, 0.12],
    [0.09, 0.09],
  ]
  const boundary = {
    type: 'Feature',
    id: 'course',
    properties: { name: 'The course', type: 'boundary' },
    geometry: { type: 'Polygon', coordinates: [corners] },
  }
  return { type: 'FeatureCollection', features: hasBoundary ? [...circles, boundary] : circles }
}

function coordinatesOf(place: Place): [number, number] {
  return [PLACES[place].long, PLACES[place].lat]
}

/** Device of a cart, with its own connection. */
export class CourseDevice {
  readonly hardwareId: string
  readonly client: MqttClient
  readonly #clock: FakeClock

  constructor(hardwareId: string, client: MqttClient, clock: FakeClock) {
    this.hardwareId = hardwareId
    this.client = client
    this.#clock = clock
  }

  /** Resolves when the gateway has acknowledged it. */
  async send(level: string, payload: unknown): Promise<void> {
    await this.client.publishAsync(`dev/${this.hardwareId}/${level}`, JSON.stringify(payload), { qos: 1 })
  }

  /** Reports its current position. */
  report(place: Place | { lat: number; long: number }, others: object = {}): Promise<void> {
    const where = typeof place === 'string' ? PLACES[place] : place
    return this.send('tlm', { ts: this.#clock.nowMs(), ...where, speed: 0, ...others })
  }

  /** Reports a position twice within two seconds, so that it counts for zones. */
  async goTo(place: Place, others: object = {}): Promise<void> {
    for (let i = 0; i < 2; i++) {
      this.#clock.advance(1000)
      await this.report(place, others)
    }
  }

  async leave(): Promise<void> {
    await this.client.endAsync(true)
  }
}

interface DeviceFields {
  cart?: string | null
  deviceType?: string
  groupId?: number | null
  name?: string
}

/** Carts of a gateway, in groups with the zones of a course. */
export class Course {
  readonly #gateway: TestGateway
  readonly #clock: FakeClock

  constructor(gateway: TestGateway, clock: FakeClock) {
    this.#gateway = gateway
    this.#clock = clock
  }

  /** Creates a group with zones. */
  async group(groupId: number, zones: object = courseZones()): Promise<void> {
    await this.#gateway.request('POST', '/groups', { body: { name: `Group ${groupId}`, group_id: groupId } })
    await this.zones(groupId, zones)
  }

  async zones(groupId: number, zones: object): Promise<void> {
    const { status, body } = await this.#gateway.request('PUT', `/groups/${groupId}/geofences`, {
      body: zones,
    })
    if (status !== 200) throw new Error(`no zones: ${JSON.stringify(body)}`)
  }

  /** Registers a device and connects it. */
  async device(
    hardwareId: string,
    { cart = null, deviceType = 'teebox', groupId = null, name }: DeviceFields = {},
  ): Promise<CourseDevice> {
    const body = { hardware_id: hardwareId, device_type: deviceType, cart, group_id: groupId, name }
    const answer = await this.#gateway.request('POST', '/devices', { body })
    if (answer.status !== 201) throw new Error(`not registered: ${JSON.stringify(answer.body)}`)
    return this.connect(hardwareId, answer.body.mqtt.password)
  }

  async connect(hardwareId: string, password: string): Promise<CourseDevice> {
    return new CourseDevice(hardwareId, await this.#gateway.connect(hardwareId, password), this.#clock)
  }

  /** Returns the cart as GET shows it. */
  async cart(key: string, apiKey?: string): Promise<CartJson> {
    const path = `/carts/${encodeURIComponent(key)}`
    const { status, body } = await this.#gateway.request('GET', path, apiKey === undefined ? {} : { key: apiKey })
    if (status !== 200) throw new Error(`no cart: ${JSON.stringify(body)}`)
    return body
  }
}
