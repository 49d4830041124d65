import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { createHub } from '#hub/hub.ts'
import { ANY_DATABASE } from '#hub/testing/databases.ts'
import { HUB_CONFIG, openHub } from '#hub/testing/open-hub.ts'
import { REFUSED_AS_NO_ADMIN, REFUSED_OUTSIDE_SCOPE, valuesOf, type Who } from '#hub/testing/people.ts'
import { hubScene } from '#hub/testing/scene.ts'
import { createLog } from '#shared/log.ts'
import { siteSchema } from '#shared/wire/sites.ts'

const { hub, people } = hubScene()

before(async () => {
  for (const site_id of ['north', 'south'])
    await people.request('POST', '/sites', { body: { site_id, name: `${site_id} course` } })
  await people.callers('north')
})

for (const refusal of REFUSED_OUTSIDE_SCOPE) {
  test(`${refusal[0]} cannot read a site`, () =>
    people.checkRefused(refusal, ['GET', '/sites/north'], ['GET', '/sites/north/gaps']))
}

for (const refusal of REFUSED_AS_NO_ADMIN) {
  test(`${refusal[0]} changes no site`, () =>
    people.checkRefused(
      refusal,
      ['POST', '/sites', { name: 'Another' }],
      ['PATCH', '/sites/north', { name: 'Another' }],
      ['POST', '/sites/north/keys'],
      ['DELETE', '/sites/north/keys'],
      ['GET', '/sites/north/quarantine'],
      ['GET', '/sites/north/quarantine/x'],
    ))
}

test('every user sees exactly the sites in scope', async () => {
  const seen = async (who: Who) => valuesOf((await people.get('/sites', { key: people.keys[who] })).sites, 'site_id')
  assert.deepEqual(await seen('admin'), ['north', 'south'])
  assert.deepEqual(await seen('a viewer'), ['north'])
  assert.deepEqual(await seen('an operator'), ['north'])
  assert.deepEqual(await seen('no scope'), [])
  const everywhere = await people.createUser({ site_ids: null })
  const { body } = await people.request('GET', '/sites?limit=1&offset=1', { key: everywhere.key })
  assert.deepEqual(body.pagination, { limit: 1, offset: 1, returned: 1 })
  assert.equal(body.sites[0].site_id, 'south')
})

test('a key may be sent as a bearer token', async () => {
  const headers = { authorization: `Bearer ${people.keys['a viewer']}` }
  assert.equal((await people.request('GET', '/sites/north', { key: null, headers })).status, 200)
})

test('the key of a site gives no access to the people’s API', async () => {
  const { key } = (await people.request('POST', '/sites', { body: { name: 'Key' } })).body
  assert.equal((await people.get('/sites', { key })).code, 'invalid_api_key')
})

test('an unknown site is 404 for every user', async () => {
  for (const who of ['admin', 'a viewer'] as const) {
    const refusal = await people.refusal('GET', '/sites/nowhere', { key: people.keys[who] })
    assert.deepEqual(refusal, [404, 'site_not_found'])
  }
  for (const [method, path, body] of [
    ['PATCH', '/sites/nowhere', {}],
    ['POST', '/sites/nowhere/keys', undefined],
    ['DELETE', '/sites/nowhere/keys', undefined],
    ['GET', '/sites/nowhere/gaps', undefined],
    ['GET', '/sites/nowhere/quarantine', undefined],
  ] as const)
    assert.equal((await people.request(method, path, { body })).body.code, 'site_not_found')
})

test('a new site has a key that admits its gateway, until the next key is issued', async () => {
  const { status, body, headers } = await people.request('POST', '/sites', { body: { name: 'East  Course!' } })
  assert.equal(status, 201)
  assert.equal(body.site_id, 'east-course')
  assert.equal(headers.get('location'), '/sites/east-course')
  assert.match(body.key, /^cbs_east-course_[A-Za-z0-9_-]{43}$/)
  assert.equal((await hub.client('east-course', body.key).hello()).status, 200)
  const rotated = await people.request('POST', '/sites/east-course/keys')
  assert.equal((await hub.client('east-course', body.key).hello()).body.code, 'revoked_site_key')
  assert.equal((await hub.client('east-course', rotated.body.key).hello()).status, 200)
  assert.equal((await people.request('DELETE', '/sites/east-course/keys')).body.revoked, 1)
  assert.equal((await people.request('DELETE', '/sites/east-course/keys')).body.revoked, 0)
  assert.equal((await hub.client('east-course', rotated.body.key).hello()).body.code, 'revoked_site_key')
  assert.equal((await people.get('/sites/east-course')).keys, 0)
})

