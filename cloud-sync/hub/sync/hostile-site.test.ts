import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, type TestContext, test } from 'node:test'
import type { HubConfig } from '#hub/config.ts'
import type { HubOverrides } from '#hub/hub.ts'
import { insertRows } from '#hub/store/database/insert-rows.ts'
import { ANY_DATABASE, LONG_SUITE_KINDS } from '#hub/testing/databases.ts'
import { openHub, type TestHub } from '#hub/testing/open-hub.ts'
import { valuesOf } from '#hub/testing/people.ts'
import { sentLockEvent } from '#hub/testing/reported.ts'
import { siteScene } from '#hub/testing/scene.ts'
import { codeOf, runsContent } from '#hub/testing/site-client.ts'
import { batteryRun } from '#hub/testing/telemetry.ts'
import { eventually } from '#shared/testing/eventually.ts'

const AT_MS = Date.UTC(2026, 4, 1, 12)

function groupRow(seq: number, fields: Record<string, unknown> = {}) {
  const body = { group_id: seq, name: `Group ${seq}`, created_at_ms: AT_MS, updated_at_ms: AT_MS, ...fields }
  return { seq, table: 'device_group', key: String(seq), body }
}

/** Records with constant values at exactly even times, which have the fewest bytes. */
function evenRecords(count: number) {
  const times = Array.from({ length: count }, (_, i) => AT_MS + i * 1000)
  return runsContent([batteryRun('cart-1', times)])
}

for (const kind of LONG_SUITE_KINDS) {
  describe(`a hostile site at a hub on ${kind.name}`, { skip: kind.skip }, () => {
    const { hub, people, site } = siteScene(kind)

    const groups = () => people.request('GET', `${site.path}/groups`)

    test('gets rows with impossible times and numbers quarantined, with the reason', async () => {
      const rows = [
        groupRow(1),
        groupRow(2, { created_at_ms: 1e300 }),
        groupRow(3, { updated_at_ms: 'yesterday' }),
        { seq: 4, table: 'geofence_set', key: '1', body: { group_id: 1, version: 1e300 } },
        { seq: 5, table: 'device', key: 'cart-1', body: { hardware_id: 'cart-1', group_id: 1e300 } },
      ]
      assert.equal((await site.pushRows('entities', rows)).status, 200)
      const { status, body } = await groups()
      assert.equal(status, 200)
      assert.deepEqual(valuesOf(body, 'group_id'), [1])
      const { entries } = await people.get(`${site.path}/quarantine`)
      const reasons = entries.map(({ reason }: { reason: string }) => reason).join('\n')
      for (const name of ['created_at_ms', 'updated_at_ms', 'version', 'group_id'])
        assert.match(reasons, new RegExp(name))
      assert.equal(entries.length, 4)
    })

    test('does no harm with such rows that an earlier program stored', async () => {
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
      assert.equal((await people.request('GET', `${site.path}/revisions`)).status, 200)
    })

    test('cannot audit with counts that no database can hold', async () => {
      const of = (count: number) =>
        Array.from({ length: 1100 }, (_, n) => ({ group: `cart-${n}`, count, sum: '0'.repeat(16) }))
      assert.deepEqual(codeOf(await site.audit('gps', 0, of(Number.MAX_SAFE_INTEGER))), [400, 'invalid_body'])
      assert.equal((await site.audit('gps', 0, of(1_000_000_000))).status, 200)
      assert.equal((await people.request('GET', site.path)).status, 200)
    })

    test('cannot send a batch that counts more rows than any batch can have', async () => {
      const content = { data: Buffer.from('poison'), count: Number.MAX_SAFE_INTEGER, encoding: 'runs-1' }
      assert.deepEqual(codeOf(await site.push(site.part('telemetry', content, { to: 1 }))), [400, 'invalid_body'])
    })

    test('gets events of one instant listed in the order of the gateway: later stored first', async () => {
      const rows = ['b', 'c', 'a'].map((id, i) => sentLockEvent(i + 1, { event_id: id, at_ms: AT_MS }))
      const honest = await hub.site()
      await honest.pushRows('lock_events', rows)
      const { events } = await people.get(`${honest.path}/lock-events`)
      assert.deepEqual(valuesOf(events, 'event_id'), ['a', 'c', 'b'])
    })

    test('cannot push more records than any gateway sends; they are rejected before decoding', async () => {
      const attacker = await hub.site()
      const whole = attacker.part('telemetry', evenRecords(20_000))
      const parts = [whole]
      for (let n = 1; n < 6; n++) parts.push(attacker.part('telemetry', evenRecords(20_000), { before: parts.at(-1) }))
      const answer = await attacker.push(...parts)
      assert.deepEqual([answer.status, answer.body.code], [413, 'payload_too_large'])
      assert.match(answer.body.detail, /100000 records/)
      const dense = await attacker.push(attacker.part('telemetry', evenRecords(60_000)))
      assert.deepEqual([dense.status, dense.body.code], [413, 'payload_too_large'])
      assert.match(dense.body.detail, /in so few bytes/)
      assert.equal((await attacker.push(whole)).status, 200, 'the densest part of a gateway is taken')
    })

    test('cannot send a batch with more records than it counts', async () => {
      const attacker = await hub.site()
      const bomb = attacker.part('telemetry', { ...evenRecords(250_000), count: 1 }, { to: 1 })
      const { status, body } = await attacker.push(bomb)
      assert.ok(status === 400 || (status === 200 && body.warnings.includes('quarantined')), `${status}`)
      assert.equal(await hub.count(attacker, 'segment'), 0)
    })

    test('is rejected with a reason once its quarantine is full, while other streams continue', async () => {
      const attacker = await hub.site()
      const bad = Array.from({ length: 10_001 }, (_, n) => ({ seq: n + 1, event_id: n }))
      assert.deepEqual(codeOf(await attacker.pushRows('lock_events', bad)), [400, 'quarantine_full'])
      assert.equal((await attacker.pushRows('lock_events', bad.slice(0, 5))).status, 200)
      assert.equal((await attacker.pushRows('entities', [groupRow(1)])).status, 200)
      assert.equal(hub.hub.refused.get('quarantine_full'), 1)
    })
  })
}

