import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import { LONG_SUITE_KINDS } from '#hub/testing/databases.ts'
import { openHub } from '#hub/testing/open-hub.ts'
import { People, REFUSED_AS_NO_ADMIN } from '#hub/testing/people.ts'
import { hubScene } from '#hub/testing/scene.ts'
import { endsOf, type SiteClient } from '#hub/testing/site-client.ts'
import { RowHashSum } from '#shared/sync-hash.ts'
import { DAY_MS } from '#shared/time.ts'

function entry(seq: number, fields: Record<string, unknown> = {}) {
  const key = `entry-${seq}`
  const body = {
    entry_id: key,
    at_ms: seq * 1000,
    user_id: 'usr_1',
    person: null,
    session_id: null,
    address: '10.0.0.7',
    action: 'user.updated',
    target: 'usr_2',
    before: { is_active: true },
    after: { is_active: false },
    ...fields,
  }
  return { seq, table: 'audit_entry', key, body }
}

type Entry = ReturnType<typeof entry>

const ENTRIES = [
  entry(1),
  entry(2, { user_id: null, address: 'head office', action: 'command.created', before: null, after: null }),
  entry(3, { user_id: 'usr_3', target: '=1+1, "x"\0' }),
  entry(4, { at_ms: 3000 }),
]

/** Returns the audit group of a gateway with these entries. */
function groupOf(entries: readonly Entry[]) {
  const sum = new RowHashSum()
  for (const { table, key, body } of entries) sum.addText(JSON.stringify([table, key, body]))
  return { group: 'audit_entry', count: entries.length, sum: sum.toString() }
}

