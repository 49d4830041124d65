import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkLoadSegments } from './load-segments.ts'

const LOAD = 1
const NOTE = 4

/** Returns the header of a 64-bit ELF file with these segments. */
function elf(segments: readonly { type: number; offset: number; address: number }[]): Buffer {
  const file = Buffer.alloc(64 + segments.length * 56)
  file.writeBigUInt64LE(64n, 32)
  file.writeUInt16LE(56, 54)
  file.writeUInt16LE(segments.length, 56)
  for (const [i, { type, offset, address }] of segments.entries()) {
    const at = 64 + i * 56
    file.writeUInt32LE(type, at)
    file.writeBigUInt64LE(BigInt(offset), at + 8)
    file.writeBigUInt64LE(BigInt(address), at + 16)
  }
  return file
}

const FIRST = { type: LOAD, offset: 0, address: 0x400000 }

test('segments aligned to pages of 64 KB are accepted for arm64', () => {
  checkLoadSegments(elf([FIRST, { type: LOAD, offset: 0x31234, address: 0x7_0000_1234 }]), 'linux-arm64')
})

test('a segment aligned to pages of 4 KB only is rejected for arm64, and accepted for x64', () => {
  const file = elf([FIRST, { type: LOAD, offset: 0x31000, address: 0x7_0000_2000 }])
  assert.throws(() => checkLoadSegments(file, 'linux-arm64'), /linux-arm64 would not start with pages of 65536 bytes/)
  checkLoadSegments(file, 'linux-x64')
})

test('a segment that is not aligned to any page is rejected for x64 too', () => {
  const file = elf([FIRST, { type: LOAD, offset: 0x31010, address: 0x7_0000_2000 }])
  assert.throws(() => checkLoadSegments(file, 'linux-x64'), /a segment at 200720 of the file/)
})

test('a segment that is not loaded may be anywhere', () => {
  checkLoadSegments(elf([FIRST, { type: NOTE, offset: 0x31010, address: 0x2000 }]), 'linux-x64')
})
