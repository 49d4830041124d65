import { MINUTE_MS } from '#shared/time.ts'

/** A clock that is no further off is right, and one that is further off than `WRONG_MS` is wrong. */
const RIGHT_MS = MINUTE_MS
export const WRONG_MS = 2 * MINUTE_MS
/**
 * So many messages in a row say that a clock is wrong; fewer that it is right, which a replay passes through only once.
 */
const MESSAGES_WRONG = 10
const MESSAGES_RIGHT = 3
/** Messages that come within it count as one: a device that replays sends many. */
const APART_MS = 750
/** Times of a replay go by faster than the messages come: they are soon further off than this from the first. */
const SAME_MS = 3000
/** A message is on its way for so long at most, and a clock that is known to be wrong wanders so much between two. */
const AGREES_MS = 10_000

/**
 * What the messages of a device say of its clock. Those that lag or lead by the same amount, again and again, were not
 * kept and sent later: their device has a wrong clock. Constant in memory and time.
 */
export class DeviceClock {
  /** How far it is ahead of the gateway's, negative for behind; null while it is right or not known. */
  offMs: number | null = null
  /** Whether it was found right or wrong since the start. */
  isKnown = false
  /** What messages in a row are off by, how many there were, and when the last came (monotonic). */
  #sameMs = 0
  #count = 0
  #countedAtMs = 0

  /** The same as `offMs`, in whole seconds. */
  get offS(): number | null {
    return this.offMs === null ? null : Math.round(this.offMs / 1000)
  }

  /** Whether a message with such a time says nothing that is not known: it is right, and so was the last. */
  isAsBefore(aheadMs: number): boolean {
    return this.offMs === null && this.isKnown && this.#count === 0 && Math.abs(aheadMs) <= RIGHT_MS
  }

  /**
   * Takes how far the newest time in a message was ahead of its receipt; `isSingle` says that it held one reading and
   * came by itself. Returns whether anything is known now that was not.
   */
  heard(aheadMs: number, isSingle: boolean, monotonicMs: () => number): boolean {
    const isRight = Math.abs(aheadMs) <= RIGHT_MS
    const isNews = isRight && !this.isKnown
    if (isRight) this.isKnown = true
    const isAsKnown = this.offMs === null ? isRight : Math.abs(aheadMs - this.offMs) <= AGREES_MS
    if (isAsKnown) {
      this.#count = 0
      // it may go too slowly or too fast
      if (this.offMs !== null && isSingle) this.offMs = aheadMs
      return isNews
    }
    if (!isRight && (!isSingle || Math.abs(aheadMs) <= WRONG_MS)) return isNews
    this.#countSame(aheadMs, monotonicMs())
    if (this.#count < (isRight ? MESSAGES_RIGHT : MESSAGES_WRONG)) return isNews
    this.offMs = isRight ? null : aheadMs
    this.isKnown = true
    this.#count = 0
    return true
  }

  /**
   * Whether a message whose newest time was so far ahead of its receipt tells of now. An answer to `locate` does when
   * it is off by as much as the message before it: a device that replays has other times by then. Of a clock that was
   * found right it is more likely that this one replays slowly, and a lock must not go by where its cart was.
   */
  tellsOfNow(aheadMs: number, isAnswer: boolean): boolean {
    if (this.offMs !== null && Math.abs(aheadMs - this.offMs) <= AGREES_MS) return true
    return isAnswer && this.#count > 1 && !(this.isKnown && this.offMs === null)
  }

  #countSame(aheadMs: number, nowMs: number): void {
    if (this.#count === 0 || Math.abs(aheadMs - this.#sameMs) > SAME_MS) {
      this.#sameMs = aheadMs
      this.#count = 0
    } else if (nowMs - this.#countedAtMs < APART_MS) return
    this.#count++
    this.#countedAtMs = nowMs
  }
}
