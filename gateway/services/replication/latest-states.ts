import type { Events } from '#gateway/events.ts'
import type { LatestStatesPort } from '#shared/sync-source.ts'
import type { Device, Fleet } from '../fleet.ts'

interface LatestStatesDeps {
  fleet: Pick<Fleet, 'byHardwareId' | 'all'>
  events: Events
  toDeviceJson: (device: Device) => Record<string, unknown>
  /** Returns the report of a device about its cart, from which the hub evaluates the cart. */
  cartReportOf: (hardwareId: string) => object | undefined
}

/** Devices that changed since the last call, as the API shows them. */
export class LatestStates implements LatestStatesPort {
  readonly #deps: LatestStatesDeps
  #changed = new Set<string>()
  /** True if all devices must be sent, as after a removal, which the hub learns only from the complete list. */
  #isAny = false

  constructor(deps: LatestStatesDeps) {
    this.#deps = deps
    const { events } = deps
    const change = ({ hardwareId }: { hardwareId: string }) => this.#changed.add(hardwareId)
    events.on('messageAccepted', change)
    events.on('presenceChanged', change)
    events.on('deviceRegistered', change)
    events.on('deviceChanged', change)
    // also covers changed zones
    events.on('cartChanged', ({ cart }) => {
      for (const { row } of cart.devices) change(row)
    })
    // settings and the clock determine when carts are locked automatically
    for (const name of ['deviceRemoved', 'siteChanged', 'clockConfirmed'] as const)
      events.on(name, () => {
        this.#isAny = true
      })
  }

  /** Returns the hardware ids of devices whose state changed since the last call; null if all must be sent. */
  takeChanged(): ReadonlySet<string> | null {
    const changed = this.#isAny ? null : this.#changed
    this.#changed = new Set()
    this.#isAny = false
    return changed
  }

  /** Returns a device as `GET /devices/:id` does, with its report about its cart; undefined if it was removed. */
  deviceJson(hardwareId: string): Record<string, unknown> | undefined {
    const device = this.#deps.fleet.byHardwareId(hardwareId)
    if (device === undefined) return undefined
    const report = this.#deps.cartReportOf(hardwareId)
    return { ...this.#deps.toDeviceJson(device), ...(report === undefined ? {} : { cart_said: report }) }
  }

  hardwareIds(): readonly string[] {
    return this.#deps.fleet.all().map(({ row }) => row.hardwareId)
  }
}
