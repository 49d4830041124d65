import { ESCAPE, type GolombContext, LENGTH_BITS } from './golomb.ts'
import { bitsOf } from './packed-bits.ts'

const HALF_BITS = 24

/** Writes numbers bit by bit (golomb.ts) into bytes that grow. */
export class GolombWriter {
  #bytes: Uint8Array
  #at: number
  /** Bits that are not a whole byte yet, the lowest first. */
  #pending = 0
  #pendingBits = 0

  /** Begins at byte `at`. */
  constructor(at: number, expectedBytes: number) {
    this.#bytes = new Uint8Array(at + expectedBytes + 16)
    this.#at = at
  }

  writeBit(isSet: boolean): void {
    this.writeBits(isSet ? 1 : 0, 1)
  }

  /** At most 24 bits. */
  writeBits(value: number, width: number): void {
    let pending = this.#pending | (value << this.#pendingBits)
    let bits = this.#pendingBits + width
    let at = this.#at
    while (bits >= 8) {
      this.#bytes[at++] = pending
      pending >>>= 8
      bits -= 8
    }
    this.#pending = pending
    this.#pendingBits = bits
    this.#at = at
    if (at + 8 > this.#bytes.length) this.#grow()
  }

  /** A whole number from 0 to 2^48 - 1. */
  write(value: number, context: GolombContext): void {
    const { k } = context
    const rest = Math.floor(value / 2 ** k)
    if (rest < ESCAPE) {
      this.writeBits((1 << rest) - 1, rest + 1)
      this.writeBits(value & ((1 << k) - 1), k)
    } else {
      const width = bitsOf(value)
      this.writeBits((1 << ESCAPE) - 1, ESCAPE)
      this.writeBits(width, LENGTH_BITS)
      this.writeBits(value % 2 ** HALF_BITS, Math.min(width, HALF_BITS))
      if (width > HALF_BITS) this.writeBits(Math.floor(value / 2 ** HALF_BITS), width - HALF_BITS)
    }
    context.learn(value)
  }

  /** Fills the last byte with zeros. The bytes have room for 8 more behind `end`. */
  finish(): { readonly bytes: Uint8Array; readonly end: number } {
    if (this.#pendingBits > 0) this.writeBits(0, 8 - this.#pendingBits)
    return { bytes: this.#bytes, end: this.#at }
  }

  #grow(): void {
    const bytes = new Uint8Array(this.#bytes.length * 2)
    bytes.set(this.#bytes)
    this.#bytes = bytes
  }
}
