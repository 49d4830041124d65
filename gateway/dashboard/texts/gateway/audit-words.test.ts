import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AUDIT_ACTIONS } from '#shared/audit-actions.ts'
import { auditAct, auditSentence } from './audit-words.ts'

const ID = '1755e905-0000-4000-8000-000000000000'
const NAMES: Readonly<Record<string, string>> = { [ID]: 'Anna', 'tb-7': 'cart 7', shop: 'Pro shop' }

function sentence(action: string, target: string, after: Record<string, unknown> | null = null, of: object = {}) {
  const entry = {
    action,
    target,
    before: null,
    after,
    user_id: ID,
    person: null,
    session_id: 's',
    address: null,
    ...of,
  }
  return auditSentence(entry, { of: (id) => NAMES[id] ?? id, tablet: (id) => (id === 's' ? 'browser' : null) })
}

test('an audit entry is a sentence with names, not with ids', () => {
  const lock = { hardware_id: 'tb-7', command: 'lock', ttl_s: 60 }
  const ben = { user_id: 'shop', person: { name: 'Ben' } }
  assert.equal(sentence('command.created', 'c-1', lock, ben), 'Ben locked cart 7 on “browser”')
  assert.equal(
    sentence('command.created', 'c-1', { ...lock, forced: true }),
    'Anna locked cart 7 (anyway) on “browser”',
  )
  assert.equal(
    sentence('command.created', 'c-1', { hardware_id: 'tb-7', command: 'horn' }, { session_id: null }),
    'Anna sent “horn” to cart 7',
  )
  assert.equal(sentence('person.created', ID, { name: 'Anna' }, { user_id: 'shop' }), 'Anna gave the PIN on “browser”')
  assert.equal(sentence('recall.created', 'r-1', { text: 'All in' }), 'Anna called all carts in: “All in” on “browser”')
  assert.equal(sentence('key.rotated', ID, null, { session_id: 'ended' }), 'Anna replaced the key of Anna')
  assert.equal(sentence('device.updated', 'tb-7'), 'Anna changed device tb-7 on “browser”')
  const system = { user_id: null, session_id: null }
  assert.equal(sentence('backup.started', 'backup', null, system), 'The gateway started a backup')
  assert.equal(
    sentence('zones.switched', 'site', null, { ...system, address: 'head office' }),
    'Head office switched zones on or off',
  )
})

test('each action has words', () => {
  for (const action of AUDIT_ACTIONS) assert.ok(!auditAct(action).includes(action), action)
})
