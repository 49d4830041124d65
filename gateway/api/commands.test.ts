import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { eventually } from '#shared/testing/eventually.ts'
import { DAY_MS, toIso } from '#shared/time.ts'
import { REFUSED_AS_NO_ADMIN, REFUSED_AS_NO_STAFF, REFUSED_OUTSIDE_SCOPE, type Who } from '#testing/callers.ts'
import { CommandedDevice } from '#testing/course/commanded-device.ts'
import { fails, ok, scene } from '#testing/scene.ts'
import { metric } from '#testing/start-gateway.ts'

const UNKNOWN_ID = '00000000-0000-4000-8000-000000000000'
const { g, clock, keys } = scene({ devices: ['teebox-1'], groups: [9], inScope: ['teebox-1'] })
let commandId: string

before(async () => {
  await g.register('caddie-1', 'cartcaddie')
  commandId = (await post('/devices/teebox-1/commands', { command: 'locate' })).body.command_id
})

const post = (path: string, body: unknown, headers: Record<string, string> = {}, key = keys?.admin) =>
  g.request('POST', path, { body, headers, ...(key == null ? {} : { key }) })

/** Routes with the rejected roles; `:id` stands for the id of a command. */
const ROUTES: [method: string, path: string, body: object | undefined, refused: typeof REFUSED_AS_NO_ADMIN][] = [
  ['POST', '/devices/teebox-1/commands', { command: 'locate' }, REFUSED_OUTSIDE_SCOPE],
  ['GET', '/devices/teebox-1/commands', undefined, REFUSED_OUTSIDE_SCOPE],
  ['GET', '/commands/:id', undefined, REFUSED_OUTSIDE_SCOPE],
  ['GET', '/commands', undefined, REFUSED_AS_NO_STAFF],
  ['POST', '/commands/:id/retry', undefined, REFUSED_AS_NO_ADMIN],
  ['POST', '/groups/9/commands', { command: 'locate' }, REFUSED_AS_NO_STAFF],
]

for (const [method, path, body, refused] of ROUTES) {
  const ask = (who: Who) => g.request(method, path.replace(':id', commandId), { key: keys[who], body })
  for (const [who, status, code] of refused)
    test(`${method} ${path}: ${who} gets ${status} ${code}`, () => fails(ask(who), status, code))
  for (const who of ['in scope', 'admin'] as const) {
    if (refused.some(([refusedWho]) => refusedWho === who)) continue
    test(`${method} ${path}: ${who} is authorised`, async () =>
      assert.equal((await ask(who)).status, method === 'POST' ? 202 : 200))
  }
}

test('an unknown command is 404 and a device outside the scope 403 before the body is read', async () => {
  for (const [method, path] of [
    ['GET', `/commands/${UNKNOWN_ID}`],
    ['GET', '/commands/%00'],
    ['POST', `/commands/${UNKNOWN_ID}/retry`],
  ] as const)
    await fails(g.request(method, path), 404, 'command_not_found')
  for (const path of ['/devices/nowhere/commands', '/groups/77/commands'])
    assert.equal((await post(path, { command: 'locate' })).status, 404)
  await fails(post('/devices/caddie-1/commands', { command: 'locate' }, {}, keys['in scope']), 403, 'device_forbidden')
})

const EVERY_PATH = ['/devices/teebox-1/commands', '/groups/9/commands']
const METADATA = { text: `${'ü'.repeat(2042)}x` }

