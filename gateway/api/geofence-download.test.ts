import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FakeClock } from '#shared/testing/clocks.ts'
import { DAY_MS, MINUTE_MS } from '#shared/time.ts'
import type { Who } from '#testing/callers.ts'
import { circle, collection } from '#testing/course/features.ts'
import { deviceIdOf, signToken, type TokenContent } from '#testing/course/geofence-token.ts'
import { fails, ok, scene } from '#testing/scene.ts'
import { startFor } from '#testing/start-gateway.ts'

const { g, clock, keys, fresh } = scene({ inScope: ['screen-1'] })
const BARN = circle('barn', { name: 'Barn', enabled: true, visible: true })

/** Group with a zone and a screen. */
class Course {
  readonly groupId: number
  readonly hardwareId: string
  readonly deviceId: number

  private constructor(groupId: number, hardwareId: string) {
    this.groupId = groupId
    this.hardwareId = hardwareId
    this.deviceId = deviceIdOf(g, hardwareId)
  }

  static async create(): Promise<Course> {
    const hardwareId = fresh('screen-0')
    const { body } = await g.post('/groups', { name: hardwareId })
    await g.register(hardwareId, 'cartcaddie')
    await g.put(`/groups/${body.group_id}/devices/${hardwareId}`)
    const course = new Course(body.group_id, hardwareId)
    await course.put(BARN)
    return course
  }

  async put(...features: unknown[]): Promise<void> {
    await ok(g.put(`/groups/${this.groupId}/geofences`, collection(...features)))
  }

  token(content: Partial<TokenContent> = {}): string {
    const { groupId, deviceId } = this
    return signToken(g, { groupId, deviceId, expiresAtMs: clock.nowMs() + DAY_MS, ...content })
  }

  download(query = '', options: { key?: string | null; headers?: Record<string, string> } = {}) {
    return g.request('GET', `/geofences/${this.groupId}/download${query}`, { key: null, ...options })
  }

  async answerTo(token: string): Promise<[number, string | undefined]> {
    const { status, body } = await this.download(`?token=${token}`)
    return [status, body.code]
  }
}

test('a token gives the zones of its group, as often as it is used', async () => {
  const course = await Course.create()
  const query = `?token=${course.token()}`
  for (let i = 0; i < 3; i++) {
    const { status, headers, body } = await course.download(query)
    assert.equal(status, 200)
    assert.match(headers.get('content-type') ?? '', /^application\/json/)
    assert.equal(headers.get('cache-control'), 'private, no-cache')
    assert.deepEqual(body, { type: 'FeatureCollection', features: [BARN], group_id: course.groupId, version: 1 })
  }
  assert.deepEqual(await ok(g.request('HEAD', `/geofences/${course.groupId}/download${query}`, { key: null })), '')
})

for (const [who, status, code] of [
  ['nobody', 401, 'invalid_token'],
  ['a bad key', 401, 'invalid_api_key'],
  ['a disabled user', 401, 'user_inactive'],
  ['in scope', 403, 'admin_required'],
  ['no scope', 403, 'admin_required'],
  ['admin', 200, undefined],
] as [Who, number, string | undefined][])
  test(`without a token ${who} gets ${status} ${code ?? ''}`, async () => {
    const course = await Course.create()
    await fails(course.download('', { key: keys[who] }), status, code)
  })

test('an empty token counts as missing', async () =>
  assert.deepEqual(await (await Course.create()).answerTo(''), [401, 'invalid_token']))

test('two tokens are 400', async () => {
  const course = await Course.create()
  await fails(course.download(`?token=${course.token()}&token=${course.token()}`), 400, 'invalid_parameter')
})

test('a token is valid for a day, to the millisecond', async () => {
  const course = await Course.create()
  const token = course.token()
  clock.advance(DAY_MS - 1)
  assert.equal((await course.answerTo(token))[0], 200)
  clock.advance(1)
  assert.deepEqual(await course.answerTo(token), [401, 'invalid_token'])
})

test('a token of another group is 403, whether that group exists or not', async () => {
  const course = await Course.create()
  const other = await Course.create()
  const token = course.token()
  assert.deepEqual(await other.answerTo(token), [403, 'group_forbidden'])
  await fails(g.get(`/geofences/999999/download?token=${token}`, { key: null }), 403, 'group_forbidden')
})

