import assert from 'node:assert/strict'
import { test } from 'node:test'
import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import { isHardwareId } from '#shared/ids.ts'
import { isBlockTime } from './block-header.ts'
import { DamagedBlockError, NewerBlockError } from './damaged-block.ts'
import { GolombContext } from './golomb.ts'
import { GolombWriter } from './golomb-writer.ts'
import { fold } from './packed-bits.ts'
import { BATTERY, GPS, NO_SPEED } from './records.ts'
import { RunModel } from './run-model.ts'
import { decodeRuns, encodeRuns, type TelemetryRun } from './runs.ts'

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

test('every flipped bit is noticed', () => {
  for (const bytes of SAMPLES) {
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const flipped = bytes.slice()
      flipped[bit >>> 3] = (flipped[bit >>> 3] ?? 0) ^ (1 << (bit & 7))
      assert.notEqual(reasonOf(flipped), undefined, `bit ${bit}`)
    }
  }
})

test('bytes that are cut off or go on are noticed, with a right checksum too', () => {
  for (const bytes of SAMPLES) {
    for (let length = 0; length < bytes.length; length++) {
      assert.notEqual(reasonOf(bytes.subarray(0, length)), undefined)
      if (length >= 8) assert.equal(reasonOf(seal(bytes.subarray(0, length))), 'impossible_content')
    }
    const content = bytes.subarray(4, -4)
    assert.equal(reasonOf(frame(content)), undefined)
    assert.equal(reasonOf(frame(Uint8Array.of(...content, 0))), 'impossible_content')
  }
})

test('bytes that are no runs are damaged', () => {
  assert.equal(reasonOf(new Uint8Array(0)), 'wrong_length')
  assert.equal(reasonOf(new Uint8Array(100)), 'not_a_block')
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
      assert.notEqual(reasonOf(bytes), undefined)
    }),
    { numRuns: 1000 },
  )
})

test('a later version is refused by its number, and only if its bytes are whole', () => {
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

test('with a right checksum any bytes are either damage or runs that can be', () => {
  const change = fc.record({ at: fc.nat(), bytes: fc.uint8Array({ minLength: 1, maxLength: 4 }) })
  let taken = 0
  fc.assert(
    fc.property(anySample, fc.array(change, { minLength: 1, maxLength: 3 }), (sample, changes) => {
      const bytes = sample.slice()
      for (const { at, bytes: over } of changes) {
        const start = 4 + (at % (bytes.length - 8))
        bytes.set(over.subarray(0, bytes.length - 4 - start), start)
      }
      if (reasonOf(seal(bytes)) === undefined) taken++
    }),
    { numRuns: 5000 },
  )
  assert.ok(taken > 100, `only ${taken} were runs`)
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (content) => {
      reasonOf(frame(content))
    }),
    { numRuns: 5000 },
  )
})

/** The beginning of one run of `count` voltages, and so many bytes of zeros: numbers that cost a bit each. */
function longRun(count: number, zeros: number): Uint8Array {
  const model = new RunModel()
  const out = new GolombWriter(0, 100)
  out.writeBit(true)
  out.writeBit(false)
  out.write(0, model.dropped)
  out.write(1, model.added)
  out.writeBits('a'.charCodeAt(0), 7)
  out.writeBit(true)
  out.write(fold(count), model.streams.battery.counts)
  const { bytes, end } = out.finish()
  return frame(Buffer.concat([bytes.subarray(0, end), Buffer.alloc(zeros)]))
}

test('no memory is taken for records that the bytes cannot hold', () => {
  for (const count of [1e4, 1e6, 2 ** 31, 2 ** 47 - 1, -5, 0]) {
    const bytes = longRun(count, 40)
    const before = process.memoryUsage().arrayBuffers
    assert.equal(reasonOf(bytes), 'impossible_content')
    assert.ok(process.memoryUsage().arrayBuffers - before < 1e6)
  }
})

test('more records than runs may have are damage, whatever the bytes', () => {
  assert.throws(() => decodeRuns(longRun(1_000_001, 300_000)), /1000001 records/)
})

test('more runs than there may be are damage', () => {
  const record = { atMs: Float64Array.of(0), voltageMv: Int32Array.of(0) }
  const most: TelemetryRun[] = Array(50_000).fill({ hardwareId: 'a', stream: 'battery', records: record })
  const bytes = encodeRuns(most)
  // every run but the first is a few bits that are the same each time: there is room for more of them before the end
  const content = Buffer.from(bytes.subarray(4, -4))
  const again = content.subarray(1000, 1000 + 7 * 100)
  const longer = Buffer.concat([content.subarray(0, 1000), again, content.subarray(1000)])
  assert.throws(() => decodeRuns(frame(longer)), /more than 50000 runs/)
})

test('runs that go against the order are damage', () => {
  const model = new RunModel()
  const out = new GolombWriter(0, 100)
  const id = (text: string, dropped: number) => {
    out.writeBit(true)
    out.writeBit(false)
    out.write(dropped, model.dropped)
    out.write(text.length, model.added)
    for (const letter of text) out.writeBits(letter.charCodeAt(0), 7)
  }
  const oneVoltageAtZero = (count: number) => {
    out.writeBit(true)
    out.write(fold(count), model.streams.battery.counts)
    out.write(0, model.jumps)
    out.writeBit(true)
    out.write(0, new GolombContext(1000))
  }
  id('b', 0)
  oneVoltageAtZero(1)
  id('a', 1)
  oneVoltageAtZero(0)
  out.writeBit(false)
  const { bytes, end } = out.finish()
  assert.throws(() => decodeRuns(frame(bytes.subarray(0, end))), /do not ascend/)
})