for (const [what, body, code, name] of [
  ['no command', {}, 'missing_field', 'command'],
  ['an empty command', { command: '' }, 'invalid_field', 'command'],
  ['a number as command', { command: 7 }, 'invalid_field', 'command'],
  ['a command no device knows', { command: 'dance' }, 'unknown_command', 'command'],
  ['a command that is a property of every object', { command: 'constructor' }, 'unknown_command', 'command'],
  ['a misspelt field', { command: 'lock', metdata: {} }, 'unknown_field', 'metdata'],
  ['params that are no object', { command: 'lock', params: [] }, 'invalid_field', 'params'],
  ['an unknown parameter', { command: 'lock', params: { hard: true } }, 'unknown_field', 'params.hard'],
  ['a parameter of the wrong type', { command: 'locate', params: { beep: 1 } }, 'invalid_field', 'params.beep'],
  ['metadata that is not an object', { command: 'lock', metadata: 'Jane' }, 'invalid_field', 'metadata'],
  ['metadata over 4 KiB', { command: 'lock', metadata: { text: `${METADATA.text}x` } }, 'too_large', 'metadata'],
  ['no time at all', { command: 'lock', ttl_seconds: 0 }, 'invalid_field', 'ttl_seconds'],
  ['more than a day', { command: 'lock', ttl_seconds: 86_401 }, 'invalid_field', 'ttl_seconds'],
  ['half a second', { command: 'lock', ttl_seconds: 1.5 }, 'invalid_field', 'ttl_seconds'],
  ['time as text', { command: 'lock', ttl_seconds: '60' }, 'invalid_field', 'ttl_seconds'],
] as const)
  test(`${what} is 400 ${code}, and nothing is created`, async () => {
    const before = (await g.get('/stats')).body.commands
    for (const path of EVERY_PATH) {
      const [error] = (await fails(post(path, body), 400, code)).errors
      assert.deepEqual([error.in, error.name], ['body', name])
    }
    assert.equal((await g.get('/stats')).body.commands, before)
  })

test('a body that is not JSON is 400, of another content type 415, too large 413', async () => {
  for (const path of EVERY_PATH) {
    assert.equal((await post(path, '{"command"')).body.code, 'invalid_json')
    assert.equal((await post(path, '[]')).body.code, 'invalid_body')
    assert.equal((await post(path, 'x', { 'content-type': 'text/plain' })).status, 415)
    assert.equal((await post(path, { command: 'lock', metadata: { x: 'x'.repeat(70_000) } })).status, 413)
  }
})

test('a command of other device types is unsupported; both errors list the available commands', async () => {
  const unsupported = await post('/devices/teebox-1/commands', { command: 'message', params: { text: 'x' } })
  assert.deepEqual([unsupported.status, unsupported.body.code], [400, 'unsupported_command'])
  const unknown = await post('/devices/caddie-1/commands', { command: 'dance' })
  for (const [{ body }, known] of [
    [unsupported, 'lock, unlock, reboot, locate, refresh_config'],
    [unknown, 'lock, unlock, reboot, locate, refresh_config, fetch_geofences, message'],
  ] as const)
    assert.ok(body.detail.endsWith(known), body.detail)
})

test('a message needs a text of 1 to 200 characters', async () => {
  const send = (params?: object) =>
    post('/devices/caddie-1/commands', { command: 'message', ...(params && { params }) })
  assert.equal((await send()).body.code, 'missing_field')
  assert.equal((await send({ text: '' })).body.code, 'invalid_field')
  assert.equal((await send({ text: 'x'.repeat(201) })).body.code, 'invalid_field')
  assert.deepEqual((await send({ text: 'x'.repeat(200) })).body.params, { text: 'x'.repeat(200) })
})

test('fetch_geofences needs a device in a group, and the caller cannot set its parameters', async () => {
  await fails(post('/devices/caddie-1/commands', { command: 'fetch_geofences' }), 400, 'no_group')
  const own = await post('/devices/caddie-1/commands', { command: 'fetch_geofences', params: { url: 'x' } })
  assert.equal(own.body.code, 'unknown_field')
})

for (const [type, name, ttlS] of [
  ['teebox', 'lock', 60],
  ['teebox', 'unlock', 60],
  ['teebox', 'reboot', 60],
  ['teebox', 'locate', 120],
  ['caddie', 'refresh_config', 86_400],
  ['caddie', 'message', 600],
] as const)
  test(`${name} expires after ${ttlS} s, or after the time the caller sets`, async () => {
    const params = name === 'message' ? { text: 'x' } : {}
    for (const [ttl_seconds, expectedS] of [
      [undefined, ttlS],
      [1, 1],
      [86_400, 86_400],
    ]) {
      const { body } = await post(`/devices/${type}-1/commands`, { command: name, params, ttl_seconds })
      assert.equal(body.expires_at, toIso(clock.nowMs() + 1000 * (expectedS ?? 0)))
    }
  })