for (const [body, code] of [
  [{ name: 'North', site_id: 'north' }, 'site_exists'],
  [{ site_id: 'x' }, 'missing_field'],
  [{ name: '' }, 'invalid_field'],
  [{ name: 7 }, 'invalid_field'],
  [{ name: 'x', site_id: 'North' }, 'invalid_field'],
  [{ name: 'x', site_id: 'a'.repeat(33) }, 'invalid_field'],
  [{ name: 'x', sight_id: 'y' }, 'unknown_field'],
  ['{', 'invalid_json'],
  ['[]', 'invalid_body'],
  [{ name: 'x'.repeat(70_000) }, 'payload_too_large'],
] as const) {
  test(`a new site is rejected: ${JSON.stringify(body).slice(0, 60)}`, async () => {
    assert.equal((await people.request('POST', '/sites', { body })).body.code, code)
  })
}

for (const [name, siteId] of [
  ['Süd', 'sud'],
  ['Club de Golf Málaga', 'club-de-golf-malaga'],
  ['Weißensee Nº 1', 'weissensee-no-1'],
] as const) {
  test(`the id of ${name} is readable`, async () => {
    assert.equal((await people.request('POST', '/sites', { body: { name } })).body.site_id, siteId)
  })
}

test('a site can be renamed, and nothing changes without a name', async () => {
  const renamed = await people.request('PATCH', '/sites/south', { body: { name: ' Sunny South ' } })
  assert.equal(renamed.body.name, 'Sunny South')
  assert.equal((await people.request('PATCH', '/sites/south', { body: {} })).body.name, 'Sunny South')
})

test('a site reports its health, as fields and as an explanation', async () => {
  const gateway = await hub.site()
  const path = gateway.path
  await gateway.latest({ backlog: { rows: 0, oldest_ms: null }, devices: [{ hardware_id: 'cart-1' }] })
  const well = await people.get(path)
  assert.deepEqual([well.state, well.devices, well.backlog, well.keys], ['ok', 1, { rows: 0, oldest: null }, 1])
  assert.match(
    well.explanation,
    /^All is well: last contact \d+ seconds? ago, all data is here except that of the last seconds/,
  )
  assert.equal(well.audit, null)
  assert.equal(well.program, 'cartbarn 0.1.0')
  await gateway.latest({ backlog: { rows: 12_345, oldest_ms: Date.UTC(2026, 0, 1) } })
  const behind = await people.get(path)
  assert.equal(behind.state, 'behind')
  assert.match(behind.explanation, /12,345 records are pending, the oldest of 2026-01-01T/)
  hub.clock.aheadMs += 3_600_000
  const silent = await people.get(path)
  hub.clock.aheadMs -= 3_600_000
  assert.equal(silent.state, 'silent')
  assert.match(silent.explanation, /^Not connected since 20/)
  assert.ok(silent.freshness.seconds >= 3600)
  assert.equal((await people.get('/sites/north')).state, 'never_seen')
})

test('a site being compared is not complete, and reports how many rows are not confirmed', async () => {
  const gateway = await hub.site()
  const path = gateway.path
  const report = (unconfirmed_rows: number | null) =>
    gateway.latest({ backlog: { rows: 0, oldest_ms: null, unconfirmed_rows } })
  for (const [rows, words] of [
    [null, /compares .* not counted yet/],
    [4500, /4,500 rows are not confirmed/],
    [1, /1 row is not confirmed/],
  ] as const) {
    await report(rows)
    const { state, explanation, unconfirmed_rows } = await people.get(path)
    assert.deepEqual([state, unconfirmed_rows], ['comparing', rows])
    assert.match(explanation, words)
    assert.doesNotMatch(explanation, /all data is here|All is well/)
  }
  await report(0)
  assert.match((await people.get(path)).explanation, /all data is here except that of the last seconds/)
})

test('a hub ignores reports from before its start, because its database may be a restored copy', async (t) => {
  const first = await openHub(ANY_DATABASE)
  t.after(() => first.stop())
  const gateway = await first.site()
  await gateway.latest({ backlog: { rows: 0, oldest_ms: null, unconfirmed_rows: 0 } })
  const second = createHub(HUB_CONFIG, createLog('silent'), { clock: first.clock, database: first.hub.database })
  const get = async () => {
    const path = gateway.path
    const headers = { 'X-API-Key': HUB_CONFIG.adminApiKey ?? '' }
    return siteSchema.parse(await (await second.app.request(path, { headers })).json())
  }
  const { state, explanation } = await get()
  assert.equal(state, 'comparing')
  assert.doesNotMatch(explanation, /all data is here|All is well/)
  await gateway.latest({ backlog: { rows: 0, oldest_ms: null, unconfirmed_rows: 0 } })
  assert.equal((await get()).state, 'ok')
})