test('an unknown id is 404 for an admin', () => fails(g.get('/geofences/999999/download'), 404, 'group_not_found'))

test('an id that is not a number is 400', () => fails(g.get('/geofences/here/download'), 400, 'invalid_number'))

test('a token is invalid once its device has left or changed its group, or is deleted', async () => {
  const course = await Course.create()
  const other = await Course.create()
  const token = course.token()
  const path = `/groups/${course.groupId}/devices/${course.hardwareId}`
  assert.equal((await course.answerTo(token))[0], 200)
  await g.remove(path)
  assert.deepEqual(await course.answerTo(token), [401, 'invalid_token'])
  await g.put(`/groups/${other.groupId}/devices/${course.hardwareId}`)
  assert.deepEqual(await course.answerTo(token), [401, 'invalid_token'])
  assert.deepEqual(await other.answerTo(token), [401, 'invalid_token'])
  await g.remove(`/devices/${course.hardwareId}`)
  assert.deepEqual(await course.answerTo(token), [401, 'invalid_token'])
  // an equal name does not make it the same device
  await g.register(course.hardwareId, 'cartcaddie')
  await g.put(path)
  assert.deepEqual(await course.answerTo(token), [401, 'invalid_token'])
  assert.notEqual(deviceIdOf(g, course.hardwareId), course.deviceId)
})

test('a token is invalid once its user is deleted, disabled, or may not see the device', async () => {
  const course = await Course.create()
  const seeing = { allowed_hardware_ids: [course.hardwareId] }
  for (const [method, body] of [
    ['PATCH', { is_active: false }],
    ['PATCH', { allowed_hardware_ids: [] }],
    ['DELETE', undefined],
  ] as const) {
    const { userId, key } = await g.createUser(seeing)
    const command = { body: { command: 'fetch_geofences' }, key }
    await ok(g.request('POST', `/devices/${course.hardwareId}/commands`, command), 202)
    const token = course.token({ userId })
    assert.equal((await course.answerTo(token))[0], 200)
    await g.request(method, `/users/${userId}`, { body })
    assert.deepEqual(await course.answerTo(token), [401, 'invalid_token'])
  }
})

test('a token that was changed anywhere is rejected', async () => {
  const course = await Course.create()
  const token = course.token()
  for (let i = 0; i < token.length; i++) {
    if (i % 12 === 11) clock.advance(MINUTE_MS)
    const other = token[i] === '1' ? '2' : '1'
    const [status, code] = await course.answerTo(`${token.slice(0, i)}${other}${token.slice(i + 1)}`)
    assert.deepEqual([status, code], [401, 'invalid_token'], `at ${i}`)
  }
  clock.advance(MINUTE_MS)
  const [groupId, deviceId, expiresAtMs, signature = ''] = token.split('.')
  for (const bad of [
    'x',
    '.',
    `${token}A`,
    `.${token}`,
    token.slice(1),
    token.slice(0, -1),
    `${token}%00`,
    `0${token}`,
    `${groupId}.${deviceId}.${Number(expiresAtMs) + DAY_MS}.${signature}`,
    `${groupId}.${deviceId}.${expiresAtMs}.${'A'.repeat(43)}`,
    `${groupId}.${deviceId}.${expiresAtMs}.`,
    'a'.repeat(5000),
  ])
    assert.deepEqual(await course.answerTo(bad), [401, 'invalid_token'], bad)
})

test('guessing tokens is limited like guessing keys, and screens behind the same router are not', async () => {
  const course = await Course.create()
  for (let i = 0; i < 300; i++) assert.deepEqual(await course.answerTo(`guess-${i}`), [401, 'invalid_token'])
  assert.deepEqual(await course.answerTo('guess-301'), [429, 'rate_limited'])
  assert.equal((await g.get('/devices', { key: 'guess' })).status, 429)
  assert.equal((await course.answerTo(course.token()))[0], 200)
  clock.advance(MINUTE_MS)
  assert.deepEqual(await course.answerTo('guess-302'), [401, 'invalid_token'])
})