test('a device may be named by its short id; null counts as absent; 4 KiB of metadata are accepted', async () => {
  const { body: device } = await g.get('/devices/teebox-1')
  const body = { command: 'lock', params: null, metadata: null }
  const created = await post(`/devices/${device.short_id}/commands`, body)
  assert.equal(created.status, 202)
  const { hardware_id, device_id, params, metadata, command_id } = created.body
  assert.deepEqual([hardware_id, device_id, params, metadata], ['teebox-1', device.short_id, {}, null])
  assert.equal(created.headers.get('location'), `/commands/${command_id}`)
  assert.deepEqual((await g.get(`/commands/${command_id}`)).body.command_id, command_id)
  const large = await post('/devices/teebox-1/commands', { command: 'lock', metadata: METADATA })
  assert.deepEqual(large.body.metadata, METADATA)
})

describe('lists', () => {
  let created: string[]
  before(async () => {
    await g.register('listed', 'cartcaddie')
    created = []
    for (const command of ['lock', 'locate', 'unlock', 'locate', 'reboot'])
      created.push((await post('/devices/listed/commands', { command })).body.command_id)
  })
  const idsOf = async (path: string) => {
    const body = await ok(g.get(path))
    assert.equal(body.pagination.returned, body.commands.length)
    return body.commands.map(({ command_id }: { command_id: string }) => command_id)
  }

  test('are newest first, in pages', async () => {
    const newest = created.toReversed()
    assert.deepEqual(await idsOf('/devices/listed/commands'), newest)
    assert.deepEqual(await idsOf('/devices/listed/commands?limit=2&offset=1'), newest.slice(1, 3))
    assert.deepEqual(await idsOf('/devices/listed/commands?offset=5'), [])
    assert.deepEqual(await idsOf('/commands?hardware_id=listed'), newest)
    assert.deepEqual((await idsOf('/commands?limit=5')).length, 5)
  })

  test('are oldest first on request and continue after any command', async () => {
    assert.deepEqual(await idsOf('/devices/listed/commands?order=asc'), created)
    assert.deepEqual(await idsOf(`/devices/listed/commands?before=${created[3]}&limit=2`), [created[2], created[1]])
    assert.deepEqual(await idsOf(`/commands?hardware_id=listed&before=${created[0]}`), [])
    await g.register('unlisted')
    await fails(g.get(`/devices/unlisted/commands?before=${created[0]}`), 400, 'invalid_parameter')
  })

  test('are filtered by status, command and device', async () => {
    const [lock, firstLocate, , secondLocate] = created
    assert.deepEqual(await idsOf('/devices/listed/commands?status=failed'), [lock])
    assert.deepEqual(await idsOf('/commands?hardware_id=listed&command=locate&status=pending'), [
      secondLocate,
      firstLocate,
    ])
    assert.deepEqual(await idsOf('/commands?hardware_id=nobody'), [])
    assert.deepEqual(await idsOf('/commands?hardware_id=listed&command=dance'), [])
  })

  for (const [query, code] of [
    ['limit=0', 'invalid_number'],
    ['limit=1001', 'invalid_number'],
    ['limit=x', 'invalid_number'],
    ['offset=-1', 'invalid_number'],
    ['order=newest', 'invalid_parameter'],
    ['before=nothing', 'invalid_parameter'],
    ['status=done', 'invalid_status'],
    ['status=', 'invalid_status'],
  ])
    test(`?${query} is 400 ${code}`, async () => {
      for (const path of ['/commands', '/devices/listed/commands']) await fails(g.get(`${path}?${query}`), 400, code)
    })
})