test('a gateway with a wrong clock gets a warning with its next report, until the clock is right', async () => {
  const gateway = await hub.site()
  const get = async () => await people.get(gateway.path)
  await gateway.latest({ at_ms: hub.clock.nowMs() - 7_200_000 })
  const wrong = await get()
  assert.deepEqual(wrong.warnings, ['clock'])
  assert.match(wrong.explanation, /The clock of the gateway is 2 hours behind that of the hub/)
  await gateway.latest({ at_ms: hub.clock.nowMs() })
  const right = await get()
  assert.deepEqual(right.warnings, [])
  assert.doesNotMatch(right.explanation, /clock/)
})

test('data that a gateway dropped before sending is listed with its reason', async () => {
  const gateway = await hub.site()
  const gap = { stream: 'gps', from_ms: 1000, to_ms: 5000, count: 42, hardware_ids: ['cart-1'], reason: 'disk' }
  const note = { seq: 1, note_id: 'n1', kind: 'gap', at_ms: 9000, body: gap }
  await gateway.pushRows('notes', [note])
  const { body } = await people.request('GET', `${gateway.path}/gaps`)
  assert.deepEqual(body.gaps, [
    {
      note_id: 'n1',
      stream: 'gps',
      from: '1970-01-01T00:00:01.000Z',
      to: '1970-01-01T00:00:05.000Z',
      rows: 42,
      reason: 'disk',
      recorded_at: '1970-01-01T00:00:09.000Z',
    },
  ])
  const site = await people.get(gateway.path)
  assert.deepEqual(site.gaps, { count: 1, rows: 42 })
  assert.match(site.explanation, /deleted up to 42 records/)
})

test('quarantined data can be downloaded unchanged', async () => {
  const gateway = await hub.site()
  const data = 'no runs at all'
  await gateway.pushPoison(data, 3)
  const path = `${gateway.path}/quarantine`
  const { body } = await people.request('GET', path)
  assert.equal(body.entries.length, 1)
  const [entry] = body.entries
  assert.deepEqual([entry.stream, entry.from, entry.bytes], ['telemetry', 0, data.length])
  assert.equal((await people.request('GET', `${path}/${entry.quarantine_id}`)).body, data)
  assert.equal((await people.get(`${path}/nothing`)).code, 'quarantine_not_found')
  const site = await people.get(gateway.path)
  assert.deepEqual([site.state, site.warnings], ['quarantined', ['quarantined']])
})

test('quarantined entries can be cleared, one by one or all, and the site is well again', async () => {
  const gateway = await hub.site()
  await gateway.latest({ backlog: { rows: 0, oldest_ms: null } })
  const path = `${gateway.path}/quarantine`
  for (const text of ['one', 'two', 'three']) await gateway.pushPoison(text)
  const { entries } = await people.get(path)
  const one = `${path}/${entries[0].quarantine_id}`
  for (const who of ['a viewer', 'an operator', 'no scope'] as const) {
    for (const place of [one, `${path}?through=2030-01-01`])
      assert.equal((await people.request('DELETE', place, { key: people.keys[who] })).body.code, 'admin_required')
  }
  assert.deepEqual((await people.request('DELETE', one)).body, { success: true, cleared: 1 })
  assert.equal((await people.request('DELETE', one)).body.code, 'quarantine_not_found')
  assert.equal((await people.request('DELETE', path)).body.code, 'missing_parameter')
  assert.equal((await people.request('DELETE', `${path}?through=2001-01-01T00:00:00Z`)).body.cleared, 0)
  assert.equal((await people.get(gateway.path)).state, 'quarantined')
  const newest = entries[0].received_at
  assert.equal((await people.request('DELETE', `${path}?through=${newest}`)).body.cleared, 2)
  const site = await people.get(gateway.path)
  assert.deepEqual([site.state, site.warnings], ['ok', []])
  assert.deepEqual(
    (await gateway.push(gateway.part('telemetry', { data: Buffer.alloc(0), count: 0, encoding: 'runs-1' }))).body
      .warnings,
    [],
  )
  const warnings = (await gateway.pushPoison('one')).body.warnings
  assert.deepEqual(warnings, ['quarantined'], 'a part that comes again is put into quarantine again')
})

test('the explanation of a site mentions a restore', async () => {
  const gateway = await hub.site()
  const before = gateway.epoch
  gateway.epoch = 'f'.repeat(32)
  await gateway.hello({ forked_from: { epoch: before, reason: 'restored from a backup' } })
  const site = await people.get(gateway.path)
  assert.deepEqual(valuesOf(site.epochs, 'forked_from'), [before, null])
  assert.match(site.explanation, /a different database than before \(restored from a backup\)/)
})
