import assert from 'node:assert/strict'
import { test } from 'node:test'
import { alertJson } from '#dashboard/testing/alert-json.ts'
import { AlertSound, acknowledgedAlerts, isShown, openAlerts } from './alert-list.ts'

const LATER = '2026-05-01T12:05:00.000Z'

test('the open alerts are those without an acknowledgement, urgent and new ones first', () => {
  const [a, b, c] = [
    alertJson('outside', '1'),
    alertJson('outside', '2', { opened_at: LATER }),
    alertJson('clock', null, { acknowledged_at: LATER }),
  ]
  assert.deepEqual(openAlerts([a, b, c]), [b, a])
  const low = alertJson('low_battery', '3', { opened_at: LATER })
  assert.deepEqual(openAlerts([low, a]), [a, low])
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
  let canSound = true
  const bell = new AlertSound(() => {
    if (canSound) rings++
    return canSound
  })
  const [a, b] = [alertJson('outside', '1'), alertJson('outside', '2')]
  bell.process([], 0)
  assert.equal(rings, 0)
  bell.process([a], 0)
  bell.process([a], 59_999)
  assert.equal(rings, 1)
  bell.process([a], 60_000)
  assert.equal(rings, 2)
  bell.process([a, b], 61_000)
  bell.process([b], 62_000)
  assert.equal(rings, 3)
  bell.process([], 200_000)
  canSound = false
  bell.process([a], 300_000)
  assert.equal(rings, 3)
  // the first tap
  canSound = true
  bell.process([a], 301_000)
  assert.equal(rings, 4)
})

test('a call sounds when it comes, is repeated or escalates; an order makes no sound', () => {
  let rings = 0
  const bell = new AlertSound(() => ++rings > 0)
  const call = (details: object) => alertJson('call', '1', { details: { call: 'help', ...details } })
  bell.process([alertJson('call', '2', { details: { call: 'order', count: 1 } })], 0)
  assert.equal(rings, 0)
  bell.process([call({ count: 1 })], 1_000)
  bell.process([call({ count: 2 })], 2_000)
  bell.process([call({ count: 2, escalated_at: 'then' })], 3_000)
  bell.process([call({ count: 2, escalated_at: 'then' })], 4_000)
  assert.equal(rings, 3)
})