describe('retry', () => {
  const becomes = (commandId: string, status: string) =>
    eventually(async () => (await g.get(`/commands/${commandId}`)).body.status === status, `the command is ${status}`)

  test('of an unfinished command is 409 command_not_finished, of a completed one 409 command_completed', async () => {
    const password = await g.register('obedient')
    const { body } = await post('/devices/obedient/commands', { command: 'locate' })
    const refusal = async () => {
      const answer = await g.post(`/commands/${body.command_id}/retry`)
      return [answer.status, answer.body.code]
    }
    assert.deepEqual(await refusal(), [409, 'command_not_finished'])
    const device = await CommandedDevice.connect(g, 'obedient', password)
    await device.next()
    await becomes(body.command_id, 'published')
    assert.deepEqual(await refusal(), [409, 'command_not_finished'])
    await device.ack(body.command_id, 'acknowledged')
    await becomes(body.command_id, 'acknowledged')
    assert.deepEqual(await refusal(), [409, 'command_not_finished'])
    await device.ack(body.command_id, 'completed')
    await becomes(body.command_id, 'completed')
    assert.deepEqual(await refusal(), [409, 'command_completed'])
    await device.leave()
  })

  test('of a failed or expired command repeats it as a new command that names the old one', async () => {
    const asked = { command: 'locate', params: { beep: true }, metadata: { a: 1 }, ttl_seconds: 7 }
    const { body: first } = await post('/devices/teebox-1/commands', asked)
    clock.advance(7000)
    await becomes(first.command_id, 'timeout')
    const body = await ok(g.post(`/commands/${first.command_id}/retry`), 202)
    assert.deepEqual(body, {
      ...first,
      command_id: body.command_id,
      retry_of: first.command_id,
      created_at: toIso(clock.nowMs()),
      expires_at: toIso(clock.nowMs() + 7000),
    })
    assert.notEqual(body.command_id, first.command_id)
  })

  test('for a removed device is 404, for one that now has another type 400', async () => {
    await g.register('gone', 'cartcaddie')
    const message = { command: 'message', params: { text: 'x' } }
    const { body } = await post('/devices/gone/commands', { ...message, ttl_seconds: 1 })
    clock.advance(1000)
    await becomes(body.command_id, 'timeout')
    await g.put('/devices/gone', { name: null, device_type: 'teebox', group_id: null })
    await fails(g.post(`/commands/${body.command_id}/retry`), 400, 'unsupported_command')
    await g.remove('/devices/gone')
    await fails(g.post(`/commands/${body.command_id}/retry`), 404, 'device_not_found')
  })
})

describe('Idempotency-Key', () => {
  const path = '/devices/teebox-1/commands'
  const withKey = (key: string) => ({ 'idempotency-key': key })
  const body = { command: 'locate', params: { beep: true }, metadata: { a: 1, b: 2 } }

  test('gives the same request the same command, even with its keys in another order', async () => {
    const first = await post(path, body, withKey('one'))
    const again = await post(path, { ...body, metadata: { b: 2, a: 1 } }, withKey('one'))
    assert.deepEqual([first.status, again.status], [202, 202])
    assert.deepEqual(again.body, first.body)
    assert.equal(first.headers.get('idempotency-replayed'), null)
    assert.equal(again.headers.get('idempotency-replayed'), 'true')
  })

  test('creates one command for two concurrent requests', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => post(path, body, withKey('twins'))))
    assert.equal(new Set(answers.map((answer) => answer.body.command_id)).size, 1)
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([202]))
  })

  test('is 409 for another request under the same key: another body, device or path', async () => {
    const { body: first } = await post(path, body, withKey('two'))
    for (const [otherPath, otherBody] of [
      [path, { ...body, params: { beep: false } }],
      ['/devices/caddie-1/commands', body],
      ['/groups/9/commands', body],
      [`/commands/${first.command_id}/retry`, undefined],
    ] as const)
      await fails(
        g.request('POST', otherPath, {
          headers: withKey('two'),
          ...(otherBody === undefined ? {} : { body: otherBody }),
        }),
        409,
        'idempotency_key_reused',
      )
  })

  test('is separate for each user', async () => {
    const mine = await post(path, body, withKey('three'))
    const theirs = await post(path, body, withKey('three'), keys['in scope'])
    assert.equal(theirs.status, 202)
    assert.notEqual(mine.body.command_id, theirs.body.command_id)
  })

  test('is not used up by a rejected request', async () => {
    assert.equal((await post(path, { command: 'dance' }, withKey('four'))).status, 400)
    await ok(post(path, body, withKey('four')), 202)
  })

  test('survives a restart and is forgotten after a day', async () => {
    const { body: first } = await post(path, body, withKey('five'))
    await g.restart()
    assert.equal((await post(path, body, withKey('five'))).body.command_id, first.command_id)
    clock.advance(DAY_MS - 1)
    assert.equal((await post(path, body, withKey('five'))).body.command_id, first.command_id)
    clock.advance(1)
    assert.notEqual((await post(path, body, withKey('five'))).body.command_id, first.command_id)
  })

  test('also applies to a retry and a group command', async () => {
    for (const [otherPath, otherBody] of [
      [`/commands/${commandId}/retry`, undefined],
      ['/groups/9/commands', { command: 'locate' }],
    ] as const) {
      const ask = () =>
        g.request('POST', otherPath, {
          headers: withKey(otherPath),
          ...(otherBody === undefined ? {} : { body: otherBody }),
        })
      const [first, again] = [await ask(), await ask()]
      assert.deepEqual(again.body, first.body)
      assert.equal(again.headers.get('idempotency-replayed'), 'true')
    }
  })

  for (const key of ['', 'x'.repeat(256), 'ü', 'a\tb'])
    test(`${JSON.stringify(key.slice(0, 9))} (${key.length} characters) is invalid: 400`, async () => {
      const { status, body: problem } = await post(path, body, withKey(key))
      assert.deepEqual([status, problem.code, problem.errors[0].in], [400, 'invalid_field', 'header'])
    })

  test('may have 255 characters and inner blanks', () => ok(post(path, body, withKey(`a b${'~'.repeat(252)}`)), 202))
})

