import { isHardwareId } from '#shared/ids.ts'
import { MAX_BLOCK_RECORDS, verifyBlock } from './block.ts'
import type { BlockHeader } from './block-header.ts'
import { DamagedBlockError } from './damaged-block.ts'
import { FRAME_BYTES, FRAME_HEAD_BYTES, finishFrame, openFrame } from './part-frame.ts'

// The content of the frame (part-frame.ts) is, for each block and nothing else:
//   0  length of the hardware id, one byte
//   1  hardware id, ASCII
//      length of the block, four bytes, little-endian
//      the block as it is stored
const FORMAT = { letter: 'c', version: 1 } as const
const HEAD_BYTES = 5

/** Telemetry block with the device that its records belong to. */
export interface DeviceBlock {
  readonly hardwareId: string
  readonly block: Uint8Array
}

/** Encodes whole blocks one after another. Throws `RangeError` for an invalid hardware id. */
export function encodeBlocks(blocks: readonly DeviceBlock[]): Uint8Array {
  let length = FRAME_BYTES
  for (const { hardwareId, block } of blocks) length += HEAD_BYTES + hardwareId.length + block.length
  const bytes = Buffer.alloc(length)
  let at = FRAME_HEAD_BYTES
  for (const { hardwareId, block } of blocks) {
    if (!isHardwareId(hardwareId)) throw new RangeError(`"${hardwareId}" is not a valid hardware id`)
    at = bytes.writeUInt8(hardwareId.length, at)
    at += bytes.write(hardwareId, at, 'latin1')
    at = bytes.writeUInt32LE(block.length, at)
    bytes.set(block, at)
    at += block.length
  }
  return finishFrame(FORMAT, bytes, at)
}

/**
 * Decodes the output of `encodeBlocks` to views of the bytes. Each passed `verifyBlock`, but only `decodeBlock` shows
 * if its columns are readable. Throws `DamagedBlockError`, or `NewerBlockError` for a later frame or block version.
 */
export function decodeBlocks(bytes: Uint8Array): (DeviceBlock & { readonly header: BlockHeader })[] {
  const content = openFrame(FORMAT, bytes)
  const text = Buffer.from(content.buffer, content.byteOffset, content.byteLength)
  const blocks: (DeviceBlock & { readonly header: BlockHeader })[] = []
  let at = 0
  while (at < text.length) {
    const idLength = text.readUInt8(at)
    const blockAt = at + HEAD_BYTES + idLength
    if (blockAt > text.length) throw impossible('the head of a block extends beyond the end')
    const hardwareId = text.toString('latin1', at + 1, at + 1 + idLength)
    if (!isHardwareId(hardwareId)) throw impossible('an invalid hardware id')
    at = blockAt + text.readUInt32LE(blockAt - 4)
    if (at > text.length) throw impossible('a block extends beyond the end')
    const block = content.subarray(blockAt, at)
    const header = verifyBlock(block)
    if (header.count > MAX_BLOCK_RECORDS) throw impossible(`a block of ${header.count} records`)
    blocks.push({ hardwareId, block, header })
  }
  return blocks
}

function impossible(what: string): DamagedBlockError {
  return new DamagedBlockError('impossible_content', what)
}