describe('the load limits of one site', () => {
  async function open(t: TestContext, ...settings: [Partial<HubConfig>?, HubOverrides?]): Promise<TestHub> {
    const hub = await openHub(ANY_DATABASE, ...settings)
    t.after(() => hub.stop())
    return hub
  }

  test('bound records a second: a gateway receives the rate, and an excess gets a Retry-After', async (t) => {
    const hub = await open(t, { siteRecordsPerSecond: 1_000 })
    const site = await hub.site()
    const first = await site.push(site.part('telemetry', evenRecords(20_000)))
    assert.deepEqual([first.status, first.body.limits.records_per_second], [200, 1_000])
    const second = await site.push(site.part('telemetry', evenRecords(100)))
    assert.deepEqual([second.status, second.body.code], [429, 'rate_limited'])
    // less by the seconds elapsed since the first
    const retryAfterS = Number(second.headers.get('retry-after'))
    assert.ok(retryAfterS >= 1 && retryAfterS <= 15, `${retryAfterS} s`)
    assert.equal((await site.latest({})).status, 200)
    const other = await hub.site()
    assert.equal((await other.push(other.part('telemetry', evenRecords(100)))).status, 200)
    assert.equal(hub.hub.refused.get('site_records'), 1)
  })

  test('bound requests a second', async (t) => {
    const hub = await open(t, { siteRequestsPerSecond: 2 })
    const site = await hub.site()
    // concurrently: sent in sequence, enough time might elapse for all to be allowed
    const answers = await Promise.all(Array.from({ length: 100 }, () => site.latest({})))
    assert.deepEqual([...new Set(answers.map(({ status }) => status))].sort(), [200, 429])
    assert.equal((await (await hub.site()).latest({})).status, 200)
    assert.ok(hub.hub.refused.get('site_requests') > 0)
  })

  test('cut slow bodies of one site, and no other site waits for them', async (t) => {
    const hub = await open(t, {}, { bodyTimeoutMs: 1_000 })
    const [attacker, other] = [await hub.site(), await hub.site()]
    const { hostname, port } = new URL(hub.hub.url())
    const answers = Array.from({ length: 64 }, async () => {
      const socket = connect(Number(port), hostname)
      t.after(() => socket.destroy())
      socket.write(
        `POST /sync/v1/push HTTP/1.1\r\nhost: hub\r\nauthorization: Bearer ${attacker.key}\r\n` +
          'content-length: 8000000\r\n\r\n{',
      )
      return await text(socket)
    })
    await eventually(() => hub.hub.refused.get('site_bodies') === 56, 'all but eight are refused at once')
    assert.equal((await other.push(other.part('telemetry', evenRecords(100)))).status, 200)
    const heads = (await Promise.all(answers)).map((answer) => answer.split('\r\n')[0])
    assert.equal(heads.filter((head) => head === 'HTTP/1.1 429 Too Many Requests').length, 56)
    assert.equal(heads.filter((head) => head === 'HTTP/1.1 413 Payload Too Large').length, 8)
    assert.equal(hub.hub.refused.get('body_timeout'), 8)
    assert.equal((await attacker.latest({})).status, 200, 'its slots are free again')
  })

  test('keep wrong site keys from loading the database or blocking right keys', async (t) => {
    const hub = await open(t)
    const site = await hub.site()
    let queries = 0
    const { database } = hub.hub
    const all = database.all.bind(database)
    const get = database.get.bind(database)
    database.all = (...query) => {
      queries++
      return all(...query)
    }
    database.get = (...query) => {
      queries++
      return get(...query)
    }
    const wrong = () => `cbs_${site.siteId}_${randomBytes(32).toString('base64url')}`
    const answers = await Promise.all(
      Array.from({ length: 400 }, () => hub.client(site.siteId, wrong()).request('GET', '/intents')),
    )
    assert.ok(queries <= 3, `${queries} queries`)
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([401, 429]))
    assert.equal(hub.hub.refused.get('wrong_site_key'), 400)
    assert.equal((await site.latest({})).status, 200)
    const rotated = await hub.hub.sites.rotate(site.siteId)
    assert.equal((await hub.client(site.siteId, rotated).hello()).status, 200, 'not even one it never heard of')
    assert.equal((await site.latest({})).body.code, 'revoked_site_key')
  })
})
