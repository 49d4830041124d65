import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { SITE_REFUSALS } from '#hub/sync/site-budgets.ts'
import { ANY_DATABASE } from '#hub/testing/databases.ts'
import { openHub, type TestHub } from '#hub/testing/open-hub.ts'
import { People, REFUSED_AS_NO_ADMIN } from '#hub/testing/people.ts'

let hub: TestHub
let people: People

before(async () => {
  hub = await openHub(ANY_DATABASE)
  people = new People(hub)
})
after(() => hub.stop())

test('metrics are for admins', async () => {
  const keys = await people.callers('north')
  for (const [who, status, code] of REFUSED_AS_NO_ADMIN) {
    const answer = await people.request('GET', '/metrics', { key: keys[who] })
    assert.deepEqual([answer.status, answer.body.code], [status, code], who)
  }
})

test('metrics count what was refused, by reason, from 0 on', async () => {
  const read = async () => (await people.request('GET', '/metrics')).body as string
  const before = await read()
  for (const reason of SITE_REFUSALS)
    assert.ok(before.includes(`cartbarn_hub_refused_total{reason="${reason}"} 0\n`), reason)
  await hub.client('north', `cbs_north_${'A'.repeat(43)}`).hello()
  assert.match(await read(), /^cartbarn_hub_refused_total\{reason="wrong_site_key"\} 1$/m)
  assert.match(before, /^cartbarn_budget_refused_total\{budget="failed_keys"\} \d+$/m)
  assert.match(before, /^cartbarn_hub_waiting_gateways 0$/m)
})
