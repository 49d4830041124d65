import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ANY_DATABASE } from '#hub/testing/databases.ts'
import { openHub, type TestHub } from '#hub/testing/open-hub.ts'
import { People } from '#hub/testing/people.ts'
import { rowsContent, type SiteClient } from '#hub/testing/site-client.ts'
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

let hub: TestHub
let people: People
let site: SiteClient
let document: OpenApiDocument

before(async () => {
  hub = await openHub(ANY_DATABASE)
  people = new People(hub)
  document = (await people.request('GET', '/openapi.json', { key: null })).body
  site = await hub.site()
  await hub.site()
  await people.createUser({ role: 'viewer' })
  const groups = [1, 2].map((id) => ({
    seq: id,
    table: 'device_group',
    key: String(id),
    body: { group_id: id, name: `Group ${id}`, created_at_ms: NOON, updated_at_ms: NOON },
  }))
  const alerts = [3, 4].map((id) => ({
    seq: id,
    table: 'alert',
    key: `a${id}`,
    body: {
      alert_id: `a${id}`,
      kind: 'outside',
      cart: '17',
      hardware_id: 'a',
      opened_at_ms: NOON + id,
      closed_at_ms: null,
      acknowledged_at_ms: null,
      acknowledged_by: null,
      note: null,
      details: {},
    },
  }))
  await site.push(site.part('entities', rowsContent([...groups, ...alerts])))
})
after(() => hub.stop())

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
  const at = '2026-05-01T12:00:00.000Z'
  await site.latest({
    devices: [
      {
        hardware_id: 'a',
        short_id: 'aaaaaaaa',
        device_type: 'teebox',
        name: null,
        cart: null,
        attributes: {},
        is_online: true,
        group_id: null,
        created_at: at,
        updated_at: at,
      },
    ],
  })
  const ids = { site: site.siteId, id: 'a', hardwareId: 'a', cart: 'a', groupId: '1' }
  const ask = (method: string, path: string) => people.request(method, path)
  assert.ok((await checkRepeated(document, ask, ids)) > 100)
})
