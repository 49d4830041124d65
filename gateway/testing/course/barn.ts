import type { FakeClock } from '#shared/testing/clocks.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { toIso } from '#shared/time.ts'
import { deviceTopic } from '#shared/wire/mqtt.ts'
import type { TestGateway } from '../start-gateway.ts'
import { type AskedGateway, CommandedDevice } from './commanded-device.ts'

/** Degrees of a place in the barn, and of one far from it. */
const PLACES = { barn: { lat: 28.4, long: -81.6 }, course: { lat: 28.41, long: -81.6 } }
export type Place = keyof typeof PLACES

interface CartOptions {
  type?: string
  /** Whether it is in the group that the barn is drawn for. */
  isGrouped?: boolean
  /** Whether it listens to its commands. */
  subscribes?: boolean
}

/** A course with a barn, and carts that come to it. */
export class Barn<Gateway extends AskedGateway = TestGateway> {
  readonly gateway: Gateway
  readonly groupId: number
  readonly #passwords = new Map<string, string>()

  private constructor(gateway: Gateway, groupId: number) {
    this.gateway = gateway
    this.groupId = groupId
  }

  /** A group whose zone of type parking is the barn. */
  static async draw<Gateway extends AskedGateway>(gateway: Gateway): Promise<Barn<Gateway>> {
    const { body } = await gateway.request('POST', '/groups', { body: { name: 'Course' } })
    const barn = new Barn(gateway, body.group_id)
    await barn.redraw('parking')
    return barn
  }

  /** Draws the zone anew, as another type. */
  async redraw(type: string): Promise<void> {
    const { lat, long } = PLACES.barn
    const feature = {
      type: 'Feature',
      id: 'barn',
      geometry: { type: 'Point', coordinates: [long, lat] },
      properties: { name: 'Barn', type, radius_m: 50 },
    }
    const body = { type: 'FeatureCollection', features: [feature] }
    const { status } = await this.gateway.request('PUT', `/groups/${this.groupId}/geofences`, { body })
    if (status !== 200) throw new Error(`the barn was not drawn: ${status}`)
  }

  /** Registers a cart of one device, and connects it. */
  async cart(
    hardwareId: string,
    { type = 'teebox', isGrouped = true, subscribes = true }: CartOptions = {},
  ): Promise<BarnCart> {
    this.#passwords.set(hardwareId, await this.gateway.register(hardwareId, type))
    if (isGrouped) await this.gateway.request('PUT', `/groups/${this.groupId}/devices/${hardwareId}`)
    return this.connect(hardwareId, { subscribes })
  }

  /** Connects a cart again. */
  async connect(hardwareId: string, { subscribes = true }: CartOptions = {}): Promise<BarnCart> {
    const password = this.#passwords.get(hardwareId) ?? ''
    return new BarnCart(await CommandedDevice.connect(this.gateway, hardwareId, password, { subscribes }))
  }
}

/** The lock of a cart, as it is in the cart. */
export class BarnCart {
  readonly device: CommandedDevice

  constructor(device: CommandedDevice) {
    this.device = device
  }

  get hardwareId(): string {
    return this.device.hardwareId
  }

  /** Says where it is; without a speed where that is null. */
  async at(place: Place, speed: number | null = 0, fields: Record<string, unknown> = {}): Promise<void> {
    const sample = { ...PLACES[place], ...(speed === null ? {} : { speed }), ...fields }
    await this.device.client.publishAsync(deviceTopic(this.hardwareId, 'tlm'), JSON.stringify(sample), {
      qos: 1,
    })
  }

  /** Says it often enough that zones believe it; `pass` lets time go by. */
  async settles(place: Place, pass: () => void): Promise<void> {
    for (let i = 0; i < 3; i++) {
      pass()
      await this.at(place)
    }
  }

  /** The same in one message, so that nobody judges it by a part of them. */
  async arrives(place: Place, clock: FakeClock): Promise<void> {
    clock.advance(3000)
    const samples = [2000, 1000, 0].map((agoMs) => ({
      ...PLACES[place],
      speed: 0,
      ts: clock.nowMs() - agoMs,
    }))
    await this.device.client.publishAsync(deviceTopic(this.hardwareId, 'tlm'), JSON.stringify(samples), {
      qos: 1,
    })
  }

  /** Somebody uses a tag. */
  async tag(event: 'lock' | 'unlock', eid: string, ts?: number): Promise<void> {
    await this.device.report({
      eid,
      event,
      source: 'rfid',
      code: '04A1B2C3',
      ...(ts === undefined ? {} : { ts }),
    })
  }

  /** The names of the commands it has heard so far. */
  async heard(): Promise<string[]> {
    return (await this.device.flush()).map(({ cmd }) => cmd)
  }

  /** Waits for a command of this name, past others; returns its id. */
  async hears(name: string, patienceMs?: number): Promise<string> {
    for (;;) {
      const { cmd, id } = await this.device.next(patienceMs)
      if (cmd === name) return id
    }
  }

  /** Goes out of reach; resolves when the gateway knows. */
  lose(gateway: AskedGateway): Promise<void> {
    return this.device.lose(gateway)
  }
}

/** Waits until the cart that a device is in is as it is wanted. */
export async function cartBecomes(
  gateway: AskedGateway,
  hardwareId: string,
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  isAsWanted: (cart: any) => boolean,
  what: string,
): Promise<void> {
  await eventually(
    async () => isAsWanted((await gateway.request('GET', `/carts/${hardwareId}`)).body),
    `${hardwareId}: ${what}`,
  )
}

/** An admin says what time it is. */
export async function confirmClock(gateway: AskedGateway, nowMs: number): Promise<void> {
  const { status } = await gateway.request('POST', '/clock/confirm', { body: { time: toIso(nowMs) } })
  if (status !== 200) throw new Error(`the clock was not confirmed: ${status}`)
}
