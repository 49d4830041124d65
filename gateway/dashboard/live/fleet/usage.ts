import { type ReadonlySignal, signal } from '@preact/signals-core'
import type { ApiClient } from '#shared/client.ts'
import type { CartJson } from '#shared/wire/carts.ts'
import type { Usage } from './give-out.ts'

const HOUR_MS = 3_600_000
const WEEK_MS = 7 * 24 * HOUR_MS

/** Distance of each cart in the last seven days, in km; requested one cart after the other, once an hour. */
export class WeekUsage {
  readonly #api: Pick<ApiClient, 'call'>
  readonly #usage = signal<Usage>(new Map())
  #askedHour = 0
  #isAsking = false

  constructor(api: Pick<ApiClient, 'call'>) {
    this.#api = api
  }

  get usage(): ReadonlySignal<Usage> {
    return this.#usage
  }

  /** Publishes the values together once all of `carts` are known, so that a list is not resorted under a finger. */
  async ask(carts: readonly CartJson[], nowMs: number): Promise<void> {
    const hour = Math.floor(nowMs / HOUR_MS)
    const isKnown = hour === this.#askedHour && carts.every(({ cart }) => this.#usage.value.has(cart))
    if (this.#isAsking || isKnown) return
    this.#isAsking = true
    const known = new Map(hour === this.#askedHour ? this.#usage.value : [])
    try {
      for (const cart of carts) {
        if (!known.has(cart.cart)) known.set(cart.cart, await this.#drivenKm(cart, hour * HOUR_MS))
      }
      this.#usage.value = known
      this.#askedHour = hour
    } catch {
      // if the gateway cannot respond now, the next opening of the list requests it again
    } finally {
      this.#isAsking = false
    }
  }

  async #drivenKm({ devices, position }: CartJson, toMs: number): Promise<number> {
    const hardwareId = position?.hardware_id ?? devices[0]?.hardware_id
    if (hardwareId === undefined) return 0
    const query = { from: new Date(toMs - WEEK_MS).toISOString(), to: new Date(toMs).toISOString() }
    const path = { hardwareId }
    const { totalDistance } = await this.#api.call('GET /trips/{hardwareId}/summary', { path, query })
    return totalDistance / 1000
  }
}