for (const kind of LONG_SUITE_KINDS) {
  describe(`audit logs at a hub on ${kind.name}`, { skip: kind.skip }, () => {
    const { hub, people } = hubScene(kind)

    const push = (site: SiteClient, entries: readonly object[], isResend = false) =>
      site.pushRows('entities', entries, { isResend })
    const newSite = async (entries: readonly object[]) => {
      const site = await hub.site()
      assert.equal((await push(site, entries)).status, 200)
      return site
    }
    const list = (site: SiteClient, query = '') => people.request('GET', `${site.path}/audit-log${query}`)
    const ids = async (site: SiteClient, query = '') => {
      const { status, body } = await list(site, query)
      assert.equal(status, 200, JSON.stringify(body))
      return body.entries.map(({ entry_id }: { entry_id: string }) => Number(entry_id.slice(6)))
    }
    const audit = async (site: SiteClient, entries: readonly Entry[]) =>
      (await site.audit('entities', null, entries.length === 0 ? [] : [groupOf(entries)])).body

    test('list the entries of the gateway, newest first, with its filters', async () => {
      const site = await newSite(ENTRIES)
      await newSite([entry(9)])
      const { at_ms: _, ...shown } = entry(1).body
      assert.deepEqual((await list(site, '?limit=1&order=asc')).body, {
        entries: [{ ...shown, at: '1970-01-01T00:00:01.000Z' }],
        pagination: { limit: 1, offset: 0, returned: 1 },
      })
      for (const [query, expected] of [
        ['', [4, 3, 2, 1]],
        ['?order=asc', [1, 2, 3, 4]],
        ['?limit=2&offset=1', [3, 2]],
        ['?user_id=usr_1', [4, 1]],
        ['?action=command.created', [2]],
        ['?user_id=usr_3&action=user.updated', [3]],
        ['?from=1970-01-01T00:00:02Z&to=1970-01-01T00:00:02Z', [2]],
        ['?user_id=nobody', []],
      ] as const)
        assert.deepEqual(await ids(site, query), expected, query)
      for (const query of ['?from=2026-01-02&to=2026-01-01', '?format=xml', '?limit=0'])
        assert.equal((await list(site, query)).status, 400, query)
      assert.equal((await people.request('GET', '/sites/nowhere/audit-log')).status, 404)
    })

    test('have the same page as CSV', async () => {
      const site = await newSite(ENTRIES)
      const { headers, body } = await list(site, '?format=csv&order=asc&limit=3')
      assert.match(headers.get('content-disposition') ?? '', /audit-log\.csv/)
      const lines = String(body).split('\r\n')
      assert.equal(lines.length, 5)
      assert.equal(lines[2], 'entry-2,1970-01-01T00:00:02.000Z,,,,head office,command.created,usr_2,,')
      assert.match(lines[3] ?? '', /,"'=1\+1, ""x""/)
    })

    test('are readable for admins only', async () => {
      const site = await newSite(ENTRIES)
      await people.callers(site.siteId)
      for (const refusal of REFUSED_AS_NO_ADMIN) await people.checkRefused(refusal, ['GET', `${site.path}/audit-log`])
    })

    test('have blank fields where a site erased them, and are otherwise unchanged', async () => {
      const named = (before: string, after: string, fields: object = {}) =>
        entry(1, {
          person: { user_id: 'usr_9', name: before },
          before: { name: before, zones: [before, 7] },
          after: { name: after },
          ...fields,
        })
      const site = await newSite([named('Jane', 'Joan'), entry(2)])
      const known = (await list(site)).body
      const forged: Entry[] = [
        named('Jane', 'Jim'),
        named('', '', { target: '' }),
        named('', '', { user_id: null }),
        named('', '', { after: null }),
        named('', '', { before: { name: '', zones: ['', 8] } }),
        named('', '', { before: { name: '', zones: [''] } }),
        named('', '', { before: { zones: ['', 7], name: '' } }),
        named('', '', { more: 1 }),
      ]
      for (const each of forged) {
        assert.equal((await push(site, [each], true)).status, 200)
        assert.deepEqual((await list(site)).body, known, JSON.stringify(each))
      }
      const erased = named('', 'Joan')
      assert.equal((await push(site, [{ ...erased, seq: 5 }, entry(2)])).status, 200)
      const [, shown] = (await list(site)).body.entries
      assert.deepEqual(
        [shown.person, shown.before, shown.after],
        [{ user_id: 'usr_9', name: '' }, { name: '', zones: ['', 7] }, { name: 'Joan' }],
      )
      assert.deepEqual((await audit(site, [erased, entry(2)])).resend, [])
      // one from before comes late, or again
      assert.equal((await push(site, [named('Jane', 'Joan')], true)).status, 200)
      assert.equal((await list(site)).body.entries[1].before.name, '')
    })

    test('never change or lose an entry, and quarantine an invalid one', async () => {
      const site = await newSite(ENTRIES)
      const listed = (await list(site)).body
      await push(site, [
        entry(1, { action: 'device.updated' }),
        { ...entry(2), body: null },
        entry(7, { at_ms: 'x' }),
        entry(8, { user_id: 'usr\0' }),
      ])
      assert.deepEqual((await list(site)).body, listed)
      assert.equal((await people.request('GET', `${site.path}/quarantine`)).body.entries.length, 2)
    })

    test('are audited against what the gateway still has, and missing entries are requested', async () => {
      const site = await newSite(ENTRIES)
      const even = { resend: [], extra: [] }
      assert.deepEqual(await audit(site, ENTRIES), even)
      // the oldest went for their age, then all of them
      assert.deepEqual(await audit(site, ENTRIES.slice(2)), even)
      assert.deepEqual(await audit(site, []), even)
      const more = [...ENTRIES, entry(5)]
      assert.deepEqual(await audit(site, more), { resend: ['audit_entry'], extra: [] })
      await push(site, more, true)
      assert.deepEqual(await audit(site, more), even)
      assert.deepEqual(await ids(site), [5, 4, 3, 2, 1])
    })

    test('get entries that an earlier hub kept as entities again with the next audit', async () => {
      const site = await hub.site()
      const [first = entry(1)] = ENTRIES
      await hub.hub.database.run(
        `INSERT INTO entity (site_id, entity_table, entity_key, epoch, seq, body) VALUES ($1, $2, $3, $4, 1, $5)`,
        [site.siteId, 'audit_entry', first.key, site.epoch, JSON.stringify(first.body)],
      )
      assert.deepEqual(await audit(site, [first]), { resend: ['audit_entry'], extra: [] })
      await push(site, [first], true)
      assert.deepEqual(await audit(site, [first]), { resend: [], extra: [] })
    })

    const days = (some: readonly Entry[], ago: number[]) =>
      some.map(({ body, ...row }, i) => ({
        ...row,
        body: { ...body, at_ms: hub.clock.nowMs() - (ago[i] ?? 0) * DAY_MS },
      }))

    test('drop the oldest entries by age, and no audit requests them again', async () => {
      const even = { resend: [], extra: [] }
      const [first, second, third, fourth] = days(ENTRIES, [900, 401, 399, 0])
      assert.ok(first && second && third && fourth)
      const all = [first, second, third, fourth]
      const site = await newSite(all)
      await hub.hub.retention.run()
      assert.deepEqual(await ids(site), [4, 3])
      const kept = await hub.hub.database.all<object>('SELECT * FROM audit_entry WHERE site_id = $1', [site.siteId])
      assert.equal(kept.length, 4)
      assert.ok(!JSON.stringify(kept.filter((row) => Reflect.get(row, 'body') === null)).includes('usr_'))
      for (let night = 0; night < 2; night++) assert.deepEqual(await audit(site, all), even)
      // an audit of something else, a lost answer, a fork: the gateway sends all once more, and nothing comes back
      await push(site, all, true)
      assert.deepEqual(await ids(site), [4, 3])
      const fork = site.restarted()
      fork.epoch = randomBytes(16).toString('hex')
      fork.cursors = (await hub.site()).cursors
      await fork.hello({ ends: endsOf(fork.cursors, 4) })
      await push(fork, all)
      assert.deepEqual([await ids(fork), await audit(fork, all)], [[4, 3], even])
      // entries that the gateway no longer has are dropped
      assert.deepEqual(await audit(fork, all.slice(1)), even)
      const left = 'SELECT entry_id FROM audit_entry WHERE site_id = $1 ORDER BY entry_id'
      const found = await hub.hub.database.all(left, [site.siteId])
      assert.deepEqual(found, [{ entry_id: 'entry-2' }, { entry_id: 'entry-3' }, { entry_id: 'entry-4' }])
      assert.deepEqual(await audit(fork, [third, fourth]), even)
      // a change that is really missing is still found
      assert.deepEqual(await audit(fork, [third, fourth, entry(5)]), { resend: ['audit_entry'], extra: [] })
    })

    test('do not request an entry that was erased and then deleted by age at each audit', async () => {
      const named = (name: string) => entry(1, { after: { name } })
      const [old, young, erased] = days([named('Jane'), entry(2), named('')], [900, 0, 900])
      assert.ok(old && young && erased)
      const site = await newSite([old, young])
      await hub.hub.retention.run()
      assert.deepEqual(await audit(site, [erased, young]), { resend: ['audit_entry'], extra: [] })
      await push(site, [{ ...erased, seq: 3 }])
      assert.deepEqual(await audit(site, [erased, young]), { resend: [], extra: [] })
      assert.deepEqual(await ids(site), [2])
    })

    test('drop many old entries, including those that an earlier hub kept as entities', async () => {
      const site = await hub.site()
      const old = Array.from({ length: 2500 }, (_, i) => entry(i + 1, { at_ms: i }))
      for (let at = 0; at < old.length; at += 500) await push(site, old.slice(at, at + 500))
      await hub.hub.database.run(
        "INSERT INTO entity (site_id, entity_table, entity_key, epoch, seq, body) VALUES ($1, 'audit_entry', " +
          "'e', $2, 1, '{}')",
        [site.siteId, site.epoch],
      )
      await hub.hub.retention.run()
      assert.deepEqual(await ids(site), [])
      const sql = 'SELECT entity_key FROM entity WHERE site_id = $1'
      assert.deepEqual(await hub.hub.database.all(sql, [site.siteId]), [])
      assert.deepEqual(await audit(site, old), { resend: [], extra: [] })
    })

    test('keep the entries that a gateway lost by a restore, and do not request them at each audit', async () => {
      const site = await newSite(ENTRIES)
      const fork = site.restarted()
      fork.epoch = randomBytes(16).toString('hex')
      fork.cursors = (await hub.site()).cursors
      const ends = endsOf(fork.cursors, 2)
      await fork.hello({ forked_from: { epoch: site.epoch, reason: 'restored from a backup' }, ends })
      await push(fork, ENTRIES.slice(0, 2))
      assert.deepEqual(await ids(site), [4, 3, 2, 1])
      assert.deepEqual(await audit(fork, ENTRIES.slice(0, 2)), { resend: [], extra: [] })
    })
  })
}

for (const kind of LONG_SUITE_KINDS)
  test(`a hub with a retention of 0 days keeps audit entries permanently (${kind.name})`, {
    skip: kind.skip,
  }, async () => {
    const hub = await openHub(kind, { auditLogRetentionDays: 0 })
    try {
      const site = await hub.site()
      await site.pushRows('entities', ENTRIES)
      await hub.hub.retention.run()
      const { body } = await new People(hub).request('GET', `${site.path}/audit-log`)
      assert.equal(body.entries.length, ENTRIES.length)
    } finally {
      await hub.stop()
    }
  })
