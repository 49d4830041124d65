import type { FakeClock } from '#shared/testing/clocks.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { toIso } from '#shared/time.ts'
import { deviceTopic } from '#shared/wire/mqtt.ts'
import type { TestGateway } from '../start-gateway.ts'
import { type AskedGateway, CommandedDevice } from './commanded-device.ts'

/** Positions in the barn, and far from it, in degrees. */
const PLACES = { barn: { lat: 28.4, long: -81.6 }, course: { lat: 28.41, long: -81.6 } }
export type Place = keyof typeof PLACES

interface CartOptions {
  type?: string
  /** True if it is in the group whose zone is the barn. */
  isGrouped?: boolean
  /** True if it subscribes to its commands. */
  subscribes?: boolean
}

/** Course with a barn, and carts that return to it. */
export class Barn<Gateway extends AskedGateway = TestGateway> {
  readonly gateway: Gateway
  readonly groupId: number
  readonly #passwords = new Map<string, string>()

  private constructor(gateway: Gateway, groupId: number) {
    this.gateway = gateway
    this.groupId = groupId
  }

  /** Creates a group whose parking zone is the barn. */
  static async draw<Gateway extends AskedGateway>(gateway: Gateway): Promise<Barn<Gateway>> {
    const { body } = await gateway.request('POST', '/groups', { body: { name: 'Course' } })
    const barn = new Barn(gateway, body.group_id)
    await barn.redraw('parking')
    return barn
  }

  /** Draws the zone again, with another type. */
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

/** Lock of a cart, as installed in it. */
export class BarnCart {
  readonly device: CommandedDevice

  constructor(device: CommandedDevice) {
    this.device = device
  }

  get hardwareId(): string {
    return this.device.hardwareId
  }

  /** Reports a position; without a speed if that is null. */
  async at(place: Place, speed: number | null = 0, fields: Record<string, unknown> = {}): Promise<void> {
    const sample = { ...PLACES[place], ...(speed === null ? {} : { speed }), ...fields }
    await this.device.client.publishAsync(deviceTopic(this.hardwareId, 'tlm'), JSON.stringify(sample), {
      qos: 1,
    })
  }

  /** Reports a position often enough to count for zones; `pass` advances time. */
  async settles(place: Place, pass: () => void): Promise<void> {
    for (let i = 0; i < 3; i++) {
      pass()
      await this.at(place)
    }
  }

  /** Reports the same positions in one message, so that no evaluation sees only some of them. */
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

  /** Reports the use of a tag. */
  async tag(event: 'lock' | 'unlock', eid: string, ts?: number): Promise<void> {
    await this.device.report({
      eid,
      event,
      source: 'rfid',
      code: '04A1B2C3',
      ...(ts === undefined ? {} : { ts }),
    })
  }

  /** Returns the names of the commands received so far. */
  async received(): Promise<string[]> {
    return (await this.device.flush()).map(({ cmd }) => cmd)
  }

  /** Waits for a command with this name, skipping others; returns its id. */
  async receives(name: string, patienceMs?: number): Promise<string> {
    for (;;) {
      const { cmd, id } = await this.device.next(patienceMs)
      if (cmd === name) return id
    }
  }

  /** Breaks the connection; resolves when the gateway has detected it. */
  lose(gateway: AskedGateway): Promise<void> {
    return this.device.lose(gateway)
  }
}

/** Waits until the cart of a device meets a condition. */
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

/** Sets and confirms the time as an admin. */
export async function confirmClock(gateway: AskedGateway, nowMs: number): Promise<void> {
  const { status } = await gateway.request('POST', '/clock/confirm', { body: { time: toIso(nowMs) } })
  if (status !== 200) throw new Error(`the clock was not confirmed: ${status}`)
}
