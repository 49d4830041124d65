import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { MessageWindow } from './message-window.ts'

function windowWithSent(slots: number, count: number): MessageWindow {
  const window = new MessageWindow(slots)
  for (let i = 0; i < count; i++) window.make()
  window.markSent(count)
  return window
}

function toRepeat(window: MessageWindow): number[] {
  const slots: number[] = []
  window.forEachToRepeat((slot) => slots.push(slot))
  return slots
}

describe('MessageWindow', () => {
  test('frees an acknowledged slot only when all older ones are acknowledged', () => {
    const window = windowWithSent(4, 3)
    assert.equal(window.acknowledge(1), true)
    assert.equal(window.free, 1)
    assert.equal(window.acknowledge(0), true)
    assert.equal(window.free, 3)
  })

  test('does not count an unknown or repeated acknowledgement', () => {
    const window = windowWithSent(4, 2)
    assert.equal(window.acknowledge(3), false)
    assert.equal(window.acknowledge(1), true)
    assert.equal(window.acknowledge(1), false)
    assert.equal(window.unacknowledged, 2)
  })

  test('does not accept the acknowledgement of a message that was not sent', () => {
    const window = new MessageWindow(4)
    window.make()
    assert.equal(window.acknowledge(0), false)
    assert.equal(window.unsent, 1)
  })

  test('repeats messages that were sent and are not acknowledged, oldest first', () => {
    const window = windowWithSent(4, 4)
    window.acknowledge(0)
    window.acknowledge(2)
    window.make()
    assert.deepEqual(toRepeat(window), [1, 3])
  })

  test('acknowledges every message exactly once, whatever the order of the responses', () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 7 }), { maxLength: 300 }), (answers) => {
        const window = new MessageWindow(8)
        let made = 0
        let acknowledged = 0
        for (const answer of answers) {
          while (window.free > 0) {
            window.make()
            window.markSent(1)
            made++
          }
          if (window.acknowledge(answer)) acknowledged++
          assert.equal(toRepeat(window).length, made - acknowledged)
        }
      }),
    )
  })
})
