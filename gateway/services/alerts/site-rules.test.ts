import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SyncState } from '#shared/sync-status.ts'
import { HOUR_MS, MINUTE_MS } from '#shared/time.ts'
import { isWell, SITE_RULES, type SiteFacts } from './site-rules.ts'

const RULE = SITE_RULES.find(({ kind }) => kind === 'sync') ?? assert.fail()

function resultOf(state: SyncState, unwellMs: number) {
  const facts: Pick<SiteFacts, 'sync'> = { sync: { state, lastContactMs: null, unwellMs } }
  // the rule reads nothing else
  return RULE.evaluate(facts as SiteFacts)
}

test('no alert while the gateway sends its backlog, also in an epoch after a restore', () => {
  for (const state of ['in_sync', 'quarantined', 'comparing', 'draining', 'forked'] as const) {
    assert.ok(isWell(state), state)
    assert.equal(resultOf(state, HOUR_MS), 'over', state)
  }
})

test('the sync alert opens after an hour without contact, and after five minutes of other trouble', () => {
  for (const state of ['connecting', 'waiting'] as const)
    assert.deepEqual([resultOf(state, HOUR_MS - 1), resultOf(state, HOUR_MS)], ['unsure', 'holds'], state)
  for (const state of ['stuck', 'other_machine', 'hub_full', 'refused'] as const)
    assert.deepEqual([resultOf(state, 5 * MINUTE_MS - 1), resultOf(state, 5 * MINUTE_MS)], ['unsure', 'holds'], state)
})
