import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fails, ok, scene } from '#testing/scene.ts'
import { startFor } from '#testing/start-gateway.ts'

const { g, clock, onlyFor } = scene({ devices: ['cart-1'], inScope: ['cart-1'] })

/** Creates a group; returns its id. */
const createGroup = async (name = 'Front nine', groupId?: number): Promise<number> =>
  (await ok(g.post('/groups', { name, ...(groupId === undefined ? {} : { group_id: groupId }) }), 201)).group_id

const groupOf = async (hardwareId: string): Promise<number | null> =>
  (await g.get(`/devices/${hardwareId}`)).body.group_id

const ROUTES: [method: string, path: string, body?: object][] = [
  ['GET', '/groups'],
  ['POST', '/groups', { name: 'Never' }],
  ['GET', '/groups/999999'],
  ['PATCH', '/groups/999999', { name: 'Never' }],
  ['DELETE', '/groups/999999'],
  ['GET', '/groups/999999/devices'],
  ['PUT', '/groups/999999/devices/cart-1'],
  ['DELETE', '/groups/999999/devices/cart-1'],
]

for (const [method, path, body] of ROUTES) {
  onlyFor(method === 'GET' ? 'staff' : 'admins', [method, path, body])
  if (path === '/groups') continue
  test(`${method} ${path}: an unknown group is 404 group_not_found`, () =>
    fails(g.request(method, path, { body }), 404, 'group_not_found'))
  for (const id of ['0', '-1', '1.5', 'abc', '9007199254740992', '1e2', '%20'])
    test(`${method} ${path}: the group id ${id} is 400 invalid_number`, async () => {
      const { errors } = await fails(g.request(method, path.replace('999999', id), { body }), 400, 'invalid_number')
      assert.deepEqual([errors[0].in, errors[0].name], ['path', 'groupId'])
    })
}

for (const method of ['PUT', 'DELETE'])
  test(`${method} /groups/:id/devices/:id: an unknown device is 404 device_not_found`, async () =>
    fails(g.request(method, `/groups/${await createGroup()}/devices/nowhere`), 404, 'device_not_found'))

test('a group is created, shown, listed and renamed', async () => {
  const { status, headers, body } = await g.post('/groups', { name: '  Back nine ', group_id: 4711 })
  const nowIso = new Date(clock.nowMs()).toISOString()
  assert.equal(status, 201)
  assert.equal(headers.get('location'), '/groups/4711')
  assert.deepEqual(body, {
    group_id: 4711,
    name: 'Back nine',
    device_count: 0,
    geofence_version: 0,
    created_at: nowIso,
    updated_at: nowIso,
  })
  assert.deepEqual((await g.get('/groups/4711')).body, body)
  const listed = (await g.get('/groups')).body
  assert.deepEqual(
    listed.find((group: { group_id: number }) => group.group_id === 4711),
    body,
  )
  clock.advance(1000)
  assert.deepEqual((await g.patch('/groups/4711', {})).body, body)
  const renamed = await g.patch('/groups/4711', { name: 'Range' })
  const laterIso = new Date(clock.nowMs()).toISOString()
  assert.equal(renamed.status, 200)
  assert.deepEqual(renamed.body, { ...body, name: 'Range', updated_at: laterIso })
  assert.deepEqual((await g.get('/groups/4711')).body, renamed.body)
})

test('the list is ordered by group_id', async () => {
  for (const groupId of [900, 90, 9000]) await createGroup('Ordered', groupId)
  const ids = (await g.get('/groups')).body.map(({ group_id }: { group_id: number }) => group_id)
  assert.deepEqual(
    ids,
    ids.toSorted((a: number, b: number) => a - b),
  )
  for (const groupId of [90, 900, 9000]) assert.ok(ids.includes(groupId))
})

test('a generated id is one more than the highest, also for groups created concurrently', async () => {
  const first = await createGroup()
  const others = await Promise.all([createGroup(), createGroup(), createGroup()])
  assert.deepEqual(others.toSorted(), [first + 1, first + 2, first + 3])
})

test('a used id is 409 group_exists; exactly one of many concurrent requests succeeds', async () => {
  const body = { name: 'Raced', group_id: 5555 }
  const answers = await Promise.all(Array.from({ length: 4 }, () => g.post('/groups', body)))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 409, 409, 409])
  assert.equal(answers.find(({ status }) => status === 409)?.body.code, 'group_exists')
})

test('once the highest id is used, the caller has to choose one', async (t) => {
  const own = await startFor(t)

  await ok(own.post('/groups', { name: 'Last', group_id: Number.MAX_SAFE_INTEGER }), 201)
  await fails(own.post('/groups', { name: 'Next' }), 409, 'no_group_id_left')
  await ok(own.post('/groups', { name: 'N', group_id: 1 }), 201)
})

for (const [what, fields, code, name] of [
  ['nothing', {}, 'missing_field', 'name'],
  ['an empty name', { name: ' ' }, 'invalid_field', 'name'],
  ['a name of 201', { name: 'x'.repeat(201) }, 'invalid_field', 'name'],
  ['a number as name', { name: 7 }, 'invalid_field', 'name'],
  ['name null', { name: null }, 'invalid_field', 'name'],
  ['id 0', { name: 'x', group_id: 0 }, 'invalid_field', 'group_id'],
  ['id 2^53', { name: 'x', group_id: 2 ** 53 }, 'invalid_field', 'group_id'],
  ['id 1.5', { name: 'x', group_id: 1.5 }, 'invalid_field', 'group_id'],
  ['an id as text', { name: 'x', group_id: '7' }, 'invalid_field', 'group_id'],
  ['an unknown field', { name: 'x', colour: 'red' }, 'unknown_field', 'colour'],
] as [string, object, string, string][])
  test(`POST /groups with ${what} is 400 ${code} and creates nothing`, async () => {
    const known = (await g.get('/groups')).body.length
    const { status, body } = await g.post('/groups', fields)
    assert.deepEqual([status, body.code, body.errors[0].name], [400, code, name])
    assert.equal((await g.get('/groups')).body.length, known)
  })

