import { PhotoFault } from './photo-fault.ts'

/** Reads numbers from an image; throws instead of reading beyond its end. */
export class ByteReader {
  readonly bytes: Uint8Array
  readonly #view: DataView

  constructor(bytes: Uint8Array) {
    this.bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  get length(): number {
    return this.bytes.length
  }

  byte(at: number): number {
    this.#require(at, 1)
    return this.#view.getUint8(at)
  }

  short(at: number, isLittle = false): number {
    this.#require(at, 2)
    return this.#view.getUint16(at, isLittle)
  }

  long(at: number, isLittle = false): number {
    this.#require(at, 4)
    return this.#view.getUint32(at, isLittle)
  }

  /** Reads ASCII characters. */
  text(at: number, length: number): string {
    this.#require(at, length)
    return String.fromCharCode(...this.bytes.subarray(at, at + length))
  }

  part(at: number, length: number): Uint8Array {
    this.#require(at, length)
    return this.bytes.subarray(at, at + length)
  }

  #require(at: number, length: number): void {
    if (at < 0 || at + length > this.bytes.length) throw new PhotoFault('the image ends too early')
  }
}

export function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}
