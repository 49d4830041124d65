import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type CourseCheck, judgeAlerts, type StoredAlert } from './check.ts'
import { Uptime } from './uptime.ts'

const EMPTY: CourseCheck = {
  excursions: 0,
  stays: 0,
  missing: 0,
  twice: 0,
  late: 0,
  longestMs: 0,
  notClosed: 0,
  notDelivered: 0,
  deliveredTwice: 0,
  outOfOrder: 0,
  notLocked: 0,
  lockedTwice: 0,
}
const alert = (alertId: string, openedAtMs: number, isClosed = true): StoredAlert => ({
  alertId,
  openedAtMs,
  isClosed,
})
const deliveriesOf = (alertId: string, ...events: string[]) =>
  events.map((event, i) => ({
    deliveryId: `${alertId}${i}`,
    event,
    alertId,
    kind: 'outside',
    cart: 'cart 1',
  }))

function judge(knownAtMs: number[], stored: StoredAlert[], deliveries = deliveriesOf('a', 'opened', 'closed')) {
  const check = { ...EMPTY }
  const uptime = new Uptime()
  uptime.begin(0)
  const excursions = knownAtMs.map((atMs) => ({ knownAtMs: atMs }))
  judgeAlerts(check, { excursions }, { stored, deliveries, uptime })
  const { excursions: _, longestMs: __, ...faults } = check
  return Object.fromEntries(Object.entries(faults).filter(([, count]) => count > 0))
}

test('an excursion with one alert, opened soon, closed and sent once, is right', () => {
  assert.deepEqual(judge([1000], [alert('a', 1500)]), {})
})

test('every kind of error is detected', () => {
  assert.deepEqual(judge([1000], []), { missing: 1 })
  assert.deepEqual(judge([1000], [alert('a', 1500, false)]), { notClosed: 1 })
  assert.deepEqual(judge([1000], [alert('a', 60_000)]), { late: 1 })
  const again = [...deliveriesOf('a', 'opened', 'closed'), ...deliveriesOf('b', 'opened', 'closed')]
  assert.deepEqual(judge([1000], [alert('a', 1500), alert('b', 1600)], again), { twice: 1 })
  assert.deepEqual(judge([1000], [alert('a', 1500)], deliveriesOf('a', 'opened')), { notDelivered: 1 })
  assert.deepEqual(judge([1000], [alert('a', 1500)], deliveriesOf('a', 'closed', 'opened')), { outOfOrder: 1 })
  const twice = deliveriesOf('a', 'opened', 'opened', 'closed')
  assert.deepEqual(judge([1000], [alert('a', 1500)], twice), { deliveredTwice: 1 })
})
