import { DamagedBlockError } from './damaged-block.ts'
import { fold, unpackWide } from './packed-bits.ts'

// A number has 7 bits per byte, lowest first; the highest bit of a byte is 1 if another byte follows (LEB128, the
// varint of Protocol Buffers). A text is its length followed by its ASCII characters. A column holds the difference of
// each value from the previous one, the first from 0; signs are folded into the lowest bit (packed-bits.ts).

/** A folded difference of two times has up to 44 bits. */
export const MAX_NUMBER_BYTES = 7

type Column = Float64Array | Int32Array

/** Writes numbers, texts and columns into `mostBytes`, which must be sufficient. */
export class VarintWriter {
  readonly #bytes: Uint8Array
  #at = 0

  constructor(mostBytes: number) {
    this.#bytes = new Uint8Array(mostBytes)
  }

  get written(): Uint8Array {
    return this.#bytes.subarray(0, this.#at)
  }

  /** Writes a whole number from 0 to 2^49 - 1. */
  write(value: number): void {
    let rest = value
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) this.#bytes[this.#at++] = (rest % 0x80) | 0x80
    this.#bytes[this.#at++] = rest
  }

  writeText(text: string): void {
    this.write(text.length)
    for (let i = 0; i < text.length; i++) this.#bytes[this.#at++] = text.charCodeAt(i)
  }

  /** Writes consecutive columns as one. */
  writeColumn(pieces: readonly Column[]): void {
    let before = 0
    for (const piece of pieces) {
      for (const value of piece) {
        this.write(fold(value - before))
        before = value
      }
    }
  }
}

/** Reads the output of `VarintWriter`. Whatever the bytes are, it throws nothing but `DamagedBlockError`. */
export class VarintReader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get bytesLeft(): number {
    return this.#bytes.length - this.#at
  }

  read(): number {
    let value = 0
    let factor = 1
    for (let i = 0; i < MAX_NUMBER_BYTES; i++) {
      const byte = this.#bytes[this.#at++]
      if (byte === undefined) throw impossible('a number extends beyond the end')
      value += (byte & 0x7f) * factor
      if (byte < 0x80) return value
      factor *= 0x80
    }
    throw impossible(`a number of more than ${MAX_NUMBER_BYTES} bytes`)
  }

  readText(): string {
    const length = this.read()
    if (length > this.bytesLeft) throw impossible('a text extends beyond the end')
    this.#at += length
    return this.#bytes.toString('latin1', this.#at - length, this.#at)
  }

  /** Fills columns that were written as one. */
  readColumn(pieces: readonly Column[]): void {
    let before = 0
    for (const piece of pieces) {
      for (let i = 0; i < piece.length; i++) {
        before += unpackWide(this.read())
        piece[i] = before
        if (piece[i] !== before) throw impossible('a number too large for its column')
      }
    }
  }
}

function impossible(what: string): DamagedBlockError {
  return new DamagedBlockError('impossible_content', what)
}
