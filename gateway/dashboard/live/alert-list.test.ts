import assert from 'node:assert/strict'
import { test } from 'node:test'
import { alertJson } from '#dashboard/testing/alert-json.ts'
import { AlertSound, acknowledgedAlerts, isShown, openAlerts } from './alert-list.ts'

const LATER = '2026-05-01T12:05:00.000Z'

test('the open alerts are those without an acknowledgement, newest first', () => {
  const [a, b, c] = [
    alertJson('outside', '1'),
    alertJson('outside', '2', { opened_at: LATER }),
    alertJson('clock', null, { acknowledged_at: LATER }),
  ]
  assert.deepEqual(openAlerts([a, b, c]), [b, a])
  assert.deepEqual(acknowledgedAlerts([a, b, c]), [c])
})

test('a filter selects by kind, by cart, or by both', () => {
  const alert = alertJson('outside', '17')
  assert.equal(isShown(alert, { kind: null, cart: '' }), true)
  assert.equal(isShown(alert, { kind: 'outside', cart: '17' }), true)
  assert.equal(isShown(alert, { kind: 'disk', cart: '' }), false)
  assert.equal(isShown(alert, { kind: null, cart: '1' }), false)
})

test('the alert sound plays once per alert, at most once a minute, and not for acknowledged alerts', () => {
  let rings = 0
  let canBeHeard = true
  const bell = new AlertSound(() => {
    if (canBeHeard) rings++
    return canBeHeard
  })
  const [a, b] = [alertJson('outside', '1'), alertJson('outside', '2')]
  bell.look([], 0)
  assert.equal(rings, 0)
  bell.look([a], 0)
  bell.look([a], 59_999)
  assert.equal(rings, 1)
  bell.look([a], 60_000)
  assert.equal(rings, 2)
  bell.look([a, b], 61_000)
  bell.look([b], 62_000)
  assert.equal(rings, 3)
  bell.look([], 200_000)
  canBeHeard = false
  bell.look([a], 300_000)
  assert.equal(rings, 3)
  // the first tap
  canBeHeard = true
  bell.look([a], 301_000)
  assert.equal(rings, 4)
})
