// Golomb-Rice coding that adapts itself: a whole number, 0 or more, is written as its lowest `k` bits behind the rest of
// it in unary, ones ended by a zero. Writer and reader work out the same `k` of the numbers that went before in the same
// context, so it is written nowhere (as in JPEG-LS, ITU-T T.87, A.5.1). Numbers whose rest is `ESCAPE` or more are that
// many ones, their length in bits and all their bits. Bits fill bytes from the lowest.

/** So many ones say that a number is written in full; with less, its unary part fits a window of 25 bits. */
export const ESCAPE = 20

/** How many bits the length of a number written in full takes. */
export const LENGTH_BITS = 6

const MAX_K = 24
/** One jump counts for no more than this, or it would spoil k for all that follow. */
const MOST_REMEMBERED = 2 ** 20

/** What is known of the numbers of one sort that went before. */
export class GolombContext {
  /** Four times their mean, in which each counts for three quarters of the one behind it: a run may be of 8 records. */
  #sum: number

  constructor(usual: number) {
    this.#sum = usual * 4
  }

  /** How many bits of the next number are not written in unary: as many as half of the mean has. */
  get k(): number {
    const k = 32 - Math.clz32(this.#sum >>> 3)
    return k > MAX_K ? MAX_K : k
  }

  learn(value: number): void {
    this.#sum += Math.min(value, MOST_REMEMBERED) - (this.#sum >>> 2)
  }
}
