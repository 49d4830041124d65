import { DamagedBlockError } from './damaged-block.ts'
import { ESCAPE, type GolombContext, LENGTH_BITS } from './golomb.ts'
import { MAX_BITS, NARROW_BITS, readNarrow, readWide, WINDOW_OVERRUN_BYTES } from './packed-bits.ts'

/** Reads what `GolombWriter` wrote. Whatever the bytes are, it throws nothing but `DamagedBlockError`. */
export class GolombReader {
  readonly #view: DataView
  readonly #endBit: number
  #bit = 0

  /** Reads `bytes`, which go on for `WINDOW_OVERRUN_BYTES` in their buffer. */
  constructor(bytes: Uint8Array) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength + WINDOW_OVERRUN_BYTES)
    this.#endBit = bytes.byteLength * 8
  }

  get bitsLeft(): number {
    return this.#endBit - this.#bit
  }

  readBit(): boolean {
    return this.readBits(1) === 1
  }

  /** At most 25 bits. */
  readBits(width: number): number {
    return readNarrow(this.#view, this.#take(width), (1 << width) - 1)
  }

  /** A whole number from 0 to 2^48 - 1. */
  read(context: GolombContext): number {
    // the window begins inside: nothing is ever taken past the end
    const ones = this.bitsLeft > 0 ? trailingOnes(readNarrow(this.#view, this.#bit, UNARY_MASK)) : ESCAPE
    let value: number
    if (ones < ESCAPE) {
      const { k } = context
      this.#take(ones + 1)
      value = ones * 2 ** k + this.readBits(k)
    } else {
      this.#take(ESCAPE)
      value = this.#readInFull()
    }
    context.learn(value)
    return value
  }

  /** To be called behind the last number. */
  finish(): void {
    const { bitsLeft } = this
    if (bitsLeft >= 8) throw new DamagedBlockError('impossible_content', 'bytes behind the last number')
    if (this.readBits(bitsLeft) !== 0)
      throw new DamagedBlockError('impossible_content', 'a last byte not filled with zeros')
  }

  #readInFull(): number {
    const width = this.readBits(LENGTH_BITS)
    if (width > MAX_BITS) throw new DamagedBlockError('impossible_content', `a number of ${width} bits`)
    return width <= NARROW_BITS ? this.readBits(width) : readWide(this.#view, this.#take(width), width)
  }

  /** Returns the first of them. */
  #take(bits: number): number {
    const bit = this.#bit
    this.#bit += bits
    if (this.#bit > this.#endBit)
      throw new DamagedBlockError('impossible_content', 'a number goes on behind the end')
    return bit
  }
}

const UNARY_MASK = (1 << ESCAPE) - 1

/** At most `ESCAPE`. */
function trailingOnes(window: number): number {
  const zeros = ~window
  return Math.min(ESCAPE, 31 - Math.clz32(zeros & -zeros))
}
