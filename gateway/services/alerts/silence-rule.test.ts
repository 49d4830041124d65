import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { toIso } from '#shared/time.ts'
import { driving, NOON, parked } from '#testing/course/cart-drill.ts'

describe('silent_on_course', () => {
  test('opens when nobody hears of it any more, and closes when somebody does', () => {
    const drill = driving()
    drill.isOnline = false
    drill.pass(179)
    assert.deepEqual(drill.heard, [])
    drill.pass(1)
    assert.deepEqual(drill.changed[0]?.details, { last_heard_at: toIso(NOON) })
    drill.isOnline = true
    drill.pass(1)
    // connected alone says nothing
    assert.deepEqual(drill.heard, ['opened silent_on_course'])
    drill.say({})
    drill.pass(1)
    assert.deepEqual(drill.heard, ['opened silent_on_course', 'closed silent_on_course'])
  })

  test('is not about the barn, nor about one that went to sleep where no barn is known', () => {
    const drill = parked()
    drill.isOnline = false
    drill.pass(600)
    assert.deepEqual(drill.heard, [])
    const other = driving()
    other.ground = { hasParking: false, hasBoundary: false }
    other.isOnline = false
    other.saidSleep = true
    other.pass(600)
    assert.deepEqual(other.heard, [])
  })

  test('a restart neither closes nor doubles it', () => {
    const drill = driving()
    drill.isOnline = false
    drill.pass(200)
    drill.restart()
    drill.pass(600)
    assert.deepEqual(drill.heard, ['opened silent_on_course'])
  })

  test('a connected cart has a quarter of an hour', () => {
    const drill = driving()
    drill.pass(899)
    assert.deepEqual(drill.heard, [])
    drill.pass(1)
    assert.deepEqual(drill.heard, ['opened silent_on_course'])
  })
})
