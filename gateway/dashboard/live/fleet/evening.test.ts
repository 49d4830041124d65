import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { cartJson, openJson, parkedJson } from '#dashboard/testing/cart-json.ts'
import type { AlertJson } from '#shared/wire/alerts.ts'
import type { ServerMessage } from '#shared/wire/realtime.ts'
import { BulkLock, groupEvening } from './evening.ts'

const AT = '2026-05-01T20:00:00.000Z'

function statusMessage(commandId: string, status: 'published' | 'completed' | 'failed' | 'timeout', error?: string) {
  const message: ServerMessage = {
    type: 'command_status',
    commandId,
    hardwareId: 'd',
    command: 'lock',
    status,
    timestamp: AT,
    ...(error === undefined ? {} : { error }),
  }
  return message
}

describe('the evening', () => {
  test('distinguishes open, out and locked; a cart out of service counts as neither', () => {
    const service = { since: AT, why: 'Brakes', reason: null, by: { user_id: 'u', name: 'Jane' } }
    const alert: AlertJson = {
      alert_id: 'a',
      kind: 'not_charging',
      cart: '10',
      hardware_id: 'tb-10',
      opened_at: AT,
      closed_at: null,
      acknowledged_at: null,
      acknowledged_by: null,
      note: null,
      details: {},
    }
    const carts = [
      parkedJson('10'),
      parkedJson('2'),
      openJson('3'),
      cartJson('4'),
      cartJson('5', { state: 'silent' }),
      openJson('6', { out_of_service: service }),
      cartJson('7', { out_of_service: service }),
      parkedJson('8', { lock: null }),
    ]
    const { open, out, locked, notCharging } = groupEvening(carts, [alert])
    const numbers = [open, out, locked, notCharging].map((group) => group.map(({ cart }) => cart))
    assert.deepEqual(numbers, [['3'], ['4', '5'], ['2', '6', '8', '10'], ['10']])
  })
})

function started(results: Parameters<BulkLock['start']>[0]): BulkLock {
  const lock = new BulkLock()
  lock.start(results)
  return lock
}

describe('one press of the lock button', () => {
  const results = [
    { cart: '1', command_id: 'c1' },
    { cart: '2', command_id: 'c2' },
    { cart: '3', command_id: 'c3' },
    { cart: '4', code: 'on_course' },
  ]

  test('tracks each cart to its result', () => {
    const lock = started(results)
    assert.equal(lock.take(statusMessage('c1', 'published')), true)
    assert.equal(lock.take(statusMessage('c1', 'completed')), true)
    assert.equal(lock.take(statusMessage('c2', 'failed', 'jammed')), true)
    lock.take(statusMessage('c3', 'timeout'))
    assert.deepEqual(
      [...lock.outcomes],
      [
        ['1', 'done'],
        ['2', 'jammed'],
        ['3', 'timeout'],
        ['4', 'on_course'],
      ],
    )
    assert.equal(lock.done, 1)
  })

  test('accepts results that arrive before the response to the request', () => {
    const lock = new BulkLock()
    lock.take(statusMessage('c1', 'published'))
    for (const id of ['c1', 'other']) lock.take(statusMessage(id, 'completed'))
    lock.take(statusMessage('c2', 'failed', 'jammed'))
    lock.start(results)
    assert.deepEqual([...lock.outcomes.values()], ['done', 'jammed', 'sent', 'on_course'])
  })

  test('ignores commands of others', () => {
    const lock = started(results)
    assert.equal(lock.take(statusMessage('other', 'completed')), false)
    assert.equal(lock.take({ type: 'pong', time: AT }), false)
    assert.equal(lock.done, 0)
  })

  test('reads updates missed while disconnected from the cart', () => {
    const lock = started(results)
    lock.update(new Map([parkedJson('1'), openJson('2')].map((cart) => [cart.cart, cart])))
    assert.deepEqual([lock.outcomes.get('1'), lock.outcomes.get('2')], ['done', 'sent'])
  })
})
