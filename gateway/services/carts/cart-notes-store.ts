import { isDeepStrictEqual } from 'node:util'
import type { Events } from '#gateway/events.ts'
import { SerialQueue } from '#shared/budgets/serial-queue.ts'
import { describeError, InvalidRequestError } from '#shared/errors.ts'
import type { Log } from '#shared/log.ts'
import { closingMs } from '#shared/site/opening-hours.ts'
import { CART_KINDS, type CartKind } from '#shared/site/settings.ts'
import type { Clock } from '#shared/time.ts'
import type { ServiceReason } from '#shared/wire/carts.ts'
import type { ZoneType } from '#shared/zones/zone.ts'
import type { SavedEntry } from '#store/service/service.ts'
import type { Store } from '#store/store.ts'
import type { CartNoteRow, SavedCartNote } from '#store/tables/cart-notes.ts'
import { type CartNotes, type CartPerson, type MeterSetting, NO_NOTES } from '../cart.ts'
import type { Site } from '../site.ts'
import { REASON_WORDS } from './reason-words.ts'

interface NotebookDeps {
  store: Pick<Store, 'read' | 'write'>
  site: Pick<Site, 'settings' | 'calendar' | 'timeZone'>
  events: Events
  clock: Clock
  log: Log
}

/** Staff's changes to the notes on a cart; an absent field stays as it is, null ends it. */
export interface CartNotesPatch {
  outOfService?: { why?: string | undefined; reason?: ServiceReason | undefined } | null
  exempt?: { zoneTypes: readonly ZoneType[]; untilMs?: number; why: string } | null
  note?: string | null
  kind?: CartKind | null
  meter?: MeterSetting | null
}

/** Makes the entry of the service book for a cart that is put in service again. */
export type EndOfService = (ended: NonNullable<CartNotes['outOfService']>) => Promise<SavedEntry>

/** Stored with the field names of the API, because the hub reads them too. */
interface StoredPerson {
  user_id: string
  name: string
}
interface StoredOutOfService {
  since_ms: number
  why: string
  /** Absent in those of earlier versions. */
  reason?: ServiceReason | null
  by: StoredPerson
}
interface StoredExempt {
  zone_types: ZoneType[]
  until_ms: number
  why: string
  by: StoredPerson
}

/** Staff notes on carts, in memory. */
export class CartNotesStore {
  readonly #deps: NotebookDeps
  readonly #byCart = new Map<string, CartNotes>()
  /** Serialises changes: of two concurrent ones, each would undo the other. */
  readonly #turns = new SerialQueue()
  /** Carts whose exemption is over, but not yet stored as over. */
  readonly #ending = new Set<string>()

  constructor(deps: NotebookDeps) {
    this.#deps = deps
  }

