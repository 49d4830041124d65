import { publishPacket } from '#testing/mqtt-packets.ts'

/** Bit of a PUBLISH header that marks a repeated delivery. */
const DUP_FLAG = 0x08

const TS_DIGITS = 13
const FIX_DIGITS = 4
/** Number of parallel lanes, some 111 m apart. */
const LANES = 20

/**
 * Telemetry PUBLISH packets of one device, encoded once and then patched. Slot i has packet id i + 1. A range of slots
 * is one write. A slot may be stamped again only after its acknowledgement: a socket may still read it.
 */
export class TelemetryPackets {
  readonly slots: number
  readonly #bytes: Buffer
  readonly #packetLength: number
  readonly #tsAt: number
  readonly #latDigitsAt: number
  readonly #longDigitsAt: number
  readonly #header: number

  constructor(hardwareId: string, slots: number, lane = 0) {
    this.slots = slots
    const packets = Array.from({ length: slots }, (_, slot) => encodeTemplate(hardwareId, slot, lane % LANES))
    const first = packets[0] ?? Buffer.alloc(0)
    this.#bytes = Buffer.concat(packets)
    this.#packetLength = first.length
    this.#header = first[0] ?? 0
    this.#tsAt = first.indexOf('"ts":') + 5
    this.#latDigitsAt = first.indexOf(',"long"') - FIX_DIGITS
    this.#longDigitsAt = first.indexOf(',"speed"') - FIX_DIGITS
  }

  /** Makes the slot a new message sampled at `tsMs`. */
  stamp(slot: number, tsMs: number): void {
    const packetAt = slot * this.#packetLength
    const digits = String(tsMs)
    this.#write(digits, packetAt + this.#tsAt)
    // Every fix differs, as a moving cart's do, so that the store compresses realistic data.
    const place = digits.slice(-FIX_DIGITS)
    this.#write(place, packetAt + this.#latDigitsAt)
    this.#write(place, packetAt + this.#longDigitsAt)
    this.#bytes[packetAt] = this.#header
  }

  /** Marks a slot as sent before. */
  markRepeated(slot: number): void {
    this.#bytes[slot * this.#packetLength] = this.#header | DUP_FLAG
  }

  /** Bytes of `count` packets from `slot` on; not a copy. */
  bytes(slot: number, count: number): Buffer {
    return this.#bytes.subarray(slot * this.#packetLength, (slot + count) * this.#packetLength)
  }

  /** Writes character by character: for so few faster than any function of Buffer. */
  #write(digits: string, at: number): void {
    for (let i = 0; i < digits.length; i++) this.#bytes[at + i] = digits.charCodeAt(i)
  }
}

function encodeTemplate(hardwareId: string, slot: number, lane: number): Buffer {
  const ts = '0'.repeat(TS_DIGITS)
  const speed = (10 + (slot % 90) / 10).toFixed(1)
  const payload =
    `{"ts":${ts},"lat":36.5${68 + lane}0000,"long":-121.9480000,` +
    `"speed":${speed},"battery_voltage":51.27,"lock_status":1}`
  return publishPacket(`dev/${hardwareId}/tlm`, payload, { id: slot + 1 })
}