test('an expired token does not count as a guess, however often a screen uses it', async () => {
  const course = await Course.create()
  const token = course.token({ expiresAtMs: clock.nowMs() - 1 })
  for (let i = 0; i < 30; i++) assert.deepEqual(await course.answerTo(token), [401, 'invalid_token'])
})

test('a device has the request rate of a key', async (t) => {
  const own = await startFor(t, { CARTBARN_REQUESTS_PER_SECOND: '1' }, { clock: new FakeClock(clock.nowMs()) })

  const groupId = 1
  await own.post('/groups', { name: 'Group', group_id: groupId })
  await own.register('screen', 'cartcaddie')
  await own.put('/groups/1/devices/screen')
  const deviceId = deviceIdOf(own, 'screen')
  const token = signToken(own, { groupId, deviceId, expiresAtMs: clock.nowMs() + DAY_MS })
  const ask = () => own.get(`/geofences/1/download?token=${token}`, { key: null })
  for (let i = 0; i < 4; i++) await ok(ask())
  assert.equal((await ask()).status, 429)
})

test('a tag identifies the current zones: 304 until they change', async () => {
  const course = await Course.create()
  const query = `?token=${course.token()}`
  const etagOf = async () => (await course.download(query)).headers.get('etag') ?? ''
  const etag = await etagOf()
  assert.match(etag, /^"[^"]+"$/)
  const ask = (tags: string) => course.download(query, { headers: { 'if-none-match': tags } })
  for (const tags of [etag, `W/${etag}`, '*', `"other", ${etag}`, `"a,b" ,W/${etag},"c"`]) {
    const { status, headers, body } = await ask(tags)
    assert.deepEqual([status, body, headers.get('etag')], [304, '', etag], tags)
  }
  for (const tags of ['"other"', etag.replaceAll('"', ''), '', `"x${etag.slice(1)}`]) await ok(ask(tags))
  await course.put()
  await ok(ask(etag))
  assert.notEqual(await etagOf(), etag)
  await course.put(BARN)
  // same zones, different version
  assert.notEqual(await etagOf(), etag)
  assert.equal((await course.download('?token=x', { headers: { 'if-none-match': '*' } })).status, 401)
})

test('tokens and tags survive a restart', async () => {
  const course = await Course.create()
  const token = course.token()
  const etag = (await course.download(`?token=${token}`)).headers.get('etag')
  await g.restart()
  const { status, headers } = await course.download(`?token=${token}`)
  assert.deepEqual([status, headers.get('etag')], [200, etag])
})

test('each gateway has its own secret', async (t) => {
  const other = await startFor(t, {}, { clock })

  const content = { groupId: 1, deviceId: 1, expiresAtMs: clock.nowMs() + DAY_MS }
  assert.notEqual(signToken(other, content), signToken(g, content))
})

test('while the clock is not set tokens do not expire, and leaving the group still ends a token', async (t) => {
  const ownClock = new FakeClock(clock.nowMs())
  const own = await startFor(t, {}, { clock: ownClock, isTimeSynchronized: () => false })

  await own.post('/groups', { name: 'Group', group_id: 1 })
  await own.register('screen', 'cartcaddie')
  await own.put('/groups/1/devices/screen')
  const deviceId = deviceIdOf(own, 'screen')
  const token = signToken(own, { groupId: 1, deviceId, expiresAtMs: ownClock.nowMs() - 1 })
  const ask = async () => (await own.get(`/geofences/1/download?token=${token}`, { key: null })).status
  assert.equal(await ask(), 401)
  await own.restart(() => ownClock.set(0))
  assert.equal(await ask(), 200)
  await own.remove('/groups/1/devices/screen')
  assert.equal(await ask(), 401)
})

test('over a socket a token needs no key', async () => {
  const course = await Course.create()
  const answer = await fetch(`${g.http}/geofences/${course.groupId}/download?token=${course.token()}`)
  assert.equal(answer.status, 200)
  assert.equal((await fetch(`${g.http}/geofences/${course.groupId}/download`)).status, 401)
  assert.equal((await fetch(`${g.http}/geofences/${course.groupId}`)).status, 401)
})
