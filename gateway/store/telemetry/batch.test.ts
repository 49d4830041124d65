import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { DamagedBlockError, NewerBlockError } from '#shared/telemetry/damaged-block.ts'
import {
  allocateBatch,
  decodeBatch,
  encodeBatch,
  HAS_BATTERY,
  HAS_GPS,
  sampleCountOf,
  type TelemetryBatch,
} from './batch.ts'

/** Bytes that version 1 wrote: two samples, one with both streams and one with a voltage only. */
const GOLDEN =
  '63746c01020000000000805c0dde7942000080600dde794207000000080000005020f31e0000000099bbf8ff0000000010270000' +
  '00000000403000003f30000003029775879e'

/** Version 2, no samples, with its checksum. */
const NEWER = '63746c020000000048109726'

function golden(): TelemetryBatch {
  const batch = allocateBatch(2)
  batch.deviceId.set([7, 8])
  batch.atMs.set([Date.UTC(2026, 4, 1), Date.UTC(2026, 4, 1) + 1024 * 16])
  batch.latE7.set([519_250_000, 0])
  batch.longE7.set([-476_263, 0])
  batch.speedMilliKmh.set([10_000, 0])
  batch.voltageMv.set([12_352, 12_351])
  batch.streams.set([HAS_GPS | HAS_BATTERY, HAS_BATTERY])
  return batch
}

test('a batch of an earlier program is read, and written with the same bytes', () => {
  const hex = Buffer.from(encodeBatch(golden())).toString('hex')
  assert.equal(hex, GOLDEN)
  assert.deepEqual(decodeBatch(Buffer.from(GOLDEN, 'hex')), golden())
})

test('any batch is decoded exactly as written, at any offset', () => {
  const sample = fc.record({
    deviceId: fc.integer({ min: 1, max: 2 ** 32 - 1 }),
    atMs: fc.integer({ min: 0, max: 2 ** 43 - 1 }),
    numbers: fc.array(fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }), { minLength: 4, maxLength: 4 }),
    streams: fc.integer({ min: 1, max: 3 }),
  })
  fc.assert(
    fc.property(fc.array(sample, { maxLength: 20 }), fc.nat(9), (samples, offset) => {
      const batch = allocateBatch(samples.length)
      for (const [i, { deviceId, atMs, numbers, streams }] of samples.entries()) {
        batch.deviceId[i] = deviceId
        batch.atMs[i] = atMs
        batch.latE7[i] = numbers[0] ?? 0
        batch.longE7[i] = numbers[1] ?? 0
        batch.speedMilliKmh[i] = numbers[2] ?? 0
        batch.voltageMv[i] = numbers[3] ?? 0
        batch.streams[i] = streams
      }
      const bytes = encodeBatch(batch)
      assert.equal(sampleCountOf(bytes), samples.length)
      const elsewhere = new Uint8Array(offset + bytes.length)
      elsewhere.set(bytes, offset)
      assert.deepEqual(decodeBatch(elsewhere.subarray(offset)), batch)
    }),
  )
})

test('every flipped bit and every other length is detected', () => {
  const bytes = encodeBatch(golden())
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const flipped = bytes.slice()
    flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    assert.throws(() => decodeBatch(flipped), DamagedBlockError, `bit ${bit}`)
  }
  for (let length = 0; length < bytes.length; length++) {
    assert.throws(() => decodeBatch(bytes.subarray(0, length)), DamagedBlockError, `${length} bytes`)
  }
})

test('a batch of a newer program is distinguished from damage', () => {
  assert.throws(() => decodeBatch(Buffer.from(NEWER, 'hex')), NewerBlockError)
})
