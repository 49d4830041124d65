import assert from 'node:assert/strict'
import { test } from 'node:test'
import { crc32, deflateRawSync, inflateRawSync } from 'node:zlib'
import fc from 'fast-check'
import { isHardwareId } from '#shared/ids.ts'
import { isBlockTime } from './block-header.ts'
import { DamagedBlockError, NewerBlockError } from './damaged-block.ts'
import { fold } from './packed-bits.ts'
import { BATTERY, GPS, NO_SPEED } from './records.ts'
import { decodeRuns, encodeRuns, type TelemetryRun } from './runs.ts'
import { VarintWriter } from './varints.ts'

function runsOf(devices: number, count: number): TelemetryRun[] {
  return Array.from({ length: devices }, (_, device): TelemetryRun[] => {
    const gps = GPS.allocate(count)
    for (let i = 0; i < count; i++) {
      gps.atMs[i] = 1_777_000_000_000 + device * 7 + i * 1000 + (i === 3 ? 40 : 0)
      gps.latE7[i] = 284_090_000 + ((i * 7919) % 400)
      gps.longE7[i] = i === 2 ? 1_799_999_999 : -815_800_000 - ((i * 104_729) % 900)
      gps.speedMilliKmh[i] = i % 4 === 3 ? NO_SPEED : i * 100
    }
    const voltageMv = Int32Array.from(gps.atMs, (_, i) => 48_000 + i * 10)
    const hardwareId = `cart-${device}`
    return [
      { hardwareId, stream: 'gps', records: gps },
      { hardwareId, stream: 'battery', records: { atMs: gps.atMs, voltageMv } },
    ]
  }).flat()
}

const SAMPLES = [encodeRuns(runsOf(3, 6)), encodeRuns(runsOf(1, 40)), encodeRuns([])] as const
const anySample = fc.constantFrom(...SAMPLES)

/** Inflated content of a frame. */
function contentOf(bytes: Uint8Array): Buffer {
  return inflateRawSync(bytes.subarray(4, -4))
}

/** Why the bytes are damaged; undefined when they are runs, which then must be possible. */
function reasonOf(bytes: Uint8Array): string | undefined {
  try {
    for (const { hardwareId, stream, records } of decodeRuns(bytes)) {
      assert.ok(isHardwareId(hardwareId))
      const { atMs } = records
      assert.ok(atMs.length > 0)
      assert.ok(atMs.every((time, i) => isBlockTime(time) && time > (atMs[i - 1] ?? -1)))
      const kind = stream === 'gps' ? GPS : BATTERY
      const columns = stream === 'gps' ? GPS.columnsOf(records) : BATTERY.columnsOf(records)
      for (const [c, { min, max, isOptional }] of kind.rules.entries()) {
        assert.equal(columns[c]?.length, atMs.length)
        assert.ok(columns[c]?.every((v) => (v >= min && v <= max) || (isOptional && v === NO_SPEED)))
      }
    }
  } catch (error) {
    assert.ok(error instanceof DamagedBlockError, `${error}`)
    return error.reason
  }
  return undefined
}

/** With the checksum that is right for the bytes. */
function seal(bytes: Uint8Array): Uint8Array {
  const sealed = Uint8Array.from(bytes)
  const end = sealed.length - 4
  new DataView(sealed.buffer).setUint32(end, crc32(sealed.subarray(0, end)), true)
  return sealed
}

function frame(content: Uint8Array): Uint8Array {
  return seal(Buffer.concat([Buffer.from('ctr\u0001'), content, Buffer.alloc(4)]))
}

function pack(content: Uint8Array): Uint8Array {
  return frame(deflateRawSync(content))
}

test('every flipped bit is detected', () => {
  for (const bytes of SAMPLES) {
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const flipped = bytes.slice()
      flipped[bit >>> 3] = (flipped[bit >>> 3] ?? 0) ^ (1 << (bit & 7))
      assert.notEqual(reasonOf(flipped), undefined, `bit ${bit}`)
    }
  }
})

test('truncated or extended bytes are detected, with a valid checksum too', () => {
  for (const bytes of SAMPLES) {
    for (let length = 0; length < bytes.length; length++) {
      assert.notEqual(reasonOf(bytes.subarray(0, length)), undefined)
      if (length >= 8) assert.equal(reasonOf(seal(bytes.subarray(0, length))), 'impossible_content')
    }
    const deflated = bytes.subarray(4, -4)
    assert.equal(reasonOf(frame(deflated)), undefined)
    assert.equal(reasonOf(frame(Uint8Array.of(...deflated, 0))), 'impossible_content')
  }
})

test('truncated or extended content is detected', () => {
  for (const bytes of SAMPLES) {
    const content = contentOf(bytes)
    assert.equal(reasonOf(pack(content)), undefined)
    for (let length = 0; length < content.length; length++) {
      assert.equal(reasonOf(pack(content.subarray(0, length))), 'impossible_content')
    }
    assert.equal(reasonOf(pack(Uint8Array.of(...content, 0))), 'impossible_content')
  }
})

test('bytes that are not runs are damage', () => {
  assert.equal(reasonOf(new Uint8Array(0)), 'wrong_length')
  assert.equal(reasonOf(new Uint8Array(100)), 'not_a_block')
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
      assert.notEqual(reasonOf(bytes), undefined)
    }),
    { numRuns: 1000 },
  )
})

test('a later version is rejected by its number, and only if its bytes are intact', () => {
  const later = SAMPLES[0].slice()
  later[3] = 2
  assert.equal(reasonOf(later), 'wrong_checksum')
  assert.throws(
    () => decodeRuns(seal(later)),
    (error) => error instanceof NewerBlockError && error.version === 2,
  )
  later[3] = 0
  assert.equal(reasonOf(seal(later)), 'impossible_content')
})

