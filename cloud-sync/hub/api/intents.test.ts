import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { REFUSED_AS_NO_OPERATOR, REFUSED_OUTSIDE_SCOPE } from '#hub/testing/people.ts'
import { siteScene } from '#hub/testing/scene.ts'
import { entityRev } from '#shared/sync-hash.ts'
import { intentSchema } from '#shared/wire/replication/sync.ts'

const LOCK = { kind: 'command.send', body: { hardware_id: 'cart-1', command: 'lock' } }

const { hub, people, site } = siteScene()
const path = '/sites/site-1/intents'

before(() => people.callers(site.siteId))

async function createIntent(body: object): Promise<string> {
  const answer = await people.request('POST', path, { body, key: people.keys['an operator'] })
  assert.equal(answer.status, 201, JSON.stringify(answer.body))
  assert.equal(answer.headers.get('location'), `${path}/${answer.body.intent_id}`)
  return answer.body.intent_id
}

for (const refusal of REFUSED_AS_NO_OPERATOR) {
  test(`${refusal[0]} cannot create or withdraw intents`, () =>
    people.checkRefused(refusal, ['POST', path, LOCK], ['DELETE', `${path}/x`]))
}

for (const refusal of REFUSED_OUTSIDE_SCOPE) {
  test(`${refusal[0]} cannot read intents`, () => people.checkRefused(refusal, ['GET', path], ['GET', `${path}/x`]))
}

test('a waiting gateway gets an intent immediately, and its report becomes the result', async () => {
  const waiting = site.request('GET', '/intents?after=0&wait=20')
  while (hub.hub.intentWatch.waitingCount === 0) await new Promise(setImmediate)
  const id = await createIntent(LOCK)
  const { intents } = (await waiting).body
  assert.equal(intents.length, 1)
  const [intent] = intents
  assert.deepEqual([intent.intent_id, intent.kind, intent.body], [id, LOCK.kind, LOCK.body])
  assert.equal(intent.expires_at_ms - intent.issued_at_ms, 120_000)
  const read = async () => await people.get(`${path}/${id}`, { key: people.keys['a viewer'] })
  assert.deepEqual([(await read()).status, (await read()).is_fetched], ['pending', true])
  const body = { intent_id: id, status: 'rejected', reason: 'there is no such device' }
  const note = { seq: 1, note_id: 'n1', kind: 'intent_result', at_ms: Date.now(), body }
  await site.pushRows('notes', [note])
  const finished = await read()
  assert.deepEqual([finished.status, finished.reason], ['rejected', 'there is no such device'])
  assert.ok(finished.finished_at !== null)
  assert.deepEqual(await people.refusal('DELETE', `${path}/${id}`), [409, 'intent_over'])
})

test('a gateway whose key is revoked while it waits gets no intent', async () => {
  const leaving = await hub.site()
  const waiting = leaving.request('GET', '/intents?after=0&wait=20')
  while (hub.hub.intentWatch.waitingCount === 0) await new Promise(setImmediate)
  await hub.hub.sites.revoke(leaving.siteId)
  await people.request('POST', `${leaving.path}/intents`, { body: LOCK })
  const answer = await waiting
  assert.deepEqual([answer.status, answer.body.code], [401, 'revoked_site_key'])
  assert.equal(answer.body.intents, undefined)
})

test('a gateway that asks after an absurd number gets intents again, with a number it accepts', async () => {
  const scarred = await hub.site()
  const made = await people.request('POST', `${scarred.path}/intents`, { body: LOCK })
  assert.equal(made.status, 201)
  const answer = await scarred.request('GET', '/intents?after=9007199254740991')
  assert.equal(answer.status, 200)
  const [intent] = answer.body.intents
  assert.equal(intent.intent_id, made.body.intent_id)
  assert.ok(intentSchema.safeParse(intent).success, `${intent.seq}`)
})

