import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { crc32 } from 'node:zlib'
import { decodeBlock, encodeBlock, verifyBlock } from './block.ts'
import { BATTERY, GPS, type RecordKind, type Records } from './records.ts'

// Blocks of these bytes are on disks and at head offices: a file of an earlier version is never changed, and a change
// of what the encoder writes is a new version with a file of its own.
interface Golden {
  name: string
  kind: 'gps' | 'battery'
  hex: string
  records: { atMs: number[]; [column: string]: number[] }
}

const CURRENT_VERSION = 1

const files = globSync('block-v*.json', { cwd: import.meta.dirname })

test('there is a golden file for every version', () => {
  const expected = Array.from({ length: CURRENT_VERSION }, (_, i) => `block-v${i + 1}.json`)
  assert.deepEqual(files.sort(), expected)
})

for (const file of files) {
  const version = Number(/\d+/.exec(file)?.[0])
  const goldens: Golden[] = JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8'))
  for (const golden of goldens) {
    test(`a block of version ${version} is read as it was meant: ${golden.name}`, () => {
      const block = Buffer.from(golden.hex, 'hex')
      assert.equal(verifyBlock(block).version, version)
      if (golden.kind === 'gps') assertReads(GPS, block, golden, version)
      else assertReads(BATTERY, block, golden, version)
    })
  }
}

function assertReads<R extends Records>(kind: RecordKind<R>, block: Uint8Array, golden: Golden, version: number): void {
  const { atMs } = golden.records
  const records = kind.allocate(atMs.length)
  assert.equal(decodeBlock(kind, block, records), atMs.length)
  const columns = { atMs: [...records.atMs] }
  for (const [i, { name }] of kind.rules.entries()) {
    Object.assign(columns, { [name]: [...(kind.columnsOf(records)[i] ?? [])] })
  }
  assert.deepEqual(columns, golden.records)
  if (version === CURRENT_VERSION) {
    assert.equal(Buffer.from(encodeBlock(kind, records)).toString('hex'), golden.hex)
  }
}

test('a block of version 1 is laid out like this', () => {
  const parts = [
    ['637462', '"ctb"'],
    ['01', 'version'],
    ['3d000000', '61 bytes'],
    ['0200', 'battery'],
    ['0400', '4 records'],
    ['0000000000408f40', 'the first at 1,000 ms'],
    ['000000000058cb40', 'the last at 14,000 ms'],
    ['0000000000408f40', 'usual is an interval of 1,000 ms'],
    ['000000000088c340', 'others differ from it by multiples of 10,000 ms'],
    ['02', 'intervals of 2 bits each'],
    ['20', '0, 0 and 1, which is written as 2'],
    ['50c30000', 'the first is 50,000 mV'],
    ['0a000000', 'in steps of 10 mV'],
    ['04', 'differences of 4 bits each'],
    ['f102', '-1, -8 and 1, which are written as 1, 15 and 2'],
  ]
  const records = {
    atMs: Float64Array.of(1000, 2000, 3000, 14_000),
    voltageMv: Int32Array.of(50_000, 49_990, 49_910, 49_920),
  }
  const block = Buffer.from(encodeBlock(BATTERY, records))
  assert.equal(block.subarray(0, -4).toString('hex'), parts.map(([hex]) => hex).join(''))
  assert.equal(block.readUInt32LE(57), crc32(block.subarray(0, 57)))
})
