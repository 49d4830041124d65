import { toIso } from '#shared/time.ts'
import type { Party } from '#shared/wire/parties/parties.ts'
import { type CartParty, cartPartiesOf, stateOf } from '#shared/wire/parties/party-json.ts'

/** Parties in memory: those with a cart that is out, and recent ones for the rounds of their carts. */
export class LiveParties {
  readonly #parties = new Map<string, Party>()
  #byCart = new Map<string, CartParty>()

  load(parties: readonly Party[], minutesPerHole: number, nowMs: number): void {
    this.#parties.clear()
    for (const party of parties) this.#parties.set(party.party_id, party)
    this.refresh(minutesPerHole, nowMs)
  }

  /** Takes changed parties; returns the carts whose view changed. */
  change(saved: readonly Party[], deleted: readonly string[], minutesPerHole: number, nowMs: number): string[] {
    for (const party of saved) this.#parties.set(party.party_id, party)
    for (const partyId of deleted) this.#parties.delete(partyId)
    return this.refresh(minutesPerHole, nowMs)
  }

  find(partyId: string): Party | undefined {
    return this.#parties.get(partyId)
  }

  ofCart(cart: string): CartParty | null {
    return this.#byCart.get(cart) ?? null
  }

  /** Returns the parties with a cart that is out. */
  out(): Party[] {
    return [...new Set(Array.from(this.#byCart.values(), ({ party }) => party))]
  }

  /** Forgets what no round of today needs. */
  forgetBefore(sinceMs: number): void {
    for (const party of this.#parties.values())
      if (Date.parse(party.updated_at) < sinceMs && stateOf(party) !== 'out') this.#parties.delete(party.party_id)
  }

  /** Returns the party that a cart was given out to at a time; null for none. */
  partyAt(cart: string, atMs: number): Party | null {
    return partyIn(this.#parties.values(), cart, atMs)
  }

  /** Brings what the carts show up to date with time and settings; returns the carts with another view. */
  refresh(minutesPerHole: number, nowMs: number): string[] {
    const before = this.#byCart
    this.#byCart = cartPartiesOf(this.#parties.values(), minutesPerHole, nowMs)
    const changed: string[] = []
    for (const [cart, now] of this.#byCart) {
      const known = before.get(cart)
      before.delete(cart)
      if (known?.party !== now.party || known.untilMs !== now.untilMs || known.isOverdue !== now.isOverdue)
        changed.push(cart)
      else this.#byCart.set(cart, known)
    }
    return [...changed, ...before.keys()]
  }
}

/** Returns the party among these that a cart was given out to at a time; null for none. */
export function partyIn(parties: Iterable<Party>, cart: string, atMs: number): Party | null {
  const at = toIso(atMs)
  for (const party of parties)
    for (const one of party.carts)
      if (one.cart === cart && one.given_at <= at && (one.returned_at === null || one.returned_at > at)) return party
  return null
}
