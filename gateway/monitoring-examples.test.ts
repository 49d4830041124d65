import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { METRICS } from './metrics.ts'

const FOLDER = fileURLToPath(new URL('../docs/monitoring', import.meta.url))
const read = (name: string) => readFileSync(`${FOLDER}/${name}`, 'utf8')

for (const name of ['alerts.yml', 'alerts.test.yml', 'grafana.json'])
  test(`every metric that docs/monitoring/${name} names is one of the gateway`, () => {
    const named = new Set(read(name).match(/\bcartbarn_[a-z0-9_]+/g))
    assert.ok(named.size > 5)
    assert.deepEqual(
      [...named].filter((metric) => !(metric in METRICS)),
      [],
    )
  })

test('the dashboard is one of Grafana: panels with a place, and a question each', () => {
  const { panels, uid } = JSON.parse(read('grafana.json'))
  assert.equal(uid, 'cartbarn-gateway')
  for (const { title, gridPos, targets } of panels)
    assert.ok(
      gridPos.w > 0 && targets.every(({ expr }: { expr: string }) => expr.includes('$instance')),
      title,
    )
})

const hasPromtool = spawnSync('promtool', ['--version']).error === undefined

test('promtool takes the alert rules, and each fires when it should and not before', {
  skip: !hasPromtool,
}, () => {
  for (const argv of [
    ['check', 'rules', 'alerts.yml'],
    ['test', 'rules', 'alerts.test.yml'],
  ]) {
    const { status, stdout, stderr } = spawnSync('promtool', argv, { cwd: FOLDER, encoding: 'utf8' })
    assert.equal(status, 0, stdout + stderr)
  }
})
