import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { BatchWriter, encodeSample, MAX_BATCH_SAMPLES, MAX_PAYLOAD_BYTES } from './payload.ts'
import type { Sample } from './sample.ts'

const style = { isEnvelope: false, hasClock: true, boot: 7, bootedAtMs: 1_000_000 }

test('a batch never holds more than 500 samples or 64 KiB, and loses none', () => {
  const sample = fc.record({
    atMs: fc.integer({ min: 1_000_000, max: 2_000_000 }),
    fields: fc.dictionary(fc.string({ maxLength: 20 }), fc.oneof(fc.double(), fc.string({ maxLength: 200 }))),
  })
  fc.assert(
    fc.property(
      fc.array(sample, { minLength: 1, maxLength: 1500, size: 'max' }),
      fc.boolean(),
      (samples, isEnvelope) => {
        const writer = new BatchWriter({ ...style, isEnvelope })
        const payloads: string[] = []
        for (const each of samples) {
          if (writer.add(each)) continue
          payloads.push(writer.finish(3_000_000))
          assert.ok(writer.add(each))
        }
        payloads.push(writer.finish(3_000_000))
        let count = 0
        for (const payload of payloads) {
          assert.ok(Buffer.byteLength(payload) <= MAX_PAYLOAD_BYTES)
          const parsed = JSON.parse(payload)
          const batch: unknown[] = isEnvelope ? parsed.s : parsed
          assert.ok(batch.length <= MAX_BATCH_SAMPLES)
          count += batch.length
        }
        assert.equal(count, samples.length)
      },
    ),
    { numRuns: 20 },
  )
})

test('a batch of a device with a clock is dated by ts, without one by its uptime', () => {
  const sample: Sample = { atMs: 1_005_000, fields: { speed: 3 } }
  const array = new BatchWriter(style)
  array.add(sample)
  assert.equal(array.finish(1_009_000), '[{"ts":1005000,"speed":3}]')
  const envelope = new BatchWriter({ ...style, isEnvelope: true, hasClock: false })
  envelope.add(sample)
  assert.equal(envelope.finish(1_009_000), '{"boot":7,"up":9000,"s":[{"up":5000,"speed":3}]}')
})

test('a single sample without a clock has no time', () => {
  assert.equal(encodeSample({ atMs: 5, fields: { speed: 3 } }, true), '{"ts":5,"speed":3}')
  assert.equal(encodeSample({ atMs: 5, fields: { speed: 3 } }, false), '{"speed":3}')
})
