import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { crc32, inflateRawSync } from 'node:zlib'
import { decodeRuns, encodeRuns } from './runs.ts'

// Runs with these bytes are in transit and stored at hubs: a file of an earlier version is never changed, and a change
// of the encoder's output is a new version with a file of its own. The output of deflate differs between builds of
// zlib, so the inflated content is compared.
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
        assert.equal(contentOf(encodeRuns(runs)), contentOf(Buffer.from(golden.hex, 'hex')))
      }
    })
  }
}

test('runs of version 1 are laid out like this', () => {
  const content = [
    ['02', 'runs'],
    ['01 61 01 62', 'of "a" and "b"'],
    ['02', 'one record, GPS'],
    ['07', 'three records, battery'],
    ['be09', 'the first at 607 ms: 1,214 when folded, 62 and 9 times 128'],
    ['d00f', '1,000 ms later: 2,000 when folded'],
    ['d00f d00f', 'and so are the next two, the first of them of the next run'],
    ['0c', 'latitude 6'],
    ['05', 'longitude -3: 5 when folded'],
    ['01', 'no speed, which is -1'],
    ['c007', '480 mV: 960 when folded'],
    ['14', '10 mV more: 20 when folded'],
    ['27', '20 mV less: 39 when folded'],
  ] as const
  const written = Buffer.from(
    encodeRuns([
      {
        hardwareId: 'b',
        stream: 'battery',
        records: { atMs: Float64Array.of(1607, 2607, 3607), voltageMv: Int32Array.of(480, 490, 470) },
      },
      {
        hardwareId: 'a',
        stream: 'gps',
        records: {
          atMs: Float64Array.of(607),
          latE7: Int32Array.of(6),
          longE7: Int32Array.of(-3),
          speedMilliKmh: Int32Array.of(-1),
        },
      },
    ]),
  )
  assert.equal(written.subarray(0, 4).toString('latin1'), 'ctr\u0001')
  assert.equal(contentOf(written), content.map(([hex]) => hex.replaceAll(' ', '')).join(''))
  assert.equal(written.readUInt32LE(written.length - 4), crc32(written.subarray(0, -4)))
})

function contentOf(bytes: Uint8Array): string {
  return inflateRawSync(bytes.subarray(4, -4)).toString('hex')
}
