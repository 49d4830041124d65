import assert from 'node:assert/strict'
import { test } from 'node:test'
import { auditSentence } from './audit-words.ts'

const ID = '1755e905-0000-4000-8000-000000000000'
const NAMES: Readonly<Record<string, string>> = { [ID]: 'Anna', 'tb-7': 'Cart 7' }

test('an audit entry is described with names, not with ids', () => {
  const sentence = (action: string, target: string, after: Record<string, unknown> | null = null) =>
    auditSentence({ action, target, before: null, after }, (id) => NAMES[id] ?? id)
  const command = { hardware_id: 'tb-7', command: 'lock', ttl_s: 60 }
  assert.equal(sentence('command.created', 'c-1', command), 'Sent to a cart: lock, Cart 7')
  assert.equal(sentence('person.created', ID, { name: 'browser' }), 'Signed in with a PIN: browser')
  assert.equal(sentence('recall.created', 'r-1', { text: 'All in' }), 'Recalled all carts: All in')
  assert.equal(sentence('key.rotated', ID), 'Key: replaced Anna')
  assert.equal(sentence('device.updated', 'tb-7'), 'Device: changed Cart 7')
})
