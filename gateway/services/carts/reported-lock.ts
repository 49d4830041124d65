import type { LatestState } from '#domain/latest-state.ts'
import type { CartLock } from '#shared/carts/cart-state.ts'
import type { LockSource } from '#shared/wire/lock-events.ts'

/** A lock event, as far as a cart shows it. */
export interface LockReport {
  isLocked: boolean
  atMs: number
  source: LockSource
  /** Who asked for it, or the code; null with a key, or where it is not known. */
  by: string | null
}

/** What was said last of a lock: by an event, or by telemetry alone. */
export class ReportedLockState {
  #now: CartLock | null = null
  /** When the opposite was said last. */
  #afterMs = Number.NEGATIVE_INFINITY
  #event: LockReport | null = null

  /** The newest of its events. */
  heard(event: LockReport): void {
    if (this.#event === null || event.atMs >= this.#event.atMs) this.#event = event
  }

  /** What events said is to be read anew. */
  forget(): void {
    this.#event = null
    this.#now = null
    this.#afterMs = Number.NEGATIVE_INFINITY
  }

  /** What is known of it, by the event and what telemetry says of the lock. */
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

  /** The event that made it so, unless the opposite was said since. */
  #causeOf(isLocked: boolean): CartLock | null {
    const event = this.#event
    return event !== null && event.isLocked === isLocked && event.atMs > this.#afterMs ? event : null
  }
}

/** Devices say 0 and 1, or false and true. */
function toBoolean(value: unknown): boolean | null {
  if (typeof value === 'boolean') return value
  return value === 0 || value === 1 ? value === 1 : null
}
