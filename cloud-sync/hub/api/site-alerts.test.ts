import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { ADMIN_KEY } from '#hub/testing/people.ts'
import { reportedAlert } from '#hub/testing/reported.ts'
import { siteScene } from '#hub/testing/scene.ts'
import { toIso } from '#shared/time.ts'
import type { AlertJson } from '#shared/wire/alerts.ts'
import type { AlertBody } from '#shared/wire/replication/sync.ts'

const NOON = Date.UTC(2026, 4, 1, 12)

const { people, site } = siteScene()

const alert = (id: number, more: Partial<AlertBody> = {}) =>
  reportedAlert(`a${id}`, { opened_at_ms: NOON + id, details: { lat: 1, long: 2 }, ...more })
const push = (...bodies: AlertBody[]) =>
  site.pushEntities(...bodies.map((body) => ({ table: 'alert', key: body.alert_id, body })))

before(async () => {
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

async function ids(query = '', key = ADMIN_KEY): Promise<string[]> {
  const { status, body } = await people.request('GET', `${site.path}/alerts${query}`, { key })
  assert.equal(status, 200, JSON.stringify(body))
  return body.alerts.map(({ alert_id }: AlertJson) => alert_id)
}

test('a site lists the alerts of its gateway, newest first', async () => {
  const { body } = await people.request('GET', `${site.path}/alerts`)
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
  const { body } = await people.request('GET', `${site.path}/alerts`)
  const answer = await people.request('GET', `${site.path}/alerts/a2`)
  assert.deepEqual([answer.status, answer.body], [200, body.alerts[2]])
})

for (const id of ['nothing', 'a5'])
  test(`the alert ${id} is not found`, async () => {
    assert.deepEqual(await people.refusal('GET', `${site.path}/alerts/${id}`), [404, 'alert_not_found'])
  })

test('an alert shows its last reported state, and a deleted alert is not found', async () => {
  await push(alert(9))
  await push(alert(9, { closed_at_ms: NOON + 80_000 }))
  assert.deepEqual((await ids('?state=closed')).includes('a9'), true)
  await site.pushEntities({ table: 'alert', key: 'a9', body: null })
  assert.deepEqual((await ids()).includes('a9'), false)
  assert.equal((await people.request('GET', `${site.path}/alerts/a9`)).status, 404)
})

test('PINs are for admins', async () => {
  const { key } = await people.createUser({ role: 'viewer', site_ids: [site.siteId] })
  assert.deepEqual(await ids('', key), ['a3', 'a2', 'a1'])
  assert.deepEqual(await people.refusal('GET', `${site.path}/alerts/a4`, { key }), [403, 'admin_required'])
})

test('a site out of scope gets 403, and an unknown one 404', async () => {
  const { key } = await people.createUser({ role: 'viewer', site_ids: [] })
  for (const path of ['alerts', 'alerts/a1']) {
    assert.equal((await people.request('GET', `${site.path}/${path}`, { key })).status, 403)
    assert.equal((await people.request('GET', `/sites/nowhere/${path}`)).status, 404)
  }
})
