/** The bytes of a file that grows and shrinks; bytes that were never written read as zeros. */
export class FileContent {
  #bytes: Buffer
  #size: number

  constructor(bytes: Buffer = Buffer.alloc(0)) {
    this.#bytes = Buffer.from(bytes)
    this.#size = bytes.length
  }

  get size(): number {
    return this.#size
  }

  write(offset: number, bytes: Buffer): void {
    const end = offset + bytes.length
    this.#reserve(end)
    bytes.copy(this.#bytes, offset)
    this.#size = Math.max(this.#size, end)
  }

  /** Cuts the file off, or makes it longer with zeros. */
  resize(size: number): void {
    this.#reserve(size)
    if (size < this.#size) this.#bytes.fill(0, size, this.#size)
    this.#size = size
  }

  /** A part of it; beyond the end there is nothing. A view, not a copy. */
  slice(start: number, end: number): Buffer {
    return this.#bytes.subarray(Math.min(start, this.#size), Math.min(end, this.#size))
  }

  toBuffer(): Buffer {
    return Buffer.from(this.slice(0, this.#size))
  }

  #reserve(size: number): void {
    if (size <= this.#bytes.length) return
    const larger = Buffer.alloc(Math.max(size, this.#bytes.length * 2))
    this.#bytes.copy(larger, 0, 0, this.#size)
    this.#bytes = larger
  }
}
