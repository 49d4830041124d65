import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { createHub } from '#hub/hub.ts'
import { changeHubUser, deleteHubUser } from '#hub/store/users.ts'
import { ANY_DATABASE } from '#hub/testing/databases.ts'
import { HUB_CONFIG } from '#hub/testing/open-hub.ts'
import { REFUSED_AS_NO_ADMIN } from '#hub/testing/people.ts'
import { hubScene } from '#hub/testing/scene.ts'
import { createFirstHubAdmin } from '#hub/users.ts'
import { createLog } from '#shared/log.ts'
import { systemClock } from '#shared/time.ts'

const { hub, people } = hubScene()

before(() => people.callers('north'))

for (const refusal of REFUSED_AS_NO_ADMIN) {
  test(`${refusal[0]} cannot manage users`, () =>
    people.checkRefused(
      refusal,
      ['GET', '/users'],
      ['POST', '/users', { name: 'x' }],
      ['GET', '/users/admin'],
      ['PATCH', '/users/admin', {}],
      ['DELETE', '/users/admin'],
      ['POST', '/users/admin/rotate-key'],
    ))
}

test('a new user has no access until it is given sites, and its key is shown once', async () => {
  const { status, body, headers } = await people.request('POST', '/users', { body: { name: ' Jane ' } })
  assert.equal(status, 201)
  assert.equal(headers.get('location'), `/users/${body.user.user_id}`)
  assert.match(body.api_key, /^cbh_[A-Za-z0-9_-]{43}$/)
  const { name, role, site_ids, is_active } = body.user
  assert.deepEqual({ name, role, site_ids, is_active }, { name: 'Jane', role: 'viewer', site_ids: [], is_active: true })
  const read = await people.get(`/users/${body.user.user_id}`)
  assert.deepEqual(read, body.user)
  const listed = await people.get('/users')
  assert.ok(listed.some((user: { user_id: string }) => user.user_id === body.user.user_id))
  assert.equal(JSON.stringify(listed).includes('cbh_'), false)
})

test('a change takes effect immediately and leaves other fields unchanged', async () => {
  const { userId, key } = await people.createUser({ site_ids: ['north', 'north'] })
  const patch = async (body: object) => (await people.request('PATCH', `/users/${userId}`, { body })).body
  assert.deepEqual((await patch({})).site_ids, ['north'])
  assert.equal((await patch({ role: 'operator' })).role, 'operator')
  assert.equal((await patch({ site_ids: null })).site_ids, null)
  assert.equal((await patch({ name: 'Other' })).role, 'operator')
  assert.equal((await people.request('GET', '/sites', { key })).status, 200)
  await patch({ is_active: false })
  assert.equal((await people.get('/sites', { key })).code, 'user_inactive')
  await patch({ is_active: true })
  const { body } = await people.request('POST', `/users/${userId}/rotate-key`)
  assert.equal((await people.get('/sites', { key })).code, 'invalid_api_key')
  assert.equal((await people.request('GET', '/sites', { key: body.api_key })).status, 200)
  assert.deepEqual((await people.request('DELETE', `/users/${userId}`)).body, { success: true, deleted: userId })
  assert.equal((await people.get('/sites', { key: body.api_key })).code, 'invalid_api_key')
  for (const method of ['GET', 'DELETE'])
    assert.equal((await people.request(method, `/users/${userId}`)).body.code, 'user_not_found')
  assert.equal((await people.request('PATCH', `/users/${userId}`, { body: {} })).body.code, 'user_not_found')
  assert.equal((await people.request('POST', `/users/${userId}/rotate-key`)).body.code, 'user_not_found')
})

test('the last admin cannot be removed or demoted, even by concurrent requests', async () => {
  for (const body of [{ role: 'viewer' }, { is_active: false }])
    assert.equal((await people.request('PATCH', '/users/admin', { body })).body.code, 'last_admin')
  assert.equal((await people.request('DELETE', '/users/admin')).body.code, 'last_admin')
  // of two requests the later may be refused because its caller is no longer an admin, so the test calls the two
  // changes directly
  const { database } = hub.hub
  for (let round = 0; round < 20; round++) {
    const second = await people.createUser({ role: 'admin' })
    const answers = await Promise.allSettled([
      changeHubUser(database, 'admin', { role: 'viewer' }),
      deleteHubUser(database, second.userId),
    ])
    const refused = answers.flatMap((one) => (one.status === 'rejected' ? [one.reason.code] : []))
    assert.deepEqual(refused, ['last_admin'])
    await changeHubUser(database, 'admin', { role: 'admin' })
    if (answers[1].status === 'rejected') await deleteHubUser(database, second.userId)
  }
})

for (const [body, code] of [
  [{}, 'missing_field'],
  [{ name: ' ' }, 'invalid_field'],
  [{ name: 'x', role: 'user' }, 'invalid_field'],
  [{ name: 'x', site_ids: 'north' }, 'invalid_field'],
  [{ name: 'x', site_ids: ['*', 'north'] }, 'invalid_field'],
  [{ name: 'x', site_ids: ['No Such Name'] }, 'invalid_field'],
  [{ name: 'x', site_ids: Array.from({ length: 5001 }, (_, i) => `s${i}`) }, 'invalid_field'],
  [{ name: 'x', sites: [] }, 'unknown_field'],
] as const) {
  test(`a new user is rejected: ${JSON.stringify(body).slice(0, 50)}`, async () => {
    assert.deepEqual(await people.refusal('POST', '/users', { body }), [400, code])
  })
}

test('a single star grants every site', async () => {
  const { key, userId } = await people.createUser({ site_ids: ['*'] })
  assert.equal((await people.get(`/users/${userId}`)).site_ids, null)
  const { status, body } = await people.request('GET', '/sites', { key })
  assert.equal(status, 200)
  assert.deepEqual(body, await people.get('/sites'))
})

test('the first admin is created once, however many hubs start', async () => {
  const database = await ANY_DATABASE.open()
  try {
    const keys = ['one', 'two', 'three']
    const made = await Promise.all(keys.map((key) => createFirstHubAdmin(database, key, systemClock.nowMs())))
    const [key, ...others] = keys.filter((_, i) => made[i])
    assert.deepEqual(others, [])
    const other = createHub({ ...HUB_CONFIG, requestsPerSecond: 1 }, createLog('silent'), { database })
    const ask = (apiKey: string) => other.app.request('/sites', { headers: { 'x-api-key': apiKey } })
    const statuses: number[] = []
    for (let i = 0; i < 6; i++) statuses.push((await ask(key ?? '')).status)
    assert.ok(statuses.includes(429), 'a user is held to its request rate')
    const guesses: Response[] = []
    // some are forgiven while they are made
    for (let i = 0; i < 300 || (guesses.at(-1)?.status === 401 && i < 1_000); i++)
      guesses.push(await ask(`cbh_guess_${i}`))
    assert.deepEqual([...new Set(guesses.slice(0, 300).map(({ status }) => status))], [401])
    assert.equal(guesses.at(-1)?.status, 429)
    assert.ok(Number(guesses.at(-1)?.headers.get('retry-after')) > 0)
  } finally {
    await database.stop()
  }
})
