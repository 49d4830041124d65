import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type DeletionScope, ExpectedHistory } from './expected-history.ts'

/** Time with a GPS record only. */
const T = 250
const ALL: DeletionScope = { device: 0, streams: ['gps', 'battery'], beforeMs: Number.POSITIVE_INFINITY }

function faultsOf(expected: ExpectedHistory, listed: number[]) {
  const { missing, returned, unknown } = expected.judge(0, 'gps', listed)
  return { missing, returned, unknown }
}

const FINE = { missing: 0, returned: 0, unknown: 0 }

test('acknowledged records must be there, records that were only sent may be', () => {
  const expected = new ExpectedHistory(1)
  const send = expected.send(0, [T])
  assert.deepEqual(faultsOf(expected, []), FINE)
  assert.deepEqual(faultsOf(expected, [T]), FINE)
  expected.acknowledge(send)
  assert.deepEqual(faultsOf(expected, [T]), FINE)
  assert.deepEqual(faultsOf(expected, []), { ...FINE, missing: 1 })
})

test('an unsent record is a fault', () => {
  const expected = new ExpectedHistory(1)
  assert.deepEqual(faultsOf(expected, [T]), { ...FINE, unknown: 1 })
})

test('records from before a confirmed deletion must be gone, until they are sent again', () => {
  const expected = new ExpectedHistory(1)
  expected.acknowledge(expected.send(0, [T]))
  expected.confirmDeletion(expected.startDeletion(ALL), ALL.beforeMs)
  assert.deepEqual(faultsOf(expected, []), FINE)
  assert.deepEqual(faultsOf(expected, [T]), { ...FINE, returned: 1 })
  const again = expected.send(0, [T])
  assert.deepEqual(faultsOf(expected, [T]), FINE)
  expected.acknowledge(again)
  assert.deepEqual(faultsOf(expected, []), { ...FINE, missing: 1 })
})

test('after a deletion without a response its records, and those sent meanwhile, are optional', () => {
  const expected = new ExpectedHistory(1)
  expected.acknowledge(expected.send(0, [T]))
  const deletion = expected.startDeletion(ALL)
  expected.acknowledge(expected.send(0, [T + 1]))
  expected.breakOffDeletion(deletion)
  for (const listed of [[], [T], [T + 1], [T, T + 1]]) assert.deepEqual(faultsOf(expected, listed), FINE)
})

test('a rejected deletion has no effect', () => {
  const expected = new ExpectedHistory(1)
  expected.acknowledge(expected.send(0, [T]))
  expected.withdrawDeletion(expected.startDeletion(ALL))
  assert.deepEqual(faultsOf(expected, []), { ...FINE, missing: 1 })
})

test('a deletion of old records leaves the others, and those of other devices', () => {
  const expected = new ExpectedHistory(2)
  expected.acknowledge(expected.send(0, [T, T + 250]))
  expected.acknowledge(expected.send(1, [T]))
  expected.confirmDeletion(expected.startDeletion({ ...ALL, beforeMs: T + 1 }), T + 1)
  assert.deepEqual(faultsOf(expected, [T]), { ...FINE, missing: 1, returned: 1 })
  assert.equal(expected.judge(1, 'gps', []).missing, 1)
})

test('another storage applies only some deletions, and may lack excused records', () => {
  const expected = new ExpectedHistory(1)
  expected.acknowledge(expected.send(0, [T, 2 * T]))
  const purge = expected.startDeletion({ device: null, streams: ['gps'], beforeMs: 2 * T })
  expected.confirmDeletion(purge, 2 * T)
  const place = {
    isDeletedBy: ({ device }: DeletionScope) => device !== null,
    isExcused: (_device: number, _stream: string, atMs: number) => atMs === T,
  }
  const judge = (listed: number[]) => {
    const { missing, excused, returned, unknown } = expected.judge(0, 'gps', listed, place)
    return { missing, excused, returned, unknown }
  }
  assert.deepEqual(judge([T, 2 * T]), { missing: 0, excused: 0, returned: 0, unknown: 0 })
  assert.deepEqual(judge([2 * T]), { missing: 0, excused: 1, returned: 0, unknown: 0 })
  assert.deepEqual(judge([]), { missing: 1, excused: 1, returned: 0, unknown: 0 })
  assert.ok(expected.wasPurged('gps', T))
  assert.ok(!expected.wasPurged('gps', 2 * T) && !expected.wasPurged('battery', T))
  expected.confirmDeletion(expected.startDeletion(ALL), Number.POSITIVE_INFINITY)
  assert.deepEqual(judge([2 * T]), { missing: 0, excused: 0, returned: 1, unknown: 0 })
})
