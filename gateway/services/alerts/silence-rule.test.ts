import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { DAY_MS, toIso } from '#shared/time.ts'
import { driving, NOON, parked } from '#testing/course/cart-drill.ts'

const MONTHS_MS = 82 * DAY_MS

describe('silent_on_course', () => {
  test('opens when a cart sends no more messages and closes with its next message', () => {
    const drill = driving()
    drill.isOnline = false
    drill.pass(179)
    assert.deepEqual(drill.changes, [])
    drill.pass(1)
    assert.deepEqual(drill.changed[0]?.details, { last_heard_at: toIso(NOON) })
    drill.isOnline = true
    drill.pass(1)
    // a connection alone proves nothing
    assert.deepEqual(drill.changes, ['opened silent_on_course'])
    drill.say({})
    drill.pass(1)
    assert.deepEqual(drill.changes, ['opened silent_on_course', 'closed silent_on_course'])
  })

  test('does not open in the barn, or for a cart that went to sleep where no barn is known', () => {
    const drill = parked()
    drill.isOnline = false
    drill.pass(600)
    assert.deepEqual(drill.changes, [])
    const other = driving()
    other.zoneContext = { hasParking: false, hasBoundary: false }
    other.isOnline = false
    other.announcedSleep = true
    other.pass(600)
    assert.deepEqual(other.changes, [])
  })

  test('survives a restart and is not duplicated by it', () => {
    const drill = driving()
    drill.isOnline = false
    drill.pass(200)
    drill.restart()
    drill.pass(600)
    assert.deepEqual(drill.changes, ['opened silent_on_course'])
  })

  test('that a user closed does not open again after a restart, until the cart was heard', () => {
    const drill = driving()
    drill.isOnline = false
    drill.pass(200)
    drill.close('silent_on_course')
    drill.restart()
    drill.pass(600)
    assert.deepEqual(drill.changes, ['opened silent_on_course'])
    drill.say({})
    drill.pass(600)
    assert.deepEqual(drill.changes, ['opened silent_on_course', 'opened silent_on_course'])
  })

  test('that a clock ahead opened closes with the next message after the clock is right', () => {
    const drill = driving()
    drill.nowMs += MONTHS_MS
    drill.say({})
    drill.isOnline = false
    drill.pass(200)
    drill.nowMs -= MONTHS_MS
    drill.pass(60)
    assert.deepEqual(drill.changes, ['opened silent_on_course'])
    drill.isOnline = true
    drill.say({})
    drill.pass(1)
    assert.deepEqual(drill.changes, ['opened silent_on_course', 'closed silent_on_course'])
  })

  test('opens for a connected cart only after a quarter of an hour without messages', () => {
    const drill = driving()
    drill.pass(899)
    assert.deepEqual(drill.changes, [])
    drill.pass(1)
    assert.deepEqual(drill.changes, ['opened silent_on_course'])
  })
})
