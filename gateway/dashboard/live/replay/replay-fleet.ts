import { type ReadonlySignal, signal } from '@preact/signals-core'
import type { CartJson } from '#shared/wire/carts.ts'
import type { ReplayedCart } from './replayed-cart.ts'

/** Carts at one moment of the past; the map shows them in place of the live fleet. */
export class ReplayFleet {
  readonly #version = signal(0)
  #replayed: readonly ReplayedCart[] = []
  #carts: ReadonlyMap<string, CartJson> = new Map()
  #atMs = 0

  get version(): ReadonlySignal<number> {
    return this.#version
  }

  get carts(): ReadonlyMap<string, CartJson> {
    return this.#carts
  }

  /** Moment that is shown. */
  get atMs(): number {
    return this.#atMs
  }

  /** Shows these carts from the next moment on. */
  take(carts: readonly ReplayedCart[]): void {
    this.#replayed = carts
  }

  show(atMs: number): void {
    this.#atMs = atMs
    const carts = this.#replayed.flatMap((replayed) => replayed.at(atMs) ?? [])
    this.#carts = new Map(carts.map((cart) => [cart.cart, cart]))
    this.#version.value++
  }
}
