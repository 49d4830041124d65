import { isDeepStrictEqual } from 'node:util'
import type { Events } from '#gateway/events.ts'
import { describeError } from '#shared/errors.ts'
import type { Component } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'
import type { ZoneType } from '#shared/zones/zone.ts'
import type { Store } from '#store/store.ts'
import type { Cart } from '../cart.ts'
import type { ConfigLayers } from '../configuration/layers.ts'
import { type ConfigPublisher, ZONE_EXEMPT } from '../configuration/publisher.ts'
import type { Device } from '../fleet.ts'

interface ZoneExemptsDeps {
  store: Pick<Store, 'write'>
  layers: Pick<ConfigLayers, 'ofCart'>
  publisher: Pick<ConfigPublisher, 'inTurn'>
  events: Events
  log: Log
}

const NONE: readonly ZoneType[] = []

/**
 * Writes exemptions from zones into the configuration of the carts' devices, and removes them when they end: at each
 * tick, for devices whose configuration differs. The key stays in the configuration permanently once it was sent.
 */
export class ZoneExempts implements Component {
  readonly #deps: ZoneExemptsDeps
  #isRunning = false
  #isUpdating = false
  #hasFailed = false

  constructor(deps: ZoneExemptsDeps) {
    this.#deps = deps
  }

  async start(): Promise<void> {
    this.#deps.events.on('cartsEvaluated', ({ carts }) => void this.#update(carts))
    this.#isRunning = true
  }

  async stop(): Promise<void> {
    this.#isRunning = false
  }

  /** Never rejects. */
  async #update(carts: readonly Cart[]): Promise<void> {
    if (!this.#isRunning || this.#isUpdating) return
    const news = this.#newsOf(carts)
    if (news.length === 0) return
    this.#isUpdating = true
    try {
      for (const { devices, zoneTypes } of news) await this.#publish(devices, zoneTypes)
      this.#hasFailed = false
    } catch (error) {
      if (!this.#hasFailed)
        this.#deps.log.warn({ reason: describeError(error) }, 'zone exemption publish failed; will retry')
      this.#hasFailed = true
    }
    this.#isUpdating = false
  }

  #newsOf(carts: readonly Cart[]): { devices: Device[]; zoneTypes: readonly ZoneType[] }[] {
    const news: { devices: Device[]; zoneTypes: readonly ZoneType[] }[] = []
    for (const { devices, notes } of carts) {
      const zoneTypes = notes.exempt?.zoneTypes ?? NONE
      // true for nearly all carts
      if (devices.every(({ row }) => this.#isSent(row.hardwareId, zoneTypes))) continue
      const unsent = devices.filter(({ row }) => !this.#isSent(row.hardwareId, zoneTypes))
      news.push({ devices: unsent, zoneTypes })
    }
    return news
  }

  #isSent(hardwareId: string, zoneTypes: readonly ZoneType[]): boolean {
    const sent = this.#deps.layers.ofCart(hardwareId)[ZONE_EXEMPT]
    return sent === undefined ? zoneTypes.length === 0 : isDeepStrictEqual(sent, zoneTypes)
  }

  #publish(devices: readonly Device[], zoneTypes: readonly ZoneType[]): Promise<unknown> {
    const { store, publisher } = this.#deps
    return publisher.inTurn((publish) => {
      const subjects = devices.filter(({ isRegistered }) => isRegistered).map(({ row }) => row)
      const hardwareIds = subjects.map(({ hardwareId }) => hardwareId)
      const change = { kind: 'cart', hardwareIds, layer: { [ZONE_EXEMPT]: zoneTypes } } as const
      const types = JSON.stringify(zoneTypes)
      return publish(subjects, change, (publication, commit) =>
        store.write('putZoneExempts', { hardwareIds, zoneTypes: types, publication }, commit),
      )
    })
  }
}
