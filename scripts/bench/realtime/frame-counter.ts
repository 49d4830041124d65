const PING = 9
const TEXT = 1
/** Offsets of two letters that distinguish `{"type":"device_data"` from every other type. */
const [KIND_AT, DATA_AT] = ['{"type":"'.length, '{"type":"device_'.length]
const LETTER_D = 'd'.charCodeAt(0)

interface FrameListener {
  /** Called for each frame that is counted in `deviceData`. */
  deviceData(bytes: Buffer, payloadAt: number, end: number): void
  ping(): void
}

/** Counts a WebSocket server's frames without parsing: a reader must cost less than what it measures. */
export class FrameCounter {
  /** Frames that hold `device_data`. */
  deviceData = 0
  /** All other text frames. */
  others = 0
  readonly #listener: FrameListener
  /** Beginning of a frame whose end has not arrived. */
  #rest = Buffer.alloc(0)

  constructor(listener: FrameListener) {
    this.#listener = listener
  }

  /** Counts the frames of a chunk; keeps no reference to it. */
  take(chunk: Buffer): void {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    let at = 0
    while (at < bytes.length) {
      const payloadAt = at + headerLength(bytes, at)
      const end = payloadAt > bytes.length ? Number.POSITIVE_INFINITY : payloadAt + payloadLength(bytes, at)
      if (end > bytes.length) break
      const opcode = (bytes[at] ?? 0) & 0x0f
      if (opcode === PING) this.#listener.ping()
      if (opcode === TEXT) this.#count(bytes, payloadAt, end)
      at = end
    }
    this.#rest = Buffer.from(bytes.subarray(at))
  }

  #count(bytes: Buffer, payloadAt: number, end: number): void {
    const isLong = end > payloadAt + DATA_AT
    if (isLong && bytes[payloadAt + KIND_AT] === LETTER_D && bytes[payloadAt + DATA_AT] === LETTER_D) {
      this.deviceData++
      this.#listener.deviceData(bytes, payloadAt, end)
    } else {
      this.others++
    }
  }
}

function headerLength(bytes: Buffer, at: number): number {
  const length = bytes[at + 1]
  return length === 127 ? 10 : length === 126 ? 4 : 2
}

/** Length of a payload whose header has arrived. */
function payloadLength(bytes: Buffer, at: number): number {
  const length = bytes[at + 1] ?? 0
  if (length < 126) return length
  return length === 126 ? bytes.readUInt16BE(at + 2) : bytes.readUIntBE(at + 4, 6)
}