test('an intent can be withdrawn until it is sent to its gateway', async () => {
  const fetched = await createIntent(LOCK)
  const { intents } = (await site.request('GET', '/intents?after=0')).body
  const seq = intents.find((one: { intent_id: string }) => one.intent_id === fetched).seq
  assert.equal((await people.request('DELETE', `${path}/${fetched}`)).body.code, 'intent_fetched')
  const id = await createIntent(LOCK)
  const withdrawn = await people.request('DELETE', `${path}/${id}`, { key: people.keys['an operator'] })
  assert.deepEqual([withdrawn.status, withdrawn.body.status], [200, 'withdrawn'])
  const left = (await site.request('GET', `/intents?after=${seq}`)).body.intents
  assert.deepEqual(left, [])
})

test('the result of a gateway counts for an intent that was withdrawn too late', async () => {
  const id = await createIntent(LOCK)
  await site.request('GET', '/intents?after=0')
  // as after the restore of an older database
  await hub.hub.database.run('UPDATE site SET intents_sent = 0 WHERE site_id = $1', [site.siteId])
  assert.equal((await people.request('DELETE', `${path}/${id}`)).body.status, 'withdrawn')
  const body = { intent_id: id, status: 'applied', reason: null }
  const note = { seq: 9, note_id: 'n9', kind: 'intent_result', at_ms: Date.now(), body }
  await site.pushRows('notes', [note], { to: site.cursors.notes.seq + 9 })
  assert.equal((await people.get(`${path}/${id}`)).status, 'applied')
})

test('an intent whose response the gateway may have received does not count as expired', async () => {
  const id = await createIntent({ ...LOCK, expires_in_s: 5 })
  await site.request('GET', '/intents?after=0')
  hub.clock.aheadMs += 60_000
  try {
    assert.equal((await people.get(`${path}/${id}`)).status, 'pending')
    const pending = (await people.get(`${path}?status=pending`)).intents
    assert.ok(pending.some((one: { intent_id: string }) => one.intent_id === id))
  } finally {
    hub.clock.aheadMs -= 60_000
  }
})

test('an intent that was not fetched in time is expired, also in lists', async () => {
  const id = await createIntent({ ...LOCK, expires_in_s: 5 })
  hub.clock.aheadMs += 60_000
  try {
    const { body } = await people.request('GET', `${path}/${id}`)
    assert.deepEqual([body.status, body.reason], ['expired', 'the gateway did not fetch the intent before it expired'])
    const { intents } = await people.get(`${path}?status=expired&kind=command.send`)
    assert.ok(intents.some((one: { intent_id: string }) => one.intent_id === id))
    const pending = (await people.get(`${path}?status=pending`)).intents
    assert.ok(!pending.some((one: { intent_id: string }) => one.intent_id === id))
  } finally {
    hub.clock.aheadMs -= 60_000
  }
})

test('intents created concurrently have different numbers without gaps', async () => {
  const ids = await Promise.all(Array.from({ length: 12 }, () => createIntent(LOCK)))
  assert.equal(new Set(ids).size, 12)
  const sql = 'SELECT seq FROM intent WHERE site_id = $1 ORDER BY seq'
  const rows = await hub.hub.database.all<{ seq: number }>(sql, [site.siteId])
  for (const [i, { seq }] of rows.entries()) assert.equal(seq, i + 1)
  const { body } = await people.request('GET', `${path}?limit=2&offset=1`)
  assert.deepEqual(body.pagination, { limit: 2, offset: 1, returned: 2 })
})

const POLYGON = {
  type: 'Feature',
  geometry: { type: 'Point', coordinates: [-81.58, 28.41] },
  properties: { name: 'Green', type: 'alert', radius_m: 25 },
}

for (const body of [
  { kind: 'config.set', body: { hardware_id: 'cart-1', config: { realtime_enabled: true } }, base_rev: 'a1' },
  { kind: 'config.set', body: { group_id: 42, device_type: 'teebox', config: {} } },
  { kind: 'geofence.put', body: { group_id: 42, geofences: { type: 'FeatureCollection', features: [POLYGON] } } },
  { kind: 'user.disable', body: { user_id: 'x' } },
  { kind: 'resend', body: {} },
  { kind: 'resend', body: { kind: 'gps', day: '2026-05-01' } },
  { kind: 'command.send', body: { hardware_id: 'cart-1', command: 'message', params: { text: 'hi' } } },
]) {
  test(`a gateway gets the body of an intent unchanged: ${JSON.stringify(body).slice(0, 50)}`, async () => {
    const id = await createIntent(body)
    const read = await people.get(`${path}/${id}`)
    assert.deepEqual(read.body, body.body)
    assert.equal(read.base_rev, 'base_rev' in body ? body.base_rev : null)
    assert.equal(read.requested_by.length, 36)
  })
}

