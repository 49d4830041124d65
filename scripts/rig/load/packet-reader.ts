import { PACKET } from '#testing/mqtt-packets.ts'

/** What a load client wants to hear of; every other packet is skipped. */
export interface PacketListener {
  connack(returnCode: number, isSessionPresent: boolean): void
  puback(packetId: number): void
  suback(returnCodes: Uint8Array): void
  /** A message for this client; `packetId` is 0 at QoS 0, and `body` is everything after its fixed header. */
  publish(packetId: number, body: Uint8Array): void
}

const PUBACK = PACKET.puback << 4
const PUBACK_LENGTH = 4
const NOTHING = new Uint8Array(0)

/**
 * Cuts what a broker sends into packets, however the stream was split.
 * Bytes passed to `read` may be overwritten after it returns. Throws on a length no packet can have.
 */
export class PacketReader {
  readonly #listener: PacketListener
  #incomplete: Uint8Array = NOTHING

  constructor(listener: PacketListener) {
    this.#listener = listener
  }

  read(chunk: Uint8Array): void {
    let bytes = chunk
    if (this.#incomplete.length > 0) {
      bytes = Buffer.concat([this.#incomplete, chunk])
      this.#incomplete = NOTHING
    }
    const consumed = this.#readPackets(bytes)
    // A Buffer's own slice would be a view of bytes that the next read overwrites.
    if (consumed < bytes.length) this.#incomplete = Uint8Array.from(bytes.subarray(consumed))
  }

  #readPackets(bytes: Uint8Array): number {
    const end = bytes.length
    let at = 0
    while (at < end) {
      // Nearly everything that comes back under load is a PUBACK: keep it clear of the general path.
      if (bytes[at] === PUBACK && bytes[at + 1] === 2) {
        if (at + PUBACK_LENGTH > end) return at
        this.#listener.puback(readUint16(bytes, at + 2))
        at += PUBACK_LENGTH
        continue
      }
      const bodyAt = bodyStart(bytes, at)
      if (bodyAt < 0) return at
      const packetEnd = bodyAt + remainingLength(bytes, at)
      if (packetEnd > end) return at
      this.#dispatch(bytes[at] ?? 0, bytes.subarray(bodyAt, packetEnd))
      at = packetEnd
    }
    return at
  }

  #dispatch(header: number, body: Uint8Array): void {
    switch (header >> 4) {
      case PACKET.connack:
        this.#listener.connack(body[1] ?? 0, body[0] === 1)
        return
      case PACKET.puback:
        this.#listener.puback(readUint16(body, 0))
        return
      case PACKET.suback:
        this.#listener.suback(body.subarray(2))
        return
      case PACKET.publish: {
        const isQos0 = (header & 0x06) === 0
        this.#listener.publish(isQos0 ? 0 : readUint16(body, 2 + readUint16(body, 0)), body)
      }
    }
  }
}

const MAX_LENGTH_BYTES = 4

/** Offset of the body, or -1 while the length is not all there. */
function bodyStart(bytes: Uint8Array, packetAt: number): number {
  for (let i = 1; i <= MAX_LENGTH_BYTES; i++) {
    const digit = bytes[packetAt + i]
    if (digit === undefined) return -1
    if (digit < 0x80) return packetAt + i + 1
  }
  throw new Error('the broker sent a packet whose length has more than four bytes')
}

function remainingLength(bytes: Uint8Array, packetAt: number): number {
  let length = 0
  for (let i = 0; i < MAX_LENGTH_BYTES; i++) {
    const digit = bytes[packetAt + 1 + i] ?? 0
    length += (digit & 0x7f) * 128 ** i
    if (digit < 0x80) break
  }
  return length
}

function readUint16(bytes: Uint8Array, at: number): number {
  return ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)
}
