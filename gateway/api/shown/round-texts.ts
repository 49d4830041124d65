import type { CartRound, HoleStay } from '#shared/rounds/round.ts'
import { toHolesJson, toPaceJson } from '#shared/wire/rounds.ts'

/** Rounds that go on as JSON, for tablets that ask all the time: what stays the same until the next hole is written once. */
export class RoundTexts {
  /** By the holes, which are another array whenever one of them is another. */
  readonly #texts = new WeakMap<readonly HoleStay[], { cart: string; text: string }>()

  of(rounds: readonly CartRound[], minutesPerHole: number, nowMs: number): string {
    const texts = rounds.map((one) => {
      const pace = JSON.stringify(toPaceJson(one, minutesPerHole, nowMs))
      return `${this.#holesText(one)},${pace.slice(1)}`
    })
    return `{"rounds":[${texts.join(',')}]}`
  }

  /** Without its last brace: what changes follows. */
  #holesText(one: CartRound): string {
    const { holes } = one.round
    const known = this.#texts.get(holes)
    if (known?.cart === one.cart) return known.text
    const text = JSON.stringify(toHolesJson(one)).slice(0, -1)
    this.#texts.set(holes, { cart: one.cart, text })
    return text
  }
}
