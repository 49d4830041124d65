import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { reportedAlert, reportedDevice } from '#hub/testing/reported.ts'
import { siteScene } from '#hub/testing/scene.ts'
import type { OpenApiDocument } from '#shared/http/openapi.ts'
import { checkList, listFaults, listOperations } from '#shared/testing/list-rules.ts'
import { checkRepeated } from '#shared/testing/parameter-rules.ts'

/** Responses that contain rows and are not lists of rows. */
const NO_LISTS = {
  '/sites/{site}': 'one site, with the machines of its gateway',
  '/sites/{site}/carts/{cart}': 'one cart, with its devices and zones',
  '/sites/{site}/zones': 'a map',
  '/sites/{site}/course': 'a map',
}

const NOON = Date.UTC(2026, 4, 1, 12)

const { hub, people, site } = siteScene()
let document: OpenApiDocument

before(async () => {
  document = await people.get('/openapi.json', { key: null })
  await hub.site()
  await people.createUser({ role: 'viewer' })
  const group = (id: number) => ({ group_id: id, name: `Group ${id}`, created_at_ms: NOON, updated_at_ms: NOON })
  const alert = (id: number) => reportedAlert(`a${id}`, { opened_at_ms: NOON + id })
  await site.pushEntities(
    ...[1, 2].map((id) => ({ table: 'device_group', key: `${id}`, body: group(id) })),
    ...[3, 4].map((id) => ({ table: 'alert', key: `a${id}`, body: alert(id) })),
  )
})

test('every GET that returns rows supports an order and CSV, or has a documented exception', () => {
  assert.deepEqual(listFaults(document, NO_LISTS), [])
})

test('every list obeys order and format, and rejects other values', async () => {
  const range = ['from=2026-05-01', 'to=2026-05-02']
  const counts: Record<string, number> = {}
  const ask = (path: string, headers = {}) => people.request('GET', path, { headers })
  for (const { path, name, operation } of listOperations(document)) {
    // those of a device are in its own tests
    if (Object.hasOwn(NO_LISTS, path) || /\{(id|hardwareId)\}/.test(path)) continue
    const isRange = operation.parameters.some((one) => one.in === 'query' && one.required)
    const filled = path.replace('{site}', site.siteId)
    counts[path] = await checkList(ask, isRange ? `${filled}?${range.join('&')}` : filled, name)
  }
  for (const path of ['/sites', '/users', '/sites/{site}/groups', '/sites/{site}/alerts'])
    assert.equal(counts[path], 2, path)
})

test('a parameter that takes one value is rejected when it is given twice', async () => {
  await site.latest({ devices: [reportedDevice('a')] })
  const ids = { site: site.siteId, id: 'a', hardwareId: 'a', cart: 'a', groupId: '1' }
  const ask = (method: string, path: string) => people.request(method, path)
  assert.ok((await checkRepeated(document, ask, ids)) > 100)
})
