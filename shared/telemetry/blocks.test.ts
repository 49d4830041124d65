import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import { encodeBlock, verifyBlock } from './block.ts'
import { type DeviceBlock, decodeBlocks, encodeBlocks } from './blocks.ts'
import { DamagedBlockError, NewerBlockError } from './damaged-block.ts'
import { BATTERY } from './records.ts'

function blockOf(count: number, firstMs = 1_777_636_800_000): Uint8Array {
  const atMs = Float64Array.from({ length: count }, (_, i) => firstMs + i * 1000)
  return encodeBlock(BATTERY, { atMs, voltageMv: Int32Array.from(atMs, (_, i) => 48_000 + (i % 7) * 10) })
}

const hardwareId = fc.stringMatching(/^[A-Za-z0-9._-][A-Za-z0-9._:-]{1,62}[A-Za-z0-9._-]$/)
const block = fc
  .tuple(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 0, max: 2 ** 40 }))
  .map(([count, firstMs]) => blockOf(count, firstMs))
const deviceBlock = fc.tuple(hardwareId, block).map(([hardwareId, block]) => ({ hardwareId, block }))

const THREE: readonly DeviceBlock[] = [
  { hardwareId: 'cart-1', block: blockOf(9) },
  { hardwareId: 'cart-2', block: blockOf(1) },
  { hardwareId: 'cart-1', block: blockOf(4, 1_777_700_000_000) },
]

function reasonOf(bytes: Uint8Array): string | undefined {
  try {
    decodeBlocks(bytes)
  } catch (error) {
    assert.ok(error instanceof DamagedBlockError, `${error}`)
    return error.reason
  }
  return undefined
}

/** The same with other bytes and a checksum that is right for them. */
function forge(bytes: Uint8Array, change: (bytes: Buffer) => void): Buffer {
  const forged = Buffer.from(bytes)
  change(forged)
  const end = forged.length - 4
  forged.writeUInt32LE(crc32(forged.subarray(0, end)), end)
  return forged
}

/** Frame with any content. */
function frame(content: Uint8Array): Buffer {
  return forge(Buffer.concat([Buffer.from('ctc\u0001'), content, Buffer.alloc(4)]), () => {})
}

test('blocks are decoded in their order, byte for byte, with their headers', () => {
  fc.assert(
    fc.property(fc.array(deviceBlock, { maxLength: 8 }), (blocks) => {
      const decoded = decodeBlocks(encodeBlocks(blocks))
      assert.deepEqual(
        decoded.map(({ hardwareId, block }) => ({ hardwareId, block: Uint8Array.from(block) })),
        blocks,
      )
      assert.deepEqual(
        decoded.map(({ header }) => header),
        blocks.map(({ block }) => verifyBlock(block)),
      )
    }),
  )
})

test('decoded blocks are views of the bytes', () => {
  const bytes = encodeBlocks(THREE)
  for (const { block } of decodeBlocks(bytes)) assert.equal(block.buffer, bytes.buffer)
})

test('blocks of version 1 have a fixed byte format', () => {
  const golden = JSON.parse(readFileSync(new URL('./blocks-v1.json', import.meta.url), 'utf8'))
  const blocks: DeviceBlock[] = []
  for (const { hardware_id, block } of golden.blocks) {
    blocks.push({ hardwareId: hardware_id, block: Uint8Array.from(Buffer.from(block, 'hex')) })
  }
  assert.ok(blocks.length > 2)
  assert.equal(Buffer.from(encodeBlocks(blocks)).toString('hex'), golden.hex)
  const decoded = decodeBlocks(Buffer.from(golden.hex, 'hex'))
  assert.deepEqual(
    decoded.map(({ hardwareId, block }) => ({ hardwareId, block: Uint8Array.from(block) })),
    blocks,
  )
})

