import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { checkScrapeConfig, hasPrometheus, scrapeAsDocumented } from '#shared/testing/prometheus.ts'
import { newFolder } from '#testing/backup-sets.ts'
import { ADMIN_KEY, startGateway } from '#testing/start-gateway.ts'
import { METRICS } from './metrics.ts'

const FOLDER = fileURLToPath(new URL('../docs/monitoring', import.meta.url))
const read = (name: string) => readFileSync(`${FOLDER}/${name}`, 'utf8')

for (const name of ['alerts.yml', 'alerts.test.yml', 'grafana.json'])
  test(`every metric in docs/monitoring/${name} is a metric of the gateway`, () => {
    const named = new Set(read(name).match(/\bcartbarn_[a-z0-9_]+/g))
    assert.ok(named.size > 5)
    const unexpected = [...named].filter((metric) => !(metric in METRICS))
    assert.deepEqual(unexpected, [])
  })

test('the dashboard is valid for Grafana: each panel has a position and a query', () => {
  const { panels, uid } = JSON.parse(read('grafana.json'))
  assert.equal(uid, 'cartbarn-gateway')
  for (const { title, gridPos, targets } of panels)
    assert.ok(gridPos.w > 0 && targets.every(({ expr }: { expr: string }) => expr.includes('$instance')), title)
})

const hasPromtool = spawnSync('promtool', ['--version']).error === undefined

test('promtool accepts the alert rules, and each fires when it should and not before', { skip: !hasPromtool }, () => {
  for (const argv of [
    ['check', 'rules', 'alerts.yml'],
    ['test', 'rules', 'alerts.test.yml'],
  ]) {
    const { status, stdout, stderr } = spawnSync('promtool', argv, { cwd: FOLDER, encoding: 'utf8' })
    assert.equal(status, 0, stdout + stderr)
  }
})

test('promtool accepts each query of the dashboard', { skip: !hasPromtool }, (t) => {
  const { panels } = JSON.parse(read('grafana.json'))
  const questions: string[] = panels.flatMap(({ targets }: { targets: { expr: string }[] }) =>
    targets.map(({ expr }) => expr.replaceAll('$instance', '.*')),
  )
  const folder = newFolder(t)
  // promtool reads rules only; JSON is YAML too
  const rules = questions.map((expr, i) => ({ record: `question:${i}`, expr }))
  writeFileSync(join(folder, 'questions.yml'), JSON.stringify({ groups: [{ name: 'dashboard', rules }] }))
  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'rules', 'questions.yml'], {
    cwd: folder,
    encoding: 'utf8',
  })
  assert.equal(status, 0, stdout + stderr)
  assert.match(stdout, new RegExp(`${questions.length} rules found`))
})

test('an installed Prometheus scrapes a gateway as the alert rules file describes', {
  skip: !hasPrometheus,
}, async (t) => {
  assert.equal(checkScrapeConfig(`${FOLDER}/alerts.yml`), '')
  const gateway = await startGateway()
  t.after(() => gateway.stop())
  const scrape = (key: string) => scrapeAsDocumented(`${FOLDER}/alerts.yml`, gateway.http.replace('http://', ''), key)
  assert.equal(await scrape(ADMIN_KEY), '')
  assert.match(await scrape('wrong'), /401/)
})

test('a bearer token works as a key at /metrics, in addition to X-API-Key, and nowhere else', async (t) => {
  const gateway = await startGateway()
  t.after(() => gateway.stop())
  const headers = { authorization: `Bearer ${ADMIN_KEY}` }
  const { key: userKey } = await gateway.createUser({})
  const asked = async (path: string, header: string, key: string | null = null) => {
    const { status, body } = await gateway.request('GET', path, { key, headers: { authorization: header } })
    return [status, body.code]
  }
  assert.deepEqual(await asked('/metrics', headers.authorization), [200, undefined])
  assert.deepEqual(await asked('/metrics', `bearer   ${ADMIN_KEY} `), [200, undefined])
  assert.deepEqual(await asked('/metrics', `Bearer ${userKey}`), [403, 'admin_required'])
  assert.deepEqual(await asked('/metrics', 'Bearer wrong'), [401, 'invalid_api_key'])
  for (const header of ['Bearer', `Basic ${ADMIN_KEY}`, ADMIN_KEY])
    assert.deepEqual(await asked('/metrics', header), [401, 'missing_api_key'], header)
  assert.deepEqual(await asked('/metrics', headers.authorization, 'wrong'), [401, 'invalid_api_key'])
  for (const path of ['/stats', '/devices', '/metricsx'])
    assert.deepEqual((await asked(path, headers.authorization))[0], 401, path)
})
