import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { crc32 } from 'node:zlib'
import { decodeRuns, encodeRuns } from './runs.ts'

// Runs of these bytes are on their way and at head offices: a file of an earlier version is never changed, and a change
// of what the encoder writes is a new version with a file of its own.
interface Golden {
  name: string
  hex: string
  runs: { hardware_id: string; stream: string; [column: string]: number[] | string }[]
}

const CURRENT_VERSION = 1

const files = globSync('runs-v*.json', { cwd: import.meta.dirname })

test('there is a golden file for every version', () => {
  const expected = Array.from({ length: CURRENT_VERSION }, (_, i) => `runs-v${i + 1}.json`)
  assert.deepEqual(files.sort(), expected)
})

for (const file of files) {
  const version = Number(/\d+/.exec(file)?.[0])
  const goldens: Golden[] = JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8'))
  for (const golden of goldens) {
    test(`runs of version ${version} are read as they were meant: ${golden.name}`, () => {
      const runs = decodeRuns(Buffer.from(golden.hex, 'hex'))
      const found = runs.map(({ hardwareId, stream, records }) => {
        const columns = Object.entries(records).map(([name, column]) => [name, [...column]])
        return { hardware_id: hardwareId, stream, ...Object.fromEntries(columns) }
      })
      assert.deepEqual(found, golden.runs)
      if (version === CURRENT_VERSION) {
        assert.equal(Buffer.from(encodeRuns(runs)).toString('hex'), golden.hex)
      }
    })
  }
}

test('runs of version 1 are laid out like this', () => {
  // each number with its lowest bit first
  const parts = [
    ['1', 'a run'],
    ['0', 'of another device than the run before'],
    ['0', 'of its id go 0 characters'],
    ['10', 'and 1 comes'],
    ['1000011', '"a"'],
    ['1', 'battery'],
    ['1111110', '3 records more than none: 6 when folded'],
    ['11110 01111101', 'the first at 607 ms: 1,214 when folded, 4 times 256 and 190'],
    ['11111111111111111111 110100 00001011111', 'usual are 1,000 ms: 2,000 when folded, in 11 bits'],
    ['1', 'the step of times stays 1'],
    ['0', 'no interval'],
    ['0', 'is another'],
    ['0 10', 'voltages are multiples of 10'],
    ['0 000001100', '480 mV: 48 steps, 96 when folded'],
    ['0 0100', '1 step more: 2 when folded'],
    ['0 110', '2 steps less: 3 when folded, with one bit less as small ones went before'],
    ['0', 'no more runs'],
  ] as const
  const bits = parts.map(([text]) => text.replaceAll(' ', '')).join('')
  const content = bits.match(/.{1,8}/g)?.map((byte) => Number.parseInt([...byte].reverse().join(''), 2)) ?? []
  const written = Buffer.from(
    encodeRuns([
      {
        hardwareId: 'a',
        stream: 'battery',
        records: { atMs: Float64Array.of(607, 1607, 2607), voltageMv: Int32Array.of(480, 490, 470) },
      },
    ]),
  )
  assert.equal(written.subarray(0, 4).toString('latin1'), 'ctr\u0001')
  assert.deepEqual([...written.subarray(4, -4)], content)
  assert.equal(written.readUInt32LE(written.length - 4), crc32(written.subarray(0, -4)))
})
