import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { advance, type CommandEvent, type CommandProgress, isFinal, NEW_COMMAND } from './commands.ts'

function after(...events: CommandEvent[]): CommandProgress {
  return events.reduce<CommandProgress>((progress, event) => advance(progress, event) ?? progress, NEW_COMMAND)
}

const published: CommandEvent = { kind: 'published', atMs: 1 }
const acked = (status: 'acknowledged' | 'completed' | 'failed', atMs = 2, error: string | null = null) =>
  ({ kind: 'acked', status, error, atMs }) as const
const expired: CommandEvent = { kind: 'expired' }

test('a command is normally published, acknowledged and completed', () => {
  assert.deepEqual(after(published, acked('acknowledged', 2), acked('completed', 3)), {
    status: 'completed',
    publishedAtMs: 1,
    acknowledgedAtMs: 2,
    completedAtMs: 3,
    error: null,
    lateAck: null,
  })
})

test('a device may complete a command directly, even before its publication is recorded', () => {
  const done = { status: 'completed', publishedAtMs: 2, acknowledgedAtMs: 2, completedAtMs: 2 }
  assert.deepEqual(after(acked('completed')), { ...NEW_COMMAND, ...done })
  assert.deepEqual(after(acked('completed'), published), { ...NEW_COMMAND, ...done, publishedAtMs: 1 })
})

test('a rejected command fails with the text of the device, or else as refused', () => {
  assert.equal(after(published, acked('failed', 2, 'lock jammed')).error, 'lock jammed')
  const { status, error, completedAtMs } = after(published, acked('failed'))
  assert.deepEqual([status, error, completedAtMs], ['failed', 'refused', null])
})

for (const status of ['pending', 'published', 'acknowledged'] as const) {
  test(`${status} ends by expiry, by a newer command and with its device`, () => {
    const before = after(
      ...(status === 'pending' ? [] : [published]),
      ...(status === 'acknowledged' ? [acked('acknowledged')] : []),
    )
    assert.equal(before.status, status)
    assert.equal(advance(before, expired)?.status, 'timeout')
    for (const error of ['superseded', 'device_removed'] as const) {
      const { status: ended, error: why } = advance(before, { kind: 'failed', error }) ?? before
      assert.deepEqual([ended, why], ['failed', error])
    }
  })
}

test('a late acknowledgement is kept separately, replaced only by one with more information', () => {
  const over = after(published, expired, acked('acknowledged', 5))
  assert.deepEqual(over.lateAck, { status: 'acknowledged', error: null, atMs: 5 })
  const done = advance(over, acked('completed', 6)) ?? over
  assert.deepEqual([done.status, done.lateAck?.status, done.completedAtMs], ['timeout', 'completed', null])
  assert.equal(advance(done, acked('acknowledged', 7)), null)
  assert.equal(advance(done, acked('completed', 7)), null)
})

test('a repeated acknowledgement is not late', () => {
  const done = after(published, acked('acknowledged'), acked('completed'))
  for (const status of ['acknowledged', 'completed'] as const) assert.equal(advance(done, acked(status, 9)), null)
  assert.equal(advance(done, acked('failed', 9))?.lateAck?.status, 'failed')
  assert.equal(advance(after(published, acked('acknowledged')), acked('acknowledged', 9)), null)
  assert.equal(advance(after(published, acked('acknowledged'), expired), acked('acknowledged', 9)), null)
})

test('a final state never changes, and a repeated event causes no change', () => {
  const event = fc.oneof(
    fc.constant(published),
    fc.constant(expired),
    fc.constant<CommandEvent>({ kind: 'failed', error: 'superseded' }),
    fc.constantFrom('acknowledged', 'completed', 'failed').map((status) => acked(status)),
  )
  fc.assert(
    fc.property(fc.array(event), (events) => {
      let progress: CommandProgress = NEW_COMMAND
      for (const one of events) {
        const next = advance(progress, one)
        if (next === null) continue
        if (isFinal(progress.status)) {
          const others = { lateAck: null, publishedAtMs: null }
          assert.deepEqual({ ...next, ...others }, { ...progress, ...others })
        }
        assert.notDeepEqual(next, progress)
        assert.equal(advance(next, one), null, 'the same again changes nothing')
        progress = next
      }
    }),
  )
})
