import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { after, before, test } from 'node:test'
import { eventually } from '#shared/testing/eventually.ts'
import { createKeyPair, KeyPairFolder } from '#shared/testing/key-pairs.ts'
import { TestHub } from '#sync-testing/test-hub.ts'
import { metric, startGateway, type TestGateway } from '#testing/start-gateway.ts'
import { METRICS } from './metrics.ts'

const isInstalled = (program: string) => spawnSync(program, ['--version']).error === undefined
// .ci/run installs it on systems with apt-get
const skip =
  isInstalled('promtool') || (process.env.CI !== undefined && isInstalled('apt-get'))
    ? false
    : 'promtool (Debian: prometheus) is not installed'

let folder: KeyPairFolder
let hub: TestHub
let gateway: TestGateway
let answer: string

// with everything a metric can cover: TLS, a hub, and a count under each label that starts empty
before(async () => {
  folder = new KeyPairFolder(createKeyPair())
  hub = await new TestHub().start()
  gateway = await startGateway({
    ...folder.settings,
    CARTBARN_UPSTREAM_URL: hub.url,
    CARTBARN_UPSTREAM_KEY: `cbs_links_${'k'.repeat(43)}`,
    CARTBARN_SITE_ID: 'links',
  })
  const device = await gateway.device('cart-1')
  await device.publishAsync('dev/cart-1/evt', 'not JSON', { qos: 1 })
  await gateway.request('GET', '/devices', { key: null })
  const watcher = await gateway.realtime()
  for (let i = 0; i < 2_000; i++) watcher.send({ type: 'ping' })
  await watcher.closed()
  const tablet = await gateway.pair(await gateway.adminId())
  const person = { user_id: await gateway.adminId(), pin: '0000' }
  await tablet.request('POST', '/sessions/current/person', { body: person })
  await tablet.request('DELETE', '/sessions/current')
  await gateway.request('POST', '/sync/audit')
  const isAudited = async () => (await metric(gateway, 'cartbarn_sync_audit_compared_rows', 'entities')) > 0
  await eventually(isAudited, 'the audit')
  answer = (await gateway.request('GET', '/metrics')).body
})
after(async () => {
  await gateway.stop()
  await hub.stop()
  folder.remove()
})

test('exactly the metrics of the table are served, with their type and help', () => {
  const helpByName = new Map(headers('HELP'))
  const served = headers('TYPE')
    .filter(([name]) => name.startsWith('cartbarn_'))
    .map(([name, type]) => ({ name, type, help: helpByName.get(name) }))
  const expected = Object.entries(METRICS).map(([name, { type, help }]) => ({ name, type, help }))
  assert.deepEqual(served, expected)
})

test('only the names of counters end in _total', () => {
  for (const [name, type] of headers('TYPE'))
    assert.equal(name.endsWith('_total'), type === 'counter', `${name} is a ${type}`)
})

test('each help is a sentence, and no two are the same', () => {
  for (const [name, { help }] of Object.entries(METRICS)) assert.match(help, /^[A-Z0-9].{10,}\.$/, name)
  const helps = Object.values(METRICS).map(({ help }) => help)
  assert.deepEqual(helps, [...new Set(helps)])
})

test('each metric has a value, except the fault counter of a store without faults', () => {
  for (const [name, { label }] of Object.entries(METRICS)) {
    if (name === 'cartbarn_store_faults_total') continue
    const sample = new RegExp(label === undefined ? `^${name} ` : `^${name}\\{${label}="\\w+"\\} `, 'm')
    assert.match(answer, sample)
  }
})

test('promtool has no complaint about the metrics', { skip }, () => {
  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input: answer, encoding: 'utf8' })
  assert.deepEqual({ status, output: stdout + stderr }, { status: 0, output: '' })
})

/** Returns the comments of one kind in `/metrics`: the type or the help of each metric. */
function headers(kind: 'TYPE' | 'HELP'): [name: string, text: string][] {
  return Array.from(answer.matchAll(new RegExp(`^# ${kind} (\\S+) (.*)$`, 'gm')), ([, name = '', text = '']) => [
    name,
    text,
  ])
}
