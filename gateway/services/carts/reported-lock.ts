import type { LatestState } from '#domain/latest-state.ts'
import type { CartLock } from '#shared/carts/cart-state.ts'
import type { LockSource } from '#shared/wire/lock-events.ts'

/** Lock event, as far as a cart shows it. */
export interface LockReport {
  isLocked: boolean
  atMs: number
  source: LockSource
  /** Requester or code; null for a key, or if unknown. */
  by: string | null
}

/** Last reported state of a lock: from an event, or from telemetry alone. */
export class ReportedLockState {
  #now: CartLock | null = null
  /** Last time at which the opposite state was reported. */
  #afterMs = Number.NEGATIVE_INFINITY
  #event: LockReport | null = null

  /** Takes an event; an older one than the newest known is ignored. */
  take(event: LockReport): void {
    if (this.#event === null || event.atMs >= this.#event.atMs) this.#event = event
  }

  /** Drops the known state, so that events can be read again. */
  forget(): void {
    this.#event = null
    this.#now = null
    this.#afterMs = Number.NEGATIVE_INFINITY
  }

  /** Returns the lock state from the newest event and the telemetry. */
  now({ values, atMs }: Pick<LatestState, 'values' | 'atMs'>): CartLock | null {
    const isLocked = toBoolean(Object.hasOwn(values, 'lock_status') ? values.lock_status : undefined)
    if (isLocked === null) {
      this.#now = null
      return null
    }
    const known = this.#now
    if (known !== null && known.isLocked !== isLocked) this.#afterMs = known.atMs
    const cause = this.#causeOf(isLocked)
    const isSame = known?.isLocked === isLocked
    if (cause !== null && (!isSame || known.source === null || cause.atMs > known.atMs)) this.#now = cause
    else if (!isSame) this.#now = { isLocked, atMs: atMs.lock_status ?? 0, source: null, by: null }
    return this.#now
  }

  /** Returns the event that caused the state, unless the opposite was reported since. */
  #causeOf(isLocked: boolean): CartLock | null {
    const event = this.#event
    return event !== null && event.isLocked === isLocked && event.atMs > this.#afterMs ? event : null
  }
}

/** Accepts 0 and 1, or false and true, since devices send both. */
function toBoolean(value: unknown): boolean | null {
  if (typeof value === 'boolean') return value
  return value === 0 || value === 1 ? value === 1 : null
}
