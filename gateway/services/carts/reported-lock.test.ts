import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ReportedLockState } from './reported-lock.ts'

const state = (lock_status: number | boolean | string | undefined, atMs: number) => ({
  values: lock_status === undefined ? {} : { lock_status },
  atMs: lock_status === undefined ? {} : { lock_status: atMs },
})
const unlock = { isLocked: false, atMs: 1000, source: 'rfid', by: '04A1' } as const

test('the lock state is unknown until it is reported', () => {
  assert.equal(new ReportedLockState().now(state(undefined, 0)), null)
  assert.equal(new ReportedLockState().now(state('open', 1)), null)
})

test('telemetry alone gives the time of a lock state and not its cause', () => {
  const word = new ReportedLockState()
  assert.deepEqual(word.now(state(1, 500)), { isLocked: true, atMs: 500, source: null, by: null })
  assert.equal(word.now(state(true, 900))?.atMs, 500)
})

test('an event gives the cause, and telemetry that repeats the state changes nothing', () => {
  const word = new ReportedLockState()
  word.now(state(1, 500))
  word.take(unlock)
  assert.deepEqual(word.now(state(0, 1000)), unlock)
  assert.equal(word.now(state(0, 5000)), word.now(state(0, 1000)))
})

test('an event that arrives after the telemetry it explains becomes its cause', () => {
  const word = new ReportedLockState()
  word.now(state(1, 500))
  assert.equal(word.now(state(0, 1400))?.source, null)
  word.take(unlock)
  assert.deepEqual(word.now(state(0, 1400)), unlock)
})

test('an event from before the opposite state was reported explains nothing', () => {
  const word = new ReportedLockState()
  word.take(unlock)
  word.now(state(0, 1000))
  word.now(state(1, 2000))
  assert.deepEqual(word.now(state(0, 3000)), { isLocked: false, atMs: 3000, source: null, by: null })
})

test('an older event gives way to the newest, in any order of arrival', () => {
  const word = new ReportedLockState()
  word.take({ ...unlock, atMs: 2000, by: 'new' })
  word.take(unlock)
  assert.equal(word.now(state(0, 2000))?.by, 'new')
})