describe('a command for a group', () => {
  const group = 20
  const ids = Array.from({ length: 200 }, (_, i) => `member-${String(i).padStart(3, '0')}`)
  before(async () => {
    await g.post('/groups', { name: 'Members', group_id: group })
    for (const [i, id] of ids.entries()) {
      await g.register(id, i % 2 === 0 ? 'teebox' : 'cartcaddie')
      await g.put(`/groups/${group}/devices/${id}`)
    }
  })
  const idsOf = (commands: { hardware_id: string }[]) => commands.map(({ hardware_id }) => hardware_id)
  const caddies = ids.filter((_, i) => i % 2 === 1)

  test('goes to all of its devices, and immediately to connected ones', async () => {
    const password = (await g.post(`/devices/${ids[0]}/rotate-mqtt-password`)).body.mqtt.password
    const device = await CommandedDevice.connect(g, ids[0] ?? '', password)
    const before = (await g.get('/stats')).body.commands
    const body = await ok(
      post(`/groups/${group}/commands`, { command: 'lock', metadata: { why: 'storm' }, ttl_seconds: 300 }),
      202,
    )
    assert.deepEqual([body.group_id, idsOf(body.commands)], [group, ids])
    assert.deepEqual(body.commands[7].metadata, { why: 'storm' })
    assert.equal((await device.next()).id, body.commands[0].command_id)
    assert.equal((await g.get('/stats')).body.commands - before, 200)
    await device.leave()
    const { body: newer } = await post(`/groups/${group}/commands`, { command: 'unlock' })
    assert.equal(newer.commands.length, 200)
    const { body: failed } = await g.get('/commands?status=failed&command=lock&limit=1000')
    const superseded = failed.commands.filter(({ error }: { error: string }) => error === 'superseded')
    const expected = ids.slice(1)
    assert.deepEqual(
      idsOf(superseded).filter((id) => ids.includes(id)),
      expected.toReversed(),
      'all but the one that was sent',
    )
  })

  test('leaves out device types without the command', async () => {
    const { body } = await post(`/groups/${group}/commands`, { command: 'message', params: { text: 'Rain' } })
    assert.deepEqual(idsOf(body.commands), caddies)
    const { body: only } = await post(`/groups/${group}/commands`, { command: 'lock', device_type: 'cartcaddie' })
    assert.deepEqual(idsOf(only.commands), caddies)
  })

  test('for a type that does not know it, or an unknown type, is 400', async () => {
    const ask = (device_type: string) =>
      post(`/groups/${group}/commands`, { command: 'message', params: { text: 'x' }, device_type })
    await fails(ask('teebox'), 400, 'unsupported_command')
    await fails(ask('zeppelin'), 400, 'unknown_device_type')
  })

  test('without devices is an empty list', async () => {
    assert.deepEqual(await ok(post('/groups/9/commands', { command: 'lock' }), 202), {
      group_id: 9,
      commands: [],
      refused: [],
    })
  })
})

test('commands are counted by outcome', async () => {
  assert.ok((await metric(g, 'cartbarn_commands_total', 'created')) > 0)
  assert.ok((await metric(g, 'cartbarn_commands_unfinished')) > 0)
})
