import type { Events } from '#gateway/events.ts'
import type { LatestStatesPort } from '#shared/sync-source.ts'
import type { Device, Fleet } from '../fleet.ts'

interface LatestStatesDeps {
  fleet: Pick<Fleet, 'byHardwareId' | 'all'>
  events: Events
  toDeviceJson: (device: Device) => Record<string, unknown>
  /** What the device says of its cart, by which the head office judges it. */
  cartReportOf: (hardwareId: string) => object | undefined
}

/** The devices that changed since the last call, as the API shows them. */
export class LatestStates implements LatestStatesPort {
  readonly #deps: LatestStatesDeps
  #changed = new Set<string>()
  /** Any may be other than it was: one was taken off the register, which only all of those that are left tell. */
  #isAny = false

  constructor(deps: LatestStatesDeps) {
    this.#deps = deps
    const { events } = deps
    const change = ({ hardwareId }: { hardwareId: string }) => this.#changed.add(hardwareId)
    events.on('heard', change)
    events.on('presenceChanged', change)
    events.on('deviceRegistered', change)
    events.on('deviceChanged', change)
    // also where it is zones that are others now
    events.on('cartChanged', ({ cart }) => {
      for (const { row } of cart.devices) change(row)
    })
    // settings and the clock say when carts are locked by themselves
    for (const name of ['deviceRemoved', 'siteChanged', 'clockConfirmed'] as const)
      events.on(name, () => {
        this.#isAny = true
      })
  }

  /** Hardware ids of devices whose state changed since the last call; null when all are to be sent. */
  takeChanged(): ReadonlySet<string> | null {
    const changed = this.#isAny ? null : this.#changed
    this.#changed = new Set()
    this.#isAny = false
    return changed
  }

  /** As `GET /devices/:id`, with what it says of its cart; undefined for one that is gone. */
  deviceJson(hardwareId: string): Record<string, unknown> | undefined {
    const device = this.#deps.fleet.byHardwareId(hardwareId)
    if (device === undefined) return undefined
    const said = this.#deps.cartReportOf(hardwareId)
    return { ...this.#deps.toDeviceJson(device), ...(said === undefined ? {} : { cart_said: said }) }
  }

  hardwareIds(): readonly string[] {
    return this.#deps.fleet.all().map(({ row }) => row.hardwareId)
  }
}
