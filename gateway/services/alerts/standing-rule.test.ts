import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { MINUTE_MS, toIso } from '#shared/time.ts'
import { type CartDrill, driving, NOON, OUT_OF_SERVICE } from '#testing/course/cart-drill.ts'

const OPENED = 'opened standing'
const CLOSED = 'closed standing'
const START = NOON + 1000

/** Cart that stops on hole 7 now, unlocked, with a time-out of twenty minutes. */
function stopped(): CartDrill {
  const drill = driving(START - 1000)
  drill.pass(1)
  drill.say({ northM: 100 })
  drill.settings = { ...drill.settings, roundTimeoutMin: 20 }
  drill.lockIt(false)
  drill.stays.push({ zoneId: 'seven', name: 'Seven', type: 'hole', hole: 7, sinceMs: drill.nowMs })
  return drill
}

/** Passes minutes; the cart reports every half minute that it stands where it stood. */
function stand(drill: CartDrill, minutes: number): void {
  drill.pass(minutes * 60, (second) => {
    if (second % 30 === 0) drill.say({ northM: 100 })
  })
}

describe('standing', () => {
  test('opens after the time-out, and closes when the cart moves', () => {
    const drill = stopped()
    stand(drill, 19)
    assert.deepEqual(drill.changes, [])
    stand(drill, 1)
    assert.deepEqual(drill.changes, [OPENED])
    const { since, minutes, hole, locks_at } = drill.changed[0]?.details ?? {}
    assert.deepEqual([since, minutes, hole, locks_at], [toIso(START), 20, 7, null])
    stand(drill, 240)
    assert.deepEqual(drill.changes, [OPENED])
    drill.pass(1)
    drill.say({ northM: 131 })
    drill.pass(1)
    assert.deepEqual(drill.changes, [OPENED, CLOSED])
    drill.pass(19 * 60, (second) => {
      if (second % 30 === 0) drill.say({ northM: 131 })
    })
    assert.deepEqual(drill.changes, [OPENED, CLOSED])
  })

  test('is off by default, in the barn, for a locked cart, and for a cart whose lock is unknown', () => {
    for (const change of [
      (drill: CartDrill) => (drill.settings = { ...drill.settings, roundTimeoutMin: 0 }),
      (drill: CartDrill) => drill.enter('parking'),
      (drill: CartDrill) => drill.lockIt(),
      (drill: CartDrill) => (drill.lock = null),
      (drill: CartDrill) => (drill.notes = { ...drill.notes, kind: 'ranger' }),
      (drill: CartDrill) => (drill.notes = OUT_OF_SERVICE),
      (drill: CartDrill) => (drill.course = { ...drill.course, hasRecall: () => true }),
    ]) {
      const drill = stopped()
      change(drill)
      stand(drill, 24 * 60)
      assert.ok(!drill.changes.includes(OPENED), String(change))
    }
  })

  test('closes when the cart is locked, taken out of service or silent', () => {
    for (const change of [
      (drill: CartDrill) => drill.lockIt(),
      (drill: CartDrill) => (drill.notes = OUT_OF_SERVICE),
      (drill: CartDrill) => (drill.isOnline = false),
    ]) {
      const drill = stopped()
      stand(drill, 20)
      change(drill)
      drill.pass(1000)
      assert.ok(drill.changes.includes(CLOSED), String(change))
    }
  })

  test('time in which its party waits does not count, and counts on after it', () => {
    const drill = stopped()
    const isWaitingUntilMs = START + 30 * MINUTE_MS
    drill.course = {
      ...drill.course,
      waitedMs: (_, fromMs) => Math.min(drill.nowMs, isWaitingUntilMs) - (fromMs + 10 * MINUTE_MS),
    }
    stand(drill, 39)
    assert.deepEqual(drill.changes, [])
    stand(drill, 1)
    assert.deepEqual(drill.changes, [OPENED])
  })

  test('survives a restart, and does not open again for the same stand once a person closed it', () => {
    const drill = stopped()
    stand(drill, 20)
    drill.restart()
    stand(drill, 5)
    assert.deepEqual(drill.changes, [OPENED])
    drill.close('standing')
    stand(drill, 60)
    drill.restart()
    stand(drill, 60)
    assert.deepEqual(drill.changes, [OPENED])
    drill.say({ northM: 131 })
    drill.pass(21 * 60, (second) => {
      if (second % 30 === 0) drill.say({ northM: 131 })
    })
    assert.deepEqual(drill.changes, [OPENED, OPENED])
  })
})
