import type { Events } from '#gateway/events.ts'
import { SerialQueue } from '#shared/budgets/serial-queue.ts'
import { describeError, InvalidRequestError } from '#shared/errors.ts'
import type { Log } from '#shared/log.ts'
import { closingMs } from '#shared/site/opening-hours.ts'
import type { Clock } from '#shared/time.ts'
import type { ZoneType } from '#shared/zones/zone.ts'
import type { Store } from '#store/store.ts'
import type { CartNoteRow } from '#store/tables/cart-notes.ts'
import type { CartNotes, CartPerson } from '../cart.ts'
import type { Site } from '../site.ts'

interface NotebookDeps {
  store: Pick<Store, 'read' | 'write'>
  site: Pick<Site, 'calendar' | 'timeZone'>
  events: Events
  clock: Clock
  log: Log
}

/** What somebody says of a cart; what is absent stays as it is, null is over. */
export interface CartNotesPatch {
  outOfService?: { why: string } | null
  exempt?: { zoneTypes: readonly ZoneType[]; untilMs?: number; why: string } | null
  note?: string | null
}

/** As they are stored: by the names of the API, for the head office reads them too. */
interface StoredPerson {
  user_id: string
  name: string
}
interface StoredOutOfService {
  since_ms: number
  why: string
  by: StoredPerson
}
interface StoredExempt {
  zone_types: ZoneType[]
  until_ms: number
  why: string
  by: StoredPerson
}

const NOTHING: CartNotes = { outOfService: null, exempt: null, note: null }

/** What people said of carts, in memory. */
export class CartNotesStore {
  readonly #deps: NotebookDeps
  readonly #byCart = new Map<string, CartNotes>()
  /** Two at once would each keep what the other changes. */
  readonly #turns = new SerialQueue()
  /** Carts whose exemption is over and not yet written down as such. */
  readonly #ending = new Set<string>()

  constructor(deps: NotebookDeps) {
    this.#deps = deps
  }

  load(): void {
    this.#byCart.clear()
    for (const row of this.#deps.store.read.cartNotes()) this.#byCart.set(row.cart, readNotes(row))
  }

  /** The same object while nothing in it changes. */
  of(cart: string, nowMs: number): CartNotes {
    const notes = this.#byCart.get(cart)
    if (notes === undefined) return NOTHING
    if (notes.exempt === null || notes.exempt.untilMs > nowMs) return notes
    return this.#endExempt(cart, notes)
  }

  /** Carts of which something was said. */
  carts(): string[] {
    return [...this.#byCart.keys()]
  }

  /** Throws `invalid_field` for a time that is past. */
  change(cart: string, patch: CartNotesPatch, by: CartPerson): Promise<void> {
    return this.#turns.take(async () => {
      const known = this.of(cart, this.#deps.clock.nowMs())
      await this.#write(cart, this.#patched(known, patch, by))
    })
  }

  /** The cart is gone, and with it what was said of it. Never rejects. */
  forget(cart: string): void {
    if (!this.#byCart.delete(cart)) return
    void this.#turns.take(() => this.#attempt(cart, NOTHING))
  }

  #patched(known: CartNotes, patch: CartNotesPatch, by: CartPerson): CartNotes {
    const nowMs = this.#deps.clock.nowMs()
    const { outOfService, exempt, note } = patch
    const isOut = outOfService !== undefined && outOfService !== null
    return {
      outOfService:
        outOfService === undefined
          ? known.outOfService
          : outOfService && { sinceMs: known.outOfService?.sinceMs ?? nowMs, why: outOfService.why, by },
      // nobody drives a cart that is out of service
      exempt: isOut
        ? null
        : exempt === undefined
          ? known.exempt
          : exempt && { ...exempt, untilMs: this.#untilMs(exempt.untilMs, nowMs), by },
      note: note === undefined ? known.note : note || null,
    }
  }

  #untilMs(wantedMs: number | undefined, nowMs: number): number {
    const { calendar, timeZone } = this.#deps.site
    if (wantedMs === undefined) return closingMs(calendar, timeZone, nowMs)
    if (wantedMs > nowMs) return wantedMs
    const detail = 'is past'
    throw new InvalidRequestError('invalid_field', `exempt.until: ${detail}`, [
      { in: 'body', name: 'exempt.until', code: 'invalid_field', detail },
    ])
  }

  async #write(cart: string, notes: CartNotes): Promise<void> {
    const { store, clock } = this.#deps
    await store.write('saveCartNote', { ...toRow(cart, notes), nowMs: clock.nowMs() }, () => {
      if (notes.outOfService === null && notes.exempt === null && notes.note === null) this.#byCart.delete(cart)
      else this.#byCart.set(cart, notes)
    })
  }

  /** It is over now, and is written down as over when the store takes it. */
  #endExempt(cart: string, notes: CartNotes): CartNotes {
    const without = { ...notes, exempt: null }
    this.#byCart.set(cart, without)
    if (!this.#ending.has(cart)) {
      this.#ending.add(cart)
      void this.#turns.take(async () => {
        this.#ending.delete(cart)
        await this.#attempt(cart, this.#byCart.get(cart) ?? NOTHING)
      })
    }
    return without
  }

  /** What fails is tried again after the next start. */
  async #attempt(cart: string, notes: CartNotes): Promise<void> {
    try {
      await this.#write(cart, notes)
    } catch (error) {
      this.#deps.log.warn({ reason: describeError(error) }, 'could not write down what is said of a cart')
    }
  }
}

function readNotes({ outOfService, exempt, note }: CartNoteRow): CartNotes {
  // both were written by this program only
  const out = outOfService === null ? null : (JSON.parse(outOfService) as StoredOutOfService)
  const allowed = exempt === null ? null : (JSON.parse(exempt) as StoredExempt)
  return {
    outOfService: out && { sinceMs: out.since_ms, why: out.why, by: readPerson(out.by) },
    exempt: allowed && {
      zoneTypes: allowed.zone_types,
      untilMs: allowed.until_ms,
      why: allowed.why,
      by: readPerson(allowed.by),
    },
    // one that was erased is empty
    note: note || null,
  }
}

function readPerson({ user_id, name }: StoredPerson): CartPerson {
  return { userId: user_id, name }
}

function toRow(cart: string, { outOfService, exempt, note }: CartNotes): CartNoteRow {
  const toPerson = ({ userId, name }: CartPerson): StoredPerson => ({ user_id: userId, name })
  const out: StoredOutOfService | null = outOfService && {
    since_ms: outOfService.sinceMs,
    why: outOfService.why,
    by: toPerson(outOfService.by),
  }
  const allowed: StoredExempt | null = exempt && {
    zone_types: [...exempt.zoneTypes],
    until_ms: exempt.untilMs,
    why: exempt.why,
    by: toPerson(exempt.by),
  }
  return {
    cart,
    outOfService: out && JSON.stringify(out),
    exempt: allowed && JSON.stringify(allowed),
    note,
  }
}