  load(): void {
    this.#byCart.clear()
    for (const row of this.#deps.store.read.cartNotes()) this.#byCart.set(row.cart, readNotes(row))
  }

  /** Returns the notes on a cart; the same object while nothing changes. */
  of(cart: string, nowMs: number): CartNotes {
    const notes = this.#byCart.get(cart)
    if (notes === undefined) return NO_NOTES
    if (notes.exempt === null || notes.exempt.untilMs > nowMs) return notes
    return this.#endExempt(cart, notes)
  }

  /** Returns the carts with notes. */
  carts(): string[] {
    return [...this.#byCart.keys()]
  }

  /** Changes notes, with an entry for the end of an out of service. Throws `invalid_field` for a time in the past. */
  change(cart: string, patch: CartNotesPatch, by: CartPerson, endOfService: EndOfService): Promise<void> {
    return this.#turns.take(async () => {
      const known = this.of(cart, this.#deps.clock.nowMs())
      const patched = this.#patched(known, patch, by)
      const { outOfService } = known
      const isBack = outOfService !== null && patched.outOfService === null
      await this.#write(cart, patched, isBack ? await endOfService(outOfService) : null)
    })
  }

  /** Sets the kinds of carts in a larger write, which gets their rows and calls `keep` once it is stored. */
  setKinds<Result>(
    kinds: ReadonlyMap<string, CartKind>,
    write: (rows: SavedCartNote[], keep: () => void) => Promise<Result>,
  ): Promise<Result> {
    return this.#turns.take(() => {
      const nowMs = this.#deps.clock.nowMs()
      const notes = Array.from(kinds, ([cart, kind]) => [cart, { ...this.of(cart, nowMs), kind }] as const)
      const rows = notes.map(([cart, one]) => ({ ...toRow(cart, one), nowMs, entry: null }))
      return write(rows, () => {
        for (const [cart, one] of notes) this.#keep(cart, one)
      })
    })
  }

  /** Deletes the notes on a removed cart, except its meter. Never rejects. */
  forget(cart: string): void {
    const notes = this.#byCart.get(cart)
    const kept = { ...NO_NOTES, meter: notes?.meter ?? null }
    if (notes === undefined || isDeepStrictEqual(notes, kept)) return
    this.#keep(cart, kept)
    void this.#turns.take(() => this.#attempt(cart, this.#byCart.get(cart) ?? NO_NOTES))
  }

  #patched(known: CartNotes, patch: CartNotesPatch, by: CartPerson): CartNotes {
    const nowMs = this.#deps.clock.nowMs()
    const { outOfService, exempt, note, kind, meter } = patch
    const isOut = outOfService !== undefined && outOfService !== null
    return {
      outOfService:
        outOfService === undefined
          ? known.outOfService
          : outOfService && {
              sinceMs: known.outOfService?.sinceMs ?? nowMs,
              why: outOfService.why ?? this.#wordOf(outOfService.reason),
              reason: outOfService.reason ?? known.outOfService?.reason ?? null,
              by,
            },
      // a cart that is out of service is not driven
      exempt: isOut
        ? null
        : exempt === undefined
          ? known.exempt
          : exempt && { ...exempt, untilMs: this.#untilMs(exempt.untilMs, nowMs), by },
      note: note === undefined ? known.note : note || null,
      kind: kind === undefined ? known.kind : (kind ?? NO_NOTES.kind),
      meter: meter === undefined ? known.meter : meter,
    }
  }

  #wordOf(reason: ServiceReason = 'other'): string {
    return REASON_WORDS[this.#deps.site.settings.language][reason]
  }

  #untilMs(wantedMs: number | undefined, nowMs: number): number {
    const { calendar, timeZone } = this.#deps.site
    if (wantedMs === undefined) return closingMs(calendar, timeZone, nowMs)
    if (wantedMs > nowMs) return wantedMs
    const detail = 'must be in the future'
    throw new InvalidRequestError('invalid_field', `exempt.until: ${detail}`, [
      { in: 'body', name: 'exempt.until', code: 'invalid_field', detail },
    ])
  }

  async #write(cart: string, notes: CartNotes, entry: SavedEntry | null = null): Promise<void> {
    const { store, clock } = this.#deps
    const input = { ...toRow(cart, notes), nowMs: clock.nowMs(), entry }
    await store.write('saveCartNote', input, () => this.#keep(cart, notes))
  }

  #keep(cart: string, notes: CartNotes): void {
    if (isDeepStrictEqual(notes, NO_NOTES)) this.#byCart.delete(cart)
    else this.#byCart.set(cart, notes)
  }

  /** Ends an exemption immediately; the store records it later. */
  #endExempt(cart: string, notes: CartNotes): CartNotes {
    const without = { ...notes, exempt: null }
    this.#byCart.set(cart, without)
    if (!this.#ending.has(cart)) {
      this.#ending.add(cart)
      void this.#turns.take(async () => {
        this.#ending.delete(cart)
        await this.#attempt(cart, this.#byCart.get(cart) ?? NO_NOTES)
      })
    }
    return without
  }

  /** Writes notes; a failed write is repeated only after the next start. */
  async #attempt(cart: string, notes: CartNotes): Promise<void> {
    try {
      await this.#write(cart, notes)
    } catch (error) {
      this.#deps.log.warn({ reason: describeError(error) }, 'cart notes write failed; will retry at the next start')
    }
  }
}

function readNotes({ outOfService, exempt, note, kind, meter }: CartNoteRow): CartNotes {
  // only this program writes both
  const out = outOfService === null ? null : (JSON.parse(outOfService) as StoredOutOfService)
  const allowed = exempt === null ? null : (JSON.parse(exempt) as StoredExempt)
  return {
    outOfService: out && { sinceMs: out.since_ms, why: out.why, reason: out.reason ?? null, by: readPerson(out.by) },
    exempt: allowed && {
      zoneTypes: allowed.zone_types,
      untilMs: allowed.until_ms,
      why: allowed.why,
      by: readPerson(allowed.by),
    },
    // an erased note is an empty string
    note: note || null,
    kind: CART_KINDS.find((one) => one === kind) ?? NO_NOTES.kind,
    meter: meter === null ? null : JSON.parse(meter),
  }
}

function readPerson({ user_id, name }: StoredPerson): CartPerson {
  return { userId: user_id, name }
}

function toRow(cart: string, { outOfService, exempt, note, kind, meter }: CartNotes): CartNoteRow {
  const toPerson = ({ userId, name }: CartPerson): StoredPerson => ({ user_id: userId, name })
  const out: StoredOutOfService | null = outOfService && {
    since_ms: outOfService.sinceMs,
    why: outOfService.why,
    reason: outOfService.reason,
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
    kind: kind === NO_NOTES.kind ? null : kind,
    meter: meter && JSON.stringify(meter),
  }
}
