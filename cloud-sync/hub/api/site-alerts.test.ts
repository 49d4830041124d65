import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ANY_DATABASE } from '#hub/testing/databases.ts'
import { openHub, type TestHub } from '#hub/testing/open-hub.ts'
import { People } from '#hub/testing/people.ts'
import { rowsContent, type SiteClient } from '#hub/testing/site-client.ts'
import { toIso } from '#shared/time.ts'
import type { AlertJson } from '#shared/wire/alerts.ts'
import type { AlertBody } from '#shared/wire/replication/sync.ts'

const NOON = Date.UTC(2026, 4, 1, 12)

let hub: TestHub
let people: People
let site: SiteClient
let seq = 0

const alert = (id: number, more: Partial<AlertBody> = {}): AlertBody => ({
  alert_id: `a${id}`,
  kind: 'outside',
  cart: '17',
  hardware_id: 'lock-17',
  opened_at_ms: NOON + id,
  closed_at_ms: null,
  acknowledged_at_ms: null,
  acknowledged_by: null,
  note: null,
  details: { lat: 1, long: 2 },
  ...more,
})
const push = (...bodies: AlertBody[]) =>
  site.push(
    site.part(
      'entities',
      rowsContent(bodies.map((body) => ({ seq: ++seq, table: 'alert', key: body.alert_id, body }))),
    ),
  )

before(async () => {
  hub = await openHub(ANY_DATABASE)
  people = new People(hub)
  site = await hub.site()
  await push(
    alert(1),
    alert(2, {
      acknowledged_at_ms: NOON + 60_000,
      acknowledged_by: { user_id: 'u1', name: 'Ann' },
      note: '\ud83d\ude80 on it',
    }),
    alert(3, { closed_at_ms: NOON + 70_000, cart: 'a/1', kind: 'low_battery' }),
    alert(4, { kind: 'pin_locked', cart: null, hardware_id: null, details: { name: 'Ann' } }),
    alert(5, { kind: 'of a later gateway' }),
  )
})
after(() => hub.stop())

async function ids(query = ''): Promise<string[]> {
  const { status, body } = await people.request('GET', `/sites/${site.siteId}/alerts${query}`)
  assert.equal(status, 200, JSON.stringify(body))
  return body.alerts.map(({ alert_id }: AlertJson) => alert_id)
}

test('a site lists the alerts of its gateway, newest first', async () => {
  const { body } = await people.request('GET', `/sites/${site.siteId}/alerts`)
  assert.deepEqual(body.pagination, { limit: 100, offset: 0, returned: 4 })
  assert.deepEqual(body.alerts[2], {
    alert_id: 'a2',
    kind: 'outside',
    cart: '17',
    hardware_id: 'lock-17',
    opened_at: toIso(NOON + 2),
    closed_at: null,
    acknowledged_at: toIso(NOON + 60_000),
    acknowledged_by: { user_id: 'u1', name: 'Ann' },
    note: '\ud83d\ude80 on it',
    details: { lat: 1, long: 2 },
  })
})

for (const [query, expected] of [
  ['', ['a4', 'a3', 'a2', 'a1']],
  ['?state=open', ['a4', 'a1']],
  ['?state=acknowledged', ['a2']],
  ['?state=closed', ['a3']],
  ['?kind=outside', ['a2', 'a1']],
  ['?cart=a/1', ['a3']],
  [`?from=${toIso(NOON + 2)}&to=${toIso(NOON + 3)}`, ['a3', 'a2']],
  ['?limit=1&offset=1', ['a3']],
] as const) {
  test(`alerts${query}`, async () => assert.deepEqual(await ids(query), expected))
}

test('an alert can be read by its id', async () => {
  const { body } = await people.request('GET', `/sites/${site.siteId}/alerts`)
  const answer = await people.request('GET', `/sites/${site.siteId}/alerts/a2`)
  assert.deepEqual([answer.status, answer.body], [200, body.alerts[2]])
})

for (const id of ['nothing', 'a5'])
  test(`the alert ${id} is not found`, async () => {
    const { status, body } = await people.request('GET', `/sites/${site.siteId}/alerts/${id}`)
    assert.deepEqual([status, body.code], [404, 'alert_not_found'])
  })

test('an alert shows its last reported state, and a deleted alert is not found', async () => {
  await push(alert(9))
  await push(alert(9, { closed_at_ms: NOON + 80_000 }))
  assert.deepEqual((await ids('?state=closed')).includes('a9'), true)
  await site.push(site.part('entities', rowsContent([{ seq: ++seq, table: 'alert', key: 'a9', body: null }])))
  assert.deepEqual((await ids()).includes('a9'), false)
  assert.equal((await people.request('GET', `/sites/${site.siteId}/alerts/a9`)).status, 404)
})

test('PINs are for admins', async () => {
  const { key } = await people.createUser({ role: 'viewer', site_ids: [site.siteId] })
  const { body } = await people.request('GET', `/sites/${site.siteId}/alerts`, { key })
  assert.deepEqual(
    body.alerts.map(({ alert_id }: AlertJson) => alert_id),
    ['a3', 'a2', 'a1'],
  )
  const { status, body: refused } = await people.request('GET', `/sites/${site.siteId}/alerts/a4`, { key })
  assert.deepEqual([status, refused.code], [403, 'admin_required'])
})

test('a site out of scope gets 403, and an unknown one 404', async () => {
  const { key } = await people.createUser({ role: 'viewer', site_ids: [] })
  for (const path of ['alerts', 'alerts/a1']) {
    assert.equal((await people.request('GET', `/sites/${site.siteId}/${path}`, { key })).status, 403)
    assert.equal((await people.request('GET', `/sites/nowhere/${path}`)).status, 404)
  }
})
