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
 * Tells the devices of carts that may be where others may not so, and when that is over: in their configuration, at
 * each heartbeat as far as they were told something else. A device that was told once is told for ever.
 */
export class ZoneExempts implements Component {
  readonly #deps: ZoneExemptsDeps
  #isRunning = false
  #isTelling = false
  #hasFailed = false

  constructor(deps: ZoneExemptsDeps) {
    this.#deps = deps
  }

  async start(): Promise<void> {
    this.#deps.events.on('cartsJudged', ({ carts }) => void this.#tell(carts))
    this.#isRunning = true
  }

  async stop(): Promise<void> {
    this.#isRunning = false
  }

  /** Never rejects. */
  async #tell(carts: readonly Cart[]): Promise<void> {
    if (!this.#isRunning || this.#isTelling) return
    const news = this.#newsOf(carts)
    if (news.length === 0) return
    this.#isTelling = true
    try {
      for (const { devices, zoneTypes } of news) await this.#publish(devices, zoneTypes)
      this.#hasFailed = false
    } catch (error) {
      if (!this.#hasFailed)
        this.#deps.log.warn(
          { reason: describeError(error) },
          'could not tell devices in which zones their carts may be; tries again until it can',
        )
      this.#hasFailed = true
    }
    this.#isTelling = false
  }

  #newsOf(carts: readonly Cart[]): { devices: Device[]; zoneTypes: readonly ZoneType[] }[] {
    const news: { devices: Device[]; zoneTypes: readonly ZoneType[] }[] = []
    for (const { devices, notes } of carts) {
      const zoneTypes = notes.exempt?.zoneTypes ?? NONE
      // of nearly all
      if (devices.every(({ row }) => this.#isTold(row.hardwareId, zoneTypes))) continue
      const untold = devices.filter(({ row }) => !this.#isTold(row.hardwareId, zoneTypes))
      news.push({ devices: untold, zoneTypes })
    }
    return news
  }

  #isTold(hardwareId: string, zoneTypes: readonly ZoneType[]): boolean {
    const told = this.#deps.layers.ofCart(hardwareId)[ZONE_EXEMPT]
    return told === undefined ? zoneTypes.length === 0 : isDeepStrictEqual(told, zoneTypes)
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
