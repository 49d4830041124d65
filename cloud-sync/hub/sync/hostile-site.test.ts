import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { DATABASE_KINDS } from '#hub/testing/databases.ts'
import { openHub, type TestHub } from '#hub/testing/open-hub.ts'
import { People } from '#hub/testing/people.ts'
import { rowsContent, type SiteClient } from '#hub/testing/site-client.ts'
import { insertRows } from '../store/database/insert-rows.ts'

const AT_MS = Date.UTC(2026, 4, 1, 12)

function groupRow(seq: number, fields: Record<string, unknown> = {}) {
  const body = { group_id: seq, name: `Group ${seq}`, created_at_ms: AT_MS, updated_at_ms: AT_MS, ...fields }
  return { seq, table: 'device_group', key: String(seq), body }
}

for (const kind of DATABASE_KINDS) {
  describe(`a hostile site at a hub on ${kind.name}`, { skip: kind.skip }, () => {
    let hub: TestHub
    let people: People
    let site: SiteClient
    before(async () => {
      hub = await openHub(kind)
      people = new People(hub)
      site = await hub.site()
    })
    after(() => hub?.stop())

    const groups = () => people.request('GET', `/sites/${site.siteId}/groups`)

    test('rows with times and numbers that nobody can show go into quarantine, with the reason', async () => {
      const rows = [
        groupRow(1),
        groupRow(2, { created_at_ms: 1e300 }),
        groupRow(3, { updated_at_ms: 'yesterday' }),
        { seq: 4, table: 'geofence_set', key: '1', body: { group_id: 1, version: 1e300 } },
        { seq: 5, table: 'device', key: 'cart-1', body: { hardware_id: 'cart-1', group_id: 1e300 } },
      ]
      assert.equal((await site.push(site.part('entities', rowsContent(rows)))).status, 200)
      const { status, body } = await groups()
      assert.equal(status, 200)
      assert.deepEqual(
        body.map(({ group_id }: { group_id: number }) => group_id),
        [1],
      )
      const { entries } = (await people.request('GET', `/sites/${site.siteId}/quarantine`)).body
      const reasons = entries.map(({ reason }: { reason: string }) => reason).join('\n')
      for (const name of ['created_at_ms', 'updated_at_ms', 'version', 'group_id'])
        assert.match(reasons, new RegExp(name))
      assert.equal(entries.length, 4)
    })

    test('such rows that an earlier program stored harm nothing', async () => {
      await insertRows(
        hub.hub.database,
        'entity',
        ['site_id', 'entity_table', 'entity_key', 'epoch', 'seq', 'body'],
        [
          [site.siteId, 'device_group', '9', site.epoch, 9, JSON.stringify({ created_at_ms: 1e300 })],
          [site.siteId, 'geofence_set', '1', site.epoch, 9, JSON.stringify({ version: '1e300' })],
          [site.siteId, 'geofence_set', 'one', site.epoch, 9, '{}'],
        ],
      )
      const { status, body } = await groups()
      assert.deepEqual([status, body.length], [200, 1])
      assert.equal((await people.request('GET', `/sites/${site.siteId}/revisions`)).status, 200)
    })

    test('an audit with counts that no database can hold is refused', async () => {
      const of = (count: number) =>
        Array.from({ length: 1100 }, (_, n) => ({ group: `cart-${n}`, count, sum: '0'.repeat(16) }))
      const answer = await site.audit('gps', 0, of(Number.MAX_SAFE_INTEGER))
      assert.deepEqual([answer.status, answer.body.code], [400, 'invalid_body'])
      assert.equal((await site.audit('gps', 0, of(1_000_000_000))).status, 200)
      assert.equal((await people.request('GET', `/sites/${site.siteId}`)).status, 200)
    })

    test('a part that counts more rows than any part can have is refused', async () => {
      const content = { data: Buffer.from('poison'), count: Number.MAX_SAFE_INTEGER, encoding: 'runs-1' }
      const answer = await site.push(site.part('telemetry', content, { to: 1 }))
      assert.deepEqual([answer.status, answer.body.code], [400, 'invalid_body'])
    })
  })
}