test('with a valid checksum any bytes are either damage or valid runs', () => {
  const change = fc.record({ at: fc.nat(), bytes: fc.uint8Array({ minLength: 1, maxLength: 4 }) })
  const changes = fc.array(change, { minLength: 1, maxLength: 3 })
  const changed = (bytes: Uint8Array, all: readonly { at: number; bytes: Uint8Array }[]): Uint8Array => {
    const copy = Uint8Array.from(bytes)
    for (const { at, bytes: over } of all) {
      const start = at % bytes.length
      copy.set(over.subarray(0, bytes.length - start), start)
    }
    return copy
  }
  let taken = 0
  fc.assert(
    fc.property(anySample, changes, (sample, all) => {
      if (reasonOf(pack(changed(contentOf(sample), all))) === undefined) taken++
    }),
    { numRuns: 5000 },
  )
  assert.ok(taken > 100, `only ${taken} were runs`)
  fc.assert(
    fc.property(anySample, changes, (sample, all) => {
      reasonOf(frame(changed(sample.subarray(4, -4), all)))
    }),
    { numRuns: 1000 },
  )
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (content) => {
      reasonOf(pack(content))
      reasonOf(frame(content))
    }),
    { numRuns: 5000 },
  )
})

interface Head {
  readonly id: string
  readonly count: number
  readonly isBattery?: boolean
}

/** Start of the content of runs, followed by any number of zeros, which represent all values. */
function contentWith(heads: readonly Head[], zeros: number): Uint8Array {
  const out = new VarintWriter(10 + heads.length * 80 + zeros)
  out.write(heads.length)
  for (const { id } of heads) out.writeText(id)
  for (const { count, isBattery = true } of heads) out.write(count * 2 + (isBattery ? 1 : 0))
  for (let i = 0; i < zeros; i++) out.write(0)
  return out.written
}

test('no memory is allocated for records that the bytes cannot hold', () => {
  for (const count of [0, 100, 1e4, 250_000, 1e6, 2 ** 31, 2 ** 47 - 1]) {
    const bytes = pack(contentWith([{ id: 'a', count }], 40))
    const before = process.memoryUsage().arrayBuffers
    assert.equal(reasonOf(bytes), 'impossible_content')
    assert.ok(process.memoryUsage().arrayBuffers - before < 1e6)
  }
})

test('more records than runs may have are damage, whatever the bytes', () => {
  const runs = [125_000, 125_001].map((count, i) => ({ id: `cart-${i}`, count }))
  assert.throws(() => decodeRuns(pack(contentWith(runs, 600_000))), /more than 250000 records/)
})

test('more runs than allowed are damage', () => {
  const runs = (count: number) => Array<Head>(count).fill({ id: 'a', count: 1 })
  assert.equal(decodeRuns(pack(contentWith(runs(50_000), 100_000))).length, 50_000)
  assert.throws(() => decodeRuns(pack(contentWith(runs(50_001), 100_002))), /more than 50000 runs/)
})

test('a few bytes that inflate to many are damage before they fill the memory', () => {
  const bytes = pack(Buffer.alloc(100_000_000))
  assert.ok(bytes.length < 100_000)
  const before = process.memoryUsage().arrayBuffers
  assert.throws(() => decodeRuns(bytes), DamagedBlockError)
  assert.ok(process.memoryUsage().arrayBuffers - before < 40e6)
})

test('content that zlib cannot inflate is damage', () => {
  assert.equal(reasonOf(frame(Uint8Array.of())), 'impossible_content')
  assert.equal(reasonOf(frame(Uint8Array.of(0x07, 0x00))), 'impossible_content')
  assert.equal(reasonOf(frame(Buffer.from('no deflate stream'))), 'impossible_content')
})

test('runs out of order are damage', () => {
  const single = (id: string, isBattery = true) => ({ id, count: 1, isBattery })
  const read = (...heads: Head[]) => decodeRuns(pack(contentWith(heads, heads.length * 2 + 2)))
  assert.equal(decodeRuns(pack(contentWith([single('a'), single('b')], 4))).length, 2)
  assert.throws(() => decodeRuns(pack(contentWith([single('b'), single('a')], 4))), /do not ascend/)
  assert.throws(() => read(single('a'), single('a', false)), /do not ascend/)
})

for (const [what, reason, records] of [
  ['no records', /no records/, { count: 0, values: [] }],
  ['the same time twice', /time 5 behind 5/, { count: 2, values: [5, 0, 0, 0] }],
  ['times that go back', /time 4 behind 5/, { count: 2, values: [5, -1, 0, 0] }],
  ['times before 1970', /time -1/, { count: 1, values: [-1, 0] }],
  ['times after 2248', /time 8796093022208/, { count: 1, values: [2 ** 43, 0] }],
  ['a negative voltage', /voltageMv -1/, { count: 1, values: [0, -1] }],
  ['a voltage of more than 31 bits', /too large/, { count: 1, values: [0, 2 ** 31] }],
] as const) {
  test(`${what} cannot be decoded`, () => {
    const out = new VarintWriter(100)
    out.write(1)
    out.writeText('a')
    out.write(records.count * 2 + 1)
    for (const value of records.values) out.write(fold(value))
    assert.throws(() => decodeRuns(pack(out.written)), reason)
  })
}

test('an invalid hardware id is damage', () => {
  for (const id of ['', '..', 'a/b', 'é', 'active', 'x'.repeat(65)]) {
    assert.throws(() => decodeRuns(pack(contentWith([{ id, count: 1 }], 2))), /hardware id/)
  }
})
