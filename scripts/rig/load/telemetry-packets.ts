import { publishPacket } from '#testing/mqtt-packets.ts'

/** Quality of service the benchmarks use; QoS 2 is not a device's. */
export type Qos = 0 | 1

/** Bit of a PUBLISH header that marks a repeated delivery. */
const DUP_FLAG = 0x08

const TS_DIGITS = 13
const LOW_TS_DIGITS = 6
const FIX_DIGITS = 4
const ZERO = 0x30

/**
 * The telemetry PUBLISH packets of one device, encoded once and then only patched.
 * Slot i always has packet id i + 1. The slots lie one after the other, so a run of them is one write.
 * A slot may be stamped again only after it was acknowledged: until then a socket may still read it.
 */
export class TelemetryPackets {
  readonly slots: number
  readonly #bytes: Buffer
  readonly #packetLength: number
  readonly #tsAt: number
  readonly #latDigitsAt: number
  readonly #longDigitsAt: number
  readonly #header: number
  readonly #highTs: Float64Array

  constructor(hardwareId: string, qos: Qos, slots: number) {
    this.slots = slots
    const packets: Buffer[] = []
    for (let slot = 0; slot < slots; slot++) packets.push(encodeTemplate(hardwareId, qos, slot))
    const first = packets[0] ?? Buffer.alloc(0)
    this.#bytes = Buffer.concat(packets)
    this.#packetLength = first.length
    this.#header = first[0] ?? 0
    this.#tsAt = first.indexOf('"ts":') + 5
    this.#latDigitsAt = first.indexOf(',"long"') - FIX_DIGITS
    this.#longDigitsAt = first.indexOf(',"speed"') - FIX_DIGITS
    this.#highTs = new Float64Array(slots)
  }

  /** Makes the slot a new message sampled at `tsMs`. */
  stamp(slot: number, tsMs: number): void {
    const packetAt = slot * this.#packetLength
    const high = Math.floor(tsMs / 10 ** LOW_TS_DIGITS)
    const low = tsMs - high * 10 ** LOW_TS_DIGITS
    if (this.#highTs[slot] !== high) {
      this.#highTs[slot] = high
      this.#writeDigits(packetAt + this.#tsAt, high, TS_DIGITS - LOW_TS_DIGITS)
    }
    this.#writeDigits(packetAt + this.#tsAt + TS_DIGITS - LOW_TS_DIGITS, low, LOW_TS_DIGITS)
    // Every fix differs, as a moving cart's do, so that the store compresses what it will really get.
    this.#writeDigits(packetAt + this.#latDigitsAt, low, FIX_DIGITS)
    this.#writeDigits(packetAt + this.#longDigitsAt, low, FIX_DIGITS)
    this.#bytes[packetAt] = this.#header
  }

  /** Marks a slot as sent before. */
  markRepeated(slot: number): void {
    this.#bytes[slot * this.#packetLength] = this.#header | DUP_FLAG
  }

  /** The bytes of `count` packets from `slot` on; not a copy. */
  bytes(slot: number, count: number): Buffer {
    return this.#bytes.subarray(slot * this.#packetLength, (slot + count) * this.#packetLength)
  }

  #writeDigits(at: number, value: number, digits: number): void {
    let rest = value | 0
    for (let i = at + digits - 1; i >= at; i--) {
      const next = (rest / 10) | 0
      this.#bytes[i] = ZERO + rest - next * 10
      rest = next
    }
  }
}

function encodeTemplate(hardwareId: string, qos: Qos, slot: number): Buffer {
  const ts = '0'.repeat(TS_DIGITS)
  const speed = (10 + (slot % 90) / 10).toFixed(1)
  const payload =
    `{"ts":${ts},"lat":36.5680000,"long":-121.9480000,` +
    `"speed":${speed},"battery_voltage":51.27,"lock_status":1}`
  return publishPacket(`dev/${hardwareId}/tlm`, payload, { qos, id: slot + 1 })
}
