import { crc32 } from 'node:zlib'
import { DamagedBlockError, NewerBlockError } from './damaged-block.ts'

// Little-endian, in every version of every format that uses it:
//   0  "ct" and a letter, version
//   4  content
//  -4  CRC-32 of all before it

export const FRAME_HEAD_BYTES = 4
const CHECKSUM_BYTES = 4
/** Size of a frame without its content. */
export const FRAME_BYTES = FRAME_HEAD_BYTES + CHECKSUM_BYTES

/** Format of data, from the first bytes of its frame. */
export interface FrameFormat {
  /** Letter after "ct". */
  readonly letter: string
  readonly version: number
}

/** Writes the frame around content that begins at `FRAME_HEAD_BYTES` and ends at `end`; returns the whole frame. */
export function finishFrame(format: FrameFormat, bytes: Uint8Array, end: number): Uint8Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  view.setUint32(0, firstBytes(format), true)
  view.setUint32(end, crc32(bytes.subarray(0, end)), true)
  return bytes.subarray(0, end + CHECKSUM_BYTES)
}

/**
 * Returns a frame's content as a view. Throws `DamagedBlockError`, or `NewerBlockError` for an intact later version.
 */
export function openFrame(format: FrameFormat, bytes: Uint8Array): Uint8Array {
  if (bytes.length < FRAME_BYTES) {
    throw new DamagedBlockError('wrong_length', `${bytes.length} bytes are too few`)
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const version = view.getUint8(3)
  if (view.getUint32(0, true) !== firstBytes({ ...format, version })) {
    throw new DamagedBlockError('not_a_block', `no "ct${format.letter}"`)
  }
  const end = bytes.length - CHECKSUM_BYTES
  if (crc32(bytes.subarray(0, end)) !== view.getUint32(end, true)) {
    throw new DamagedBlockError('wrong_checksum', 'its checksum does not match')
  }
  if (version > format.version) throw new NewerBlockError(version, format.version)
  if (version !== format.version) throw new DamagedBlockError('impossible_content', `version ${version}`)
  return bytes.subarray(FRAME_HEAD_BYTES, end)
}

function firstBytes({ letter, version }: FrameFormat): number {
  return (0x63 | (0x74 << 8) | (letter.charCodeAt(0) << 16) | (version << 24)) >>> 0
}