for (const [what, fields, code] of [
  ['name null', { name: null }, 'invalid_field'],
  ['an empty name', { name: '' }, 'invalid_field'],
  ['the id', { group_id: 8 }, 'unknown_field'],
] as [string, object, string][])
  test(`PATCH /groups/:id with ${what} is 400 ${code}`, async () =>
    fails(g.patch(`/groups/${await createGroup()}`, fields), 400, code))

test('a body over 64 KiB is 413', async () =>
  assert.equal((await g.post('/groups', { name: 'x'.repeat(70_000) })).status, 413))

test('a device is assigned, moved and removed; repeating a request changes nothing', async () => {
  const [first, second] = [await createGroup('A'), await createGroup('B')]
  await g.register('moved')
  const shortId = (await g.get('/devices/moved')).body.short_id
  for (const [groupId, id, previous] of [
    [first, 'moved', null],
    [first, 'moved', first],
    [second, shortId, first],
  ] as [number, string, number | null][]) {
    const body = await ok(g.put(`/groups/${groupId}/devices/${id}`))
    assert.deepEqual(body, { success: true, group_id: groupId, hardware_id: 'moved', previous_group_id: previous })
    assert.equal(await groupOf('moved'), groupId)
  }
  assert.equal((await g.get(`/groups/${first}`)).body.device_count, 0)
  assert.equal((await g.get(`/groups/${second}`)).body.device_count, 1)
  await fails(g.remove(`/groups/${first}/devices/moved`), 404, 'device_not_in_group')
  const body = await ok(g.remove(`/groups/${second}/devices/moved`))
  assert.deepEqual(body, { success: true, group_id: null, hardware_id: 'moved', previous_group_id: second })
  assert.equal(await groupOf('moved'), null)
  await fails(g.remove(`/groups/${second}/devices/moved`), 404, 'device_not_in_group')
})

test('the devices of a group are listed by hardware_id, in pages, each the same as alone', async () => {
  const groupId = await createGroup('Listed')
  for (const id of ['g-3', 'g-1', 'g-2']) {
    await g.register(id)
    await g.put(`/groups/${groupId}/devices/${id}`)
  }
  const body = await ok(g.get(`/groups/${groupId}/devices`))
  assert.deepEqual(body.pagination, { limit: 100, offset: 0, returned: 3 })
  for (const [i, id] of ['g-1', 'g-2', 'g-3'].entries())
    assert.deepEqual(body.devices[i], (await g.get(`/devices/${id}`)).body)
  const page = (await g.get(`/groups/${groupId}/devices?limit=1&offset=1`)).body
  assert.deepEqual(page.devices, [body.devices[1]])
  assert.deepEqual(page.pagination, { limit: 1, offset: 1, returned: 1 })
  for (const query of ['limit=0', 'limit=1001', 'offset=-1', 'limit='])
    assert.equal((await g.get(`/groups/${groupId}/devices?${query}`)).status, 400)
})

test('a group is set at registration and by PUT /devices/:id; null removes the device from it', async () => {
  const groupId = await createGroup('Given')
  const body = await ok(g.post('/devices', { hardware_id: 'grouped', device_type: 'teebox', group_id: groupId }), 201)
  assert.deepEqual(body.device.group_id, groupId)
  const rest = { name: 'x', device_type: 'teebox' }
  await g.put('/devices/grouped', { ...rest, group_id: groupId })
  assert.equal(await groupOf('grouped'), groupId)
  const out = await g.put('/devices/grouped', { ...rest, group_id: null })
  assert.deepEqual([out.status, out.body.group_id], [200, null])
  assert.equal((await g.put('/devices/grouped', { ...rest, group_id: groupId })).body.group_id, groupId)
})

test('a group with devices is 409 group_not_empty; an empty one is deleted, a second time 404', async () => {
  const groupId = await createGroup('Doomed')
  await g.register('last-one')
  await g.put(`/groups/${groupId}/devices/last-one`)
  await fails(g.remove(`/groups/${groupId}`), 409, 'group_not_empty')
  await g.remove('/devices/last-one')
  assert.deepEqual(await ok(g.remove(`/groups/${groupId}`)), { success: true, deleted: groupId })
  await fails(g.remove(`/groups/${groupId}`), 404, 'group_not_found')
})

test('a group that is deleted while a device joins is either gone or not empty', async () => {
  for (let i = 0; i < 10; i++) {
    const groupId = await createGroup('Raced')
    await g.register(`joiner-${i}`)
    const [deleted, joined] = await Promise.all([
      g.remove(`/groups/${groupId}`),
      g.put(`/groups/${groupId}/devices/joiner-${i}`),
    ])
    const isThere = (await g.get(`/groups/${groupId}`)).status === 200
    assert.notEqual(deleted.status === 200, joined.status === 200)
    assert.equal(joined.status === 200, isThere)
    assert.equal(await groupOf(`joiner-${i}`), isThere ? groupId : null)
  }
})

test('groups and their members are the same after a restart', async () => {
  const groupId = await createGroup('Kept')
  await g.put(`/groups/${groupId}/devices/cart-1`)
  const known = (await g.get('/groups')).body
  await g.restart()
  assert.deepEqual((await g.get('/groups')).body, known)
  assert.equal(await groupOf('cart-1'), groupId)
})