for (const [body, code] of [
  [{}, 'invalid_field'],
  [{ kind: 'reboot', body: {} }, 'invalid_field'],
  [{ kind: 'command.send' }, 'missing_field'],
  [{ kind: 'command.send', body: { command: 'lock' } }, 'missing_field'],
  [{ ...LOCK, expires_in_s: 0 }, 'invalid_field'],
  [{ ...LOCK, expires_in_s: 1.5 }, 'invalid_field'],
  [{ ...LOCK, expires: 5 }, 'unknown_field'],
  [{ kind: 'command.send', body: { ...LOCK.body, comand: 'x' } }, 'unknown_field'],
  [{ kind: 'command.send', body: { ...LOCK.body, force: 'yes' } }, 'invalid_field'],
  [{ kind: 'resend', body: { day: 'yesterday' } }, 'invalid_field'],
  [{ kind: 'geofence.put', body: { group_id: 0, geofences: {} } }, 'invalid_field'],
  [{ kind: 'config.set', body: { config: {} } }, 'invalid_field'],
  ['nonsense', 'invalid_json'],
] as const) {
  test(`the hub rejects an intent: ${JSON.stringify(body).slice(0, 60)}`, async () => {
    assert.deepEqual(await people.refusal('POST', path, { body }), [400, code])
  })
}

test('operators and admins can list the revisions that intents name', async () => {
  const gateway = await hub.site()
  const config = { hardware_id: 'cart-1', config: '{}', updated_at_ms: 5 }
  await gateway.pushEntities(
    { table: 'device_config', key: 'cart-1', body: config },
    { table: 'group_config', key: '42/teebox', body: { group_id: 42 } },
    { table: 'user', key: 'u1', body: { name: 'Jane' } },
    { table: 'geofence_set', key: '7', body: null },
    { table: 'device', key: 'cart-1', body: {} },
  )
  const path = `${gateway.path}/revisions`
  const { body } = await people.request('GET', path)
  assert.deepEqual(body, {
    revisions: [
      { kind: 'config.set', hardware_id: 'cart-1', rev: entityRev(config) },
      { kind: 'config.set', group_id: 42, device_type: 'teebox', rev: entityRev({ group_id: 42 }) },
      { kind: 'user.disable', user_id: 'u1', rev: entityRev({ name: 'Jane' }) },
    ],
    none: entityRev(null),
  })
  const viewer = await people.createUser({ role: 'viewer', site_ids: [gateway.siteId] })
  assert.equal((await people.get(path, { key: viewer.key })).code, 'operator_required')
  const elsewhere = await people.createUser({ role: 'operator', site_ids: ['elsewhere'] })
  assert.equal((await people.get(path, { key: elsewhere.key })).code, 'site_forbidden')
})

test('an unknown intent gets 404, an oversized one 413', async () => {
  assert.equal((await people.get(`${path}/nothing`)).code, 'intent_not_found')
  assert.equal((await people.request('DELETE', `${path}/nothing`)).body.code, 'intent_not_found')
  assert.equal((await people.request('POST', '/sites/nowhere/intents', { body: LOCK })).body.code, 'site_not_found')
  assert.equal((await people.get(`${path}?status=gone`)).code, 'invalid_status')
  const body = { kind: 'config.set', body: { hardware_id: 'x', config: { text: 'x'.repeat(1_100_000) } } }
  assert.equal((await people.request('POST', path, { body })).status, 413)
})

test('only an admin forces a lock', async () => {
  const body = { ...LOCK, body: { ...LOCK.body, force: true } }
  const refusal = await people.refusal('POST', path, { body, key: people.keys['an operator'] })
  assert.deepEqual(refusal, [403, 'admin_required'])
  const { status, body: intent } = await people.request('POST', path, { body })
  assert.deepEqual([status, intent.body], [201, body.body])
  await createIntent({ ...LOCK, body: { ...LOCK.body, force: false } })
})
