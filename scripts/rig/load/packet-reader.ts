import { cutPackets, idOf, PACKET, type RawPacket, readPublish } from '#testing/mqtt-packets.ts'

/** Packets that a load client handles; every other packet is skipped. */
export interface PacketListener {
  connack?(returnCode: number, isSessionPresent: boolean): void
  puback?(packetId: number): void
  suback?(returnCodes: Uint8Array): void
  /** A message for this client; `packetId` is 0 at QoS 0. */
  publish?(packetId: number, payload: string): void
}

const PUBACK = PACKET.puback << 4
const PUBACK_LENGTH = 4
const MAX_LENGTH_BYTES = 4

/** Splits a broker's stream into packets; bytes may be overwritten after `read` returns. Throws on invalid lengths. */
export class PacketReader {
  readonly #listener: PacketListener
  #incomplete: Buffer = Buffer.alloc(0)

  constructor(listener: PacketListener) {
    this.#listener = listener
  }

  read(chunk: Buffer): void {
    const bytes = this.#incomplete.length === 0 ? chunk : Buffer.concat([this.#incomplete, chunk])
    let at = 0
    // Nearly all packets under load are PUBACKs: they bypass the general path.
    for (; bytes[at] === PUBACK && at + PUBACK_LENGTH <= bytes.length; at += PUBACK_LENGTH) {
      this.#listener.puback?.(bytes.readUInt16BE(at + 2))
    }
    if (at === bytes.length && this.#incomplete.length === 0) return
    const { packets, rest } = cutPackets(bytes.subarray(at))
    for (const packet of packets) this.#dispatch(packet)
    const length = rest.subarray(1, 1 + MAX_LENGTH_BYTES)
    if (length.length === MAX_LENGTH_BYTES && length.every((digit) => digit >= 0x80)) {
      throw new Error('the broker sent a packet whose length has more than four bytes')
    }
    // the next read overwrites the chunk
    this.#incomplete = Buffer.from(rest)
  }

  #dispatch(packet: RawPacket): void {
    const { type, body } = packet
    if (type === PACKET.connack) this.#listener.connack?.(body[1] ?? 0, body[0] === 1)
    if (type === PACKET.puback) this.#listener.puback?.(idOf(packet))
    if (type === PACKET.suback) this.#listener.suback?.(body.subarray(2))
    if (type !== PACKET.publish) return
    const { id, payload } = readPublish(packet)
    this.#listener.publish?.(id, payload)
  }
}