test('an invalid hardware id cannot be encoded', () => {
  for (const hardwareId of ['', '..', 'a/b', 'é', 'x'.repeat(65)]) {
    assert.throws(() => encodeBlocks([{ hardwareId, block: blockOf(1) }]), RangeError)
  }
})

test('every flipped bit is detected', () => {
  const bytes = encodeBlocks(THREE)
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const flipped = Buffer.from(bytes)
    flipped[bit >>> 3] = (flipped[bit >>> 3] ?? 0) ^ (1 << (bit & 7))
    assert.notEqual(reasonOf(flipped), undefined, `bit ${bit}`)
  }
})

test('truncated or extended bytes are detected', () => {
  const bytes = encodeBlocks(THREE)
  for (let length = 0; length < bytes.length; length++) {
    assert.notEqual(reasonOf(bytes.subarray(0, length)), undefined)
  }
  assert.equal(reasonOf(Buffer.concat([bytes, Buffer.alloc(1)])), 'wrong_checksum')
})

test('a later version of the whole or of a block is reported if its bytes are intact', () => {
  const later = forge(encodeBlocks(THREE), (bytes) => bytes.writeUInt8(2, 3))
  assert.throws(() => decodeBlocks(later), NewerBlockError)
  assert.equal(reasonOf(later.fill(1, 20, 21)), 'wrong_checksum')
  const laterBlock = forge(blockOf(3), (bytes) => bytes.writeUInt8(9, 3))
  assert.throws(() => decodeBlocks(encodeBlocks([{ hardwareId: 'cart-1', block: laterBlock }])), NewerBlockError)
})

for (const [what, change] of [
  ['an id that is none', (bytes) => bytes.write('/', 6)],
  ['an empty id', (bytes) => bytes.writeUInt8(0, 4)],
  ['an id longer than the rest', (bytes) => bytes.writeUInt8(255, 4)],
  ['a block longer than the rest', (bytes) => bytes.writeUInt32LE(0xff_ff_ff_ff, 11)],
  ['a block of no bytes', (bytes) => bytes.writeUInt32LE(0, 11)],
  ['a block that is cut off', (bytes) => bytes.writeUInt32LE(bytes.readUInt32LE(11) - 1, 11)],
  ['a damaged block', (bytes) => bytes.writeUInt8(7, 60)],
  ['version 0', (bytes) => bytes.writeUInt8(0, 3)],
] as const satisfies readonly (readonly [string, (bytes: Buffer) => void])[]) {
  test(`with a valid checksum, ${what} is damage too`, () => {
    assert.notEqual(reasonOf(forge(encodeBlocks(THREE), change)), undefined)
  })
}

test('with a valid checksum, bytes after the last block are damage', () => {
  const content = encodeBlocks(THREE).subarray(4, -4)
  assert.equal(reasonOf(frame(content)), undefined)
  for (const rest of [[0], [6], [6, 0x61, 0, 0, 0, 0], [1, 0x61, 0, 0, 0, 0]]) {
    assert.notEqual(reasonOf(frame(Buffer.concat([content, Buffer.from(rest)]))), undefined)
  }
})

test('a block of more records than any block has is damage', () => {
  // without its groups, which are checked against the count, nothing but the count is wrong
  const atMs = Float64Array.from({ length: 2048 }, (_, i) => i)
  const block = encodeBlock(BATTERY, { atMs, voltageMv: new Int32Array(2048) })
  const more = forge(Buffer.concat([block, Buffer.alloc(8000)]), (bytes) => {
    bytes.writeUInt32LE(bytes.length, 4)
    bytes.writeUInt16LE(2049, 10)
  })
  assert.equal(verifyBlock(more).count, 2049)
  assert.equal(reasonOf(encodeBlocks([{ hardwareId: 'cart-1', block: more }])), 'impossible_content')
})

test('any bytes are either damage or valid blocks', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      assert.notEqual(reasonOf(bytes), undefined)
      reasonOf(frame(bytes))
    }),
    { numRuns: 2000 },
  )
})
