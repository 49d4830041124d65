import { crc32 } from 'node:zlib'
import { DamagedBlockError, NewerBlockError } from '#shared/telemetry/damaged-block.ts'

/** Samples of many devices as columns of equal length, in the order of arrival. */
export interface TelemetryBatch {
  readonly count: number
  readonly deviceId: Uint32Array
  readonly atMs: Float64Array
  /** 1e-7 degree; 0 without `HAS_GPS`. */
  readonly latE7: Int32Array
  readonly longE7: Int32Array
  /** 0.001 km/h, or `NO_SPEED`. */
  readonly speedMilliKmh: Int32Array
  /** 0 without `HAS_BATTERY`. */
  readonly voltageMv: Int32Array
  /** `HAS_GPS` and `HAS_BATTERY` bits. */
  readonly streams: Uint8Array
}

export const HAS_GPS = 1
export const HAS_BATTERY = 2

// Little-endian:
//   0  "ctl", version
//   4  count
//   8  the columns, one after the other, the widest first
//   -4 CRC-32 of all bytes before it
const VERSION = 1
const MAGIC = 0x6c_74_63
const HEADER_BYTES = 8
const CHECKSUM_BYTES = 4
const SAMPLE_BYTES = 8 + 5 * 4 + 1

export function allocateBatch(count: number): TelemetryBatch {
  return columnsOf(new ArrayBuffer(byteLengthOf(count)), count)
}

/** Bytes of a batch made by `allocateBatch`: the columns are written in place. */
export function encodeBatch({ atMs, count }: TelemetryBatch): Uint8Array {
  const bytes = new Uint8Array(atMs.buffer as ArrayBuffer)
  const view = new DataView(bytes.buffer)
  view.setUint32(0, MAGIC | (VERSION << 24), true)
  view.setUint32(4, count, true)
  const end = bytes.length - CHECKSUM_BYTES
  view.setUint32(end, crc32(bytes.subarray(0, end)), true)
  return bytes
}

/** Decodes `encodeBatch`; columns may be views of `bytes`. Throws `DamagedBlockError`, `NewerBlockError`. */
export function decodeBatch(bytes: Uint8Array): TelemetryBatch {
  const { byteLength } = bytes
  const view = new DataView(bytes.buffer, bytes.byteOffset, byteLength)
  if (byteLength < byteLengthOf(0)) throw new DamagedBlockError('wrong_length', `${byteLength} bytes`)
  if ((view.getUint32(0, true) & 0xff_ff_ff) !== MAGIC) throw new DamagedBlockError('not_a_block', 'no "ctl"')
  const end = byteLength - CHECKSUM_BYTES
  if (crc32(bytes.subarray(0, end)) !== view.getUint32(end, true))
    throw new DamagedBlockError('wrong_checksum', 'its checksum does not match')
  const version = view.getUint8(3)
  if (version > VERSION) throw new NewerBlockError(version, VERSION)
  const count = view.getUint32(4, true)
  if (byteLength !== byteLengthOf(count)) throw new DamagedBlockError('wrong_length', `${count} samples`)
  // columns of eight bytes must begin at a multiple of eight
  const isAligned = bytes.byteOffset % 8 === 0
  return isAligned ? columnsOf(bytes.buffer, count, bytes.byteOffset) : columnsOf(bytes.slice().buffer, count)
}

/** Number of samples of a batch, computed from its length alone, so that it works for an unreadable batch too. */
export function sampleCountOf({ byteLength }: { readonly byteLength: number }): number {
  return Math.max(0, Math.floor((byteLength - byteLengthOf(0)) / SAMPLE_BYTES))
}

/** Number of records that a sample of these streams has. */
export function recordsIn(streams: number): number {
  return (streams & HAS_GPS) / HAS_GPS + (streams & HAS_BATTERY) / HAS_BATTERY
}

function byteLengthOf(count: number): number {
  return HEADER_BYTES + count * SAMPLE_BYTES + CHECKSUM_BYTES
}

function columnsOf(buffer: ArrayBufferLike, count: number, offset = 0): TelemetryBatch {
  const timesAt = offset + HEADER_BYTES
  const column = (i: number) => timesAt + (8 + i * 4) * count
  return {
    count,
    atMs: new Float64Array(buffer, timesAt, count),
    deviceId: new Uint32Array(buffer, column(0), count),
    latE7: new Int32Array(buffer, column(1), count),
    longE7: new Int32Array(buffer, column(2), count),
    speedMilliKmh: new Int32Array(buffer, column(3), count),
    voltageMv: new Int32Array(buffer, column(4), count),
    streams: new Uint8Array(buffer, column(5), count),
  }
}
