const EXTENDED_16 = 126
const EXTENDED_64 = 127
const PING = 9
/** Offsets of two letters that distinguish `{"type":"device_data"` from every other type. */
const [KIND_AT, DATA_AT] = ['{"type":"'.length, '{"type":"device_'.length]
const LETTER_D = 'd'.charCodeAt(0)
/** Longest header, and as much of the payload as identifies its type. */
const HEAD_BYTES = 10 + DATA_AT + 1

export interface FrameListener {
  /** Frame that is counted in `deviceData` too; not called for a frame that arrived in several chunks. */
  deviceData?(frame: Buffer, payloadAt: number, end: number): void
  ping(): void
}

/** Counts a WebSocket server's frames without parsing: a reader must cost less than what it measures. */
export class FrameCounter {
  /** Frames that hold `device_data`. */
  deviceData = 0
  /** All other text frames. */
  others = 0
  readonly #listener: FrameListener
  /** Beginning of a frame that arrived in several chunks. */
  readonly #head = Buffer.alloc(HEAD_BYTES)
  #headLength = 0
  /** Missing bytes of a frame that is already counted. */
  #missing = 0

  constructor(listener: FrameListener) {
    this.#listener = listener
  }

  /** Consumes `chunk[from..end)`; keeps no reference to it. */
  take(chunk: Buffer, from: number, end: number): void {
    let at = from
    while (at < end) {
      if (this.#missing > 0) {
        const taken = Math.min(this.#missing, end - at)
        this.#missing -= taken
        at += taken
      } else if (this.#headLength === 0 && end - at >= HEAD_BYTES) {
        at = this.#takeWhole(chunk, at, end)
      } else {
        at = this.#gather(chunk, at, end)
      }
    }
  }

  #takeWhole(chunk: Buffer, at: number, end: number): number {
    const payloadAt = at + headerLength(chunk, at)
    const frameEnd = payloadAt + payloadLength(chunk, at)
    const isData = this.#count(chunk, at)
    if (isData && frameEnd <= end) this.#listener.deviceData?.(chunk, payloadAt, frameEnd)
    if (frameEnd > end) this.#missing = frameEnd - end
    return Math.min(frameEnd, end)
  }

  /** Copies bytes of a frame until its type is clear. */
  #gather(chunk: Buffer, from: number, end: number): number {
    let at = from
    while (at < end && !this.#isClear()) this.#head[this.#headLength++] = chunk[at++] ?? 0
    if (!this.#isClear()) return at
    this.#missing = headerLength(this.#head, 0) + payloadLength(this.#head, 0) - this.#headLength
    this.#count(this.#head, 0)
    this.#headLength = 0
    return at
  }

  #isClear(): boolean {
    const length = this.#headLength
    if (length < 2) return false
    const header = headerLength(this.#head, 0)
    if (length < header) return false
    return length >= header + Math.min(DATA_AT + 1, payloadLength(this.#head, 0))
  }

  /** Returns true if it is `device_data`. */
  #count(bytes: Buffer, at: number): boolean {
    const opcode = (bytes[at] ?? 0) & 0x0f
    if (opcode === PING) this.#listener.ping()
    if (opcode !== 1) return false
    const payloadAt = at + headerLength(bytes, at)
    const isData =
      payloadLength(bytes, at) > DATA_AT &&
      bytes[payloadAt + KIND_AT] === LETTER_D &&
      bytes[payloadAt + DATA_AT] === LETTER_D
    if (isData) this.deviceData++
    else this.others++
    return isData
  }
}

function headerLength(bytes: Buffer, at: number): number {
  const length = bytes[at + 1] ?? 0
  return length === EXTENDED_64 ? 10 : length === EXTENDED_16 ? 4 : 2
}

function payloadLength(bytes: Buffer, at: number): number {
  const length = bytes[at + 1] ?? 0
  if (length < EXTENDED_16) return length
  return length === EXTENDED_16 ? bytes.readUInt16BE(at + 2) : bytes.readUIntBE(at + 4, 6)
}
