import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { SITE_REFUSALS } from '#hub/sync/site-budgets.ts'
import { ANY_DATABASE } from '#hub/testing/databases.ts'
import { ADMIN_KEY, REFUSED_AS_NO_ADMIN } from '#hub/testing/people.ts'
import { hubScene } from '#hub/testing/scene.ts'
import { checkScrapeConfig, hasPrometheus } from '#shared/testing/prometheus.ts'

const { hub, people } = hubScene()

test('metrics are for admins', async () => {
  await people.callers('north')
  for (const refusal of REFUSED_AS_NO_ADMIN) await people.checkRefused(refusal, ['GET', '/metrics'])
})

test('metrics count rejected requests by reason, from 0 on', async () => {
  const read = async () => (await people.get('/metrics')) as string
  const before = await read()
  for (const reason of SITE_REFUSALS)
    assert.ok(before.includes(`cartbarn_hub_refused_total{reason="${reason}"} 0\n`), reason)
  await hub.client('north', `cbs_north_${'A'.repeat(43)}`).hello()
  assert.match(await read(), /^cartbarn_hub_refused_total\{reason="wrong_site_key"\} 1$/m)
  assert.match(before, /^cartbarn_budget_refused_total\{budget="failed_keys"\} \d+$/m)
  assert.match(before, /^cartbarn_hub_waiting_gateways 0$/m)
})

test('metrics include site states, connections and push times, and every metric the alert rules use', async () => {
  const site = await hub.site()
  const quiet = await hub.hub.sites.add('Quiet')
  await site.pushPoison('?')
  const text = (await people.get('/metrics')) as string
  assert.ok(text.includes(`cartbarn_hub_site_state{site="${site.siteId}",state="quarantined"} 1\n`))
  assert.ok(text.includes(`cartbarn_hub_site_state{site="${quiet.siteId}",state="never_seen"} 1\n`))
  assert.match(text, /^cartbarn_hub_push_seconds_count 1$/m)
  assert.match(text, /^cartbarn_hub_push_seconds_bucket\{le="\+Inf"\} 1$/m)
  if (ANY_DATABASE.name === 'PostgreSQL') assert.match(text, /^cartbarn_hub_database_waiting 0$/m)
  const rules = readFileSync(new URL('../../../docs/monitoring/hub-alerts.yml', import.meta.url), 'utf8')
  const named = new Set(rules.match(/\bcartbarn_hub_[a-z0-9_]+/g))
  assert.ok(named.size >= 4)
  for (const name of named) assert.ok(text.includes(`\n${name}`) || text.startsWith(name), name)
})

test('promtool accepts the rules for a hub, and each fires when it should and not before', {
  skip: spawnSync('promtool', ['--version']).error !== undefined,
}, () => {
  const cwd = fileURLToPath(new URL('../../../docs/monitoring', import.meta.url))
  for (const argv of [
    ['check', 'rules', 'hub-alerts.yml'],
    ['test', 'rules', 'hub-alerts.test.yml'],
  ]) {
    const { status, stdout, stderr } = spawnSync('promtool', argv, { cwd, encoding: 'utf8' })
    assert.equal(status, 0, stdout + stderr)
  }
})

test('Prometheus scrapes a hub as configured in the alert rules file, with a bearer token', async () => {
  const rules = fileURLToPath(new URL('../../../docs/monitoring/hub-alerts.yml', import.meta.url))
  if (hasPrometheus) assert.equal(checkScrapeConfig(rules), '')
  const headers = { authorization: `Bearer ${ADMIN_KEY}` }
  assert.equal((await people.request('GET', '/metrics', { key: null, headers })).status, 200)
})
