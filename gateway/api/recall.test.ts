import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import Database from 'better-sqlite3'
import { eventually } from '#shared/testing/eventually.ts'
import { createCallers, REFUSED_AS_NO_STAFF } from '#testing/callers.ts'
import { CommandedDevice } from '#testing/course/commanded-device.ts'
import { fails, ok } from '#testing/scene.ts'
import { metric, startGateway, type TestGateway } from '#testing/start-gateway.ts'

const DEFAULT_TEXT = 'All carts in: please return to the clubhouse now.'

/** Gateway with screens, each with its password. */
class Course {
  readonly g: TestGateway
  readonly #passwords = new Map<string, string>()

  private constructor(g: TestGateway) {
    this.g = g
  }

  static async open(t: TestContext, ...screens: string[]): Promise<Course> {
    const g = await startGateway()
    t.after(() => g.stop())
    const course = new Course(g)
    for (const hardwareId of screens) await course.register(hardwareId)
    return course
  }

  async register(hardwareId: string): Promise<void> {
    this.#passwords.set(hardwareId, await this.g.register(hardwareId, 'cartcaddie'))
  }

  connect(hardwareId: string): Promise<CommandedDevice> {
    return CommandedDevice.connect(this.g, hardwareId, this.#passwords.get(hardwareId) ?? '', { isClean: true })
  }

  begin(body?: unknown, key?: string) {
    return this.g.request('POST', '/recall', { body, ...(key === undefined ? {} : { key }) })
  }

  end(body?: unknown) {
    return this.g.request('DELETE', '/recall', body === undefined ? {} : { body })
  }

  async active() {
    return (await this.g.get('/recall')).body.active
  }

  /** Returns the commands created for a screen, oldest first. */
  async messages(
    hardwareId: string,
  ): Promise<{ params: unknown; status: string; command_id: string; error: string | null }[]> {
    const { body } = await this.g.get(`/devices/${hardwareId}/commands?limit=1000`)
    return body.commands.toReversed()
  }

  async becomes(hardwareId: string, ...statuses: string[]): Promise<void> {
    await eventually(async () => {
      const messages = await this.messages(hardwareId)
      return messages.map(({ status }) => status).join() === statuses.join()
    }, `messages to ${hardwareId}: ${statuses.join()}`)
  }

  /** Restarts as after a power cut, with changes to the data on the disk. */
  async crash(change: (db: Database.Database) => void): Promise<void> {
    await this.g.restart(() => {
      const db = new Database(join(this.g.config.dataDir, 'cartbarn.db'))
      change(db)
      db.close()
    })
  }
}

test('without a recall the status is inactive and no cart is called in', async (t) => {
  const { g } = await Course.open(t)
  assert.deepEqual((await g.get('/recall')).body, { active: null, carts: [] })
  await fails(g.remove('/recall'), 404, 'no_recall')
})

test('only staff and admins can read, start and end a recall', async (t) => {
  const { g } = await Course.open(t)
  const keys = await createCallers(g, ['screen'])
  for (const method of ['GET', 'POST', 'DELETE'])
    for (const [who, status, code] of REFUSED_AS_NO_STAFF)
      await fails(g.request(method, '/recall', { key: keys[who] }), status, code, `${method} ${who}`)
})

test('an invalid body is rejected, and no cart is called in', async (t) => {
  const course = await Course.open(t)
  for (const [name, body, status, code] of [
    ['a text that is too long', { text: 'x'.repeat(201) }, 400, 'invalid_field'],
    ['no text', { text: 7 }, 400, 'invalid_field'],
    ['null', { text: null }, 400, 'invalid_field'],
    ['control characters', { text: 'a\u0007b' }, 400, 'invalid_field'],
    ['an unknown field', { text: 'a', to: 'all' }, 400, 'unknown_field'],
    ['no object', '[]', 400, 'invalid_body'],
    ['no JSON', '{', 400, 'invalid_json'],
  ] as const)
    await t.test(`a body with ${name} is rejected`, async () => {
      await fails(course.begin(body), status, code)
      assert.equal(await course.active(), null)
    })
})

test('the screens show the right text', async (t) => {
  const course = await Course.open(t)
  for (const [name, language, body, text] of [
    ['without a body', 'en', undefined, DEFAULT_TEXT],
    ['with an empty one', 'en', {}, DEFAULT_TEXT],
    ['with an empty text', 'en', { text: '  ' }, DEFAULT_TEXT],
    ['in German', 'de', {}, 'Alle Carts zurück: Bitte jetzt zum Clubhaus kommen.'],
    ['with a text', 'en', { text: ' Lightning! ' }, 'Lightning!'],
    ['with the longest text', 'en', { text: 'x'.repeat(200) }, 'x'.repeat(200)],
  ] as const)
    await t.test(name, async () => {
      const hardwareId = `screen-${name.replaceAll(' ', '-')}`
      await course.register(hardwareId)
      await course.g.patch('/site', { language })
      const recall = await ok(course.begin(body), 201)
      assert.deepEqual(Object.keys(recall), ['recall_id', 'text', 'started_at', 'by'])
      assert.deepEqual([recall.text, recall.by.user_id], [text, await course.g.adminId()])
      const screen = await course.connect(hardwareId)
      assert.deepEqual((await screen.next()).params, { text, recall: true })
      await screen.leave()
      await course.end()
    })
})

test('an empty body is accepted with any content type, and other content types are rejected', async (t) => {
  const course = await Course.open(t)
  const { g } = course
  await ok(g.post('/recall', undefined, { headers: { 'content-type': 'application/json' } }), 201)
  const text = await g.remove('/recall', { body: 'over', headers: { 'content-type': 'text/plain' } })
  assert.equal(text.status, 415)
  const bare = await fetch(`${g.http}/recall`, {
    method: 'DELETE',
    headers: { 'x-api-key': 'flt_admin_key_for_tests_0123456789' },
  })
  assert.equal(bare.status, 200)
})

test('connected and returning screens receive the recall, confirm it, and receive its end', async (t) => {
  const course = await Course.open(t, 'here', 'away')
  await course.g.register('teebox')
  const here = await course.connect('here')
  const { body: recall } = await course.begin({ text: 'In!' })
  const message = await here.next()
  assert.deepEqual([message.cmd, message.params], ['message', { text: 'In!', recall: true }])
  await here.ack(message.id, 'completed')
  await course.becomes('here', 'completed')
  const away = await course.connect('away')
  assert.deepEqual((await away.next()).params, { text: 'In!', recall: true })
  assert.deepEqual(await course.messages('teebox'), [])
  assert.equal(await metric(course.g, 'cartbarn_recall_active'), 1)

  const { body: ended } = await course.end()
  assert.deepEqual(ended, { success: true, deleted: recall.recall_id })
  for (const screen of [here, away])
    assert.deepEqual((await screen.next()).params, { text: 'Recall ended.', recall: false })
  assert.equal(await course.active(), null)
  assert.equal((await course.end()).status, 404)
  for (const screen of [here, away]) await screen.leave()
})

test('a returning screen receives the message again, in a new command once the first has ended', async (t) => {
  const course = await Course.open(t, 'screen')
  await course.begin()
  const first = await course.connect('screen')
  const { id } = await first.next()
  // not acknowledged: the same message is sent again
  await first.lose(course.g)
  const second = await course.connect('screen')
  assert.equal((await second.next()).id, id)
  await second.ack(id, 'completed')
  await course.becomes('screen', 'completed')
  await second.lose(course.g)
  const third = await course.connect('screen')
  const again = await third.next()
  assert.notEqual(again.id, id)
  assert.deepEqual(again.params, { text: DEFAULT_TEXT, recall: true })
  await third.leave()
})

test('the site has one recall at a time', async (t) => {
  const course = await Course.open(t)
  const both = await Promise.all([course.begin({ text: 'A' }), course.begin({ text: 'B' })])
  assert.deepEqual(both.map(({ status }) => status).sort(), [201, 409])
  const { key } = await course.g.createUser({ role: 'staff', allowed_hardware_ids: ['*'] })
  await fails(course.begin({}, key), 409, 'recall_active')
  await course.end()
  await ok(course.begin(), 201)
})

test('a screen that was away for the whole recall receives only its end', async (t) => {
  const course = await Course.open(t, 'screen')
  await course.begin()
  await course.becomes('screen', 'pending')
  await course.end()
  await eventually(async () => (await course.messages('screen')).length === 2, 'the end')
  const [start] = await course.messages('screen')
  assert.deepEqual([start?.status, start?.error], ['failed', 'superseded'])
  const screen = await course.connect('screen')
  assert.deepEqual((await screen.next()).params, { text: 'Recall ended.', recall: false })
  assert.deepEqual(await screen.flush(), [])
  await screen.leave()
})

test('staff with some devices recall only those, and staff with others see no carts of the recall', async (t) => {
  const course = await Course.open(t, 'mine', 'other')
  const { userId, key } = await course.g.createUser({ name: 'Jane', role: 'staff', allowed_hardware_ids: ['mine'] })
  assert.deepEqual((await ok(course.begin({}, key), 201)).by, { user_id: userId, name: 'Jane' })
  await course.becomes('mine', 'pending')
  const other = await course.connect('other')
  assert.deepEqual(await other.flush(), [])
  assert.deepEqual(await course.messages('other'), [])
  await other.leave()
})

test('the carts of a recall show the progress of their screens, to each user in scope', async (t) => {
  const course = await Course.open(t, 's1', 's2', 's10', 'other')
  const { g } = course
  for (const id of ['t2', 't3']) await g.register(id)
  const carts = { s1: '1', s2: '2', t2: '2', t3: '3', s10: '10', other: '99' }
  for (const [id, cart] of Object.entries(carts)) await g.patch(`/devices/${id}`, { cart })
  const ids = ['s1', 's2', 't3', 's10']
  const staff = await g.createUser({ role: 'staff', allowed_hardware_ids: ids })
  const half = await g.createUser({ role: 'staff', allowed_hardware_ids: ['t2', 's1'] })
  const [s1, s2] = [await course.connect('s1'), await course.connect('s2')]
  await course.begin({}, staff.key)
  await s1.ack((await s1.next()).id, 'completed')
  await s2.next()
  await course.becomes('s1', 'completed')
  const shown = async (key?: string) => {
    const { body } = await g.request('GET', '/recall', key === undefined ? {} : { key })
    return body.carts.map(({ cart, state, screen }: Record<string, string>) => [cart, state, screen])
  }
  const all = [
    ['1', 'unknown', 'confirmed'],
    ['2', 'unknown', 'sent'],
    ['3', 'unknown', 'none'],
    ['10', 'unknown', 'offline'],
  ]
  assert.deepEqual(await shown(), all)
  assert.deepEqual(await shown(staff.key), all)
  assert.deepEqual(await shown(half.key), [
    ['1', 'unknown', 'confirmed'],
    ['2', 'unknown', 'none'],
  ])
  await s2.lose(g)
  assert.deepEqual((await shown())[1], ['2', 'unknown', 'offline'])
  await course.end()
  assert.deepEqual(await shown(), [])
  await s1.leave()
})

test('a screen that is registered later receives the recall too', async (t) => {
  const course = await Course.open(t)
  await course.begin()
  const password = await course.g.register('new', 'cartcaddie')
  const screen = await CommandedDevice.connect(course.g, 'new', password, { isClean: true })
  assert.deepEqual((await screen.next()).params, { text: DEFAULT_TEXT, recall: true })
  await screen.leave()
})

test('a recall survives a restart with its confirmations', async (t) => {
  const course = await Course.open(t, 'done', 'away')
  const done = await course.connect('done')
  const { body: recall } = await course.begin({ text: 'In!' })
  await done.ack((await done.next()).id, 'completed')
  await course.becomes('done', 'completed')
  await course.becomes('away', 'pending')
  await course.g.restart()
  assert.deepEqual(await course.active(), recall)
  assert.equal((await course.begin()).status, 409)
  const away = await course.connect('away')
  assert.deepEqual((await away.next()).params, { text: 'In!', recall: true })
  const again = await course.connect('done')
  assert.deepEqual((await again.next()).params, { text: 'In!', recall: true })
  await course.end()
  for (const screen of [away, again]) {
    assert.deepEqual((await screen.next()).params, { text: 'Recall ended.', recall: false })
    await screen.leave()
  }
})

test('the end of a recall supersedes no message that its screen has received', async (t) => {
  const ids = Array.from({ length: 20 }, (_, i) => `screen-${i}`)
  const course = await Course.open(t, ...ids)
  await course.begin()
  // each reconnects separately: the last message is sent while the delivery of the first is stored
  const screens = await Promise.all(ids.map((id) => course.connect(id)))
  await Promise.all(screens.map((screen) => screen.next()))
  await course.end()
  for (const screen of screens) assert.equal((await screen.next()).params.recall, false)
  for (const id of ids) await course.becomes(id, 'published', 'published')
})

test('after a power cut right after the recall the next start sends it to the screens', async (t) => {
  const course = await Course.open(t, 'screen')
  await course.begin({ text: 'In!' })
  await course.becomes('screen', 'pending')
  await course.crash((db) => db.exec('DELETE FROM recall_message; DELETE FROM command'))
  await course.becomes('screen', 'pending')
})

test('after a power cut right after its end the next start sends the end to the recalled screens', async (t) => {
  const course = await Course.open(t, 'screen')
  await course.begin()
  const screen = await course.connect('screen')
  await screen.ack((await screen.next()).id, 'completed')
  await course.becomes('screen', 'completed')
  await course.end({ text: 'Play on.' })
  await course.becomes('screen', 'completed', 'published')
  await course.g.register('new', 'cartcaddie')
  await course.crash((db) =>
    db.exec(`DELETE FROM command WHERE command_id IN (SELECT command_id FROM recall_message WHERE is_end = 1);
      DELETE FROM recall_message WHERE is_end = 1`),
  )
  await course.becomes('screen', 'completed', 'pending')
  assert.deepEqual((await course.messages('screen')).at(-1)?.params, { text: 'Play on.', recall: false })
  assert.deepEqual(await course.messages('new'), [])
  await course.g.restart()
  assert.equal((await course.messages('screen')).length, 2)
})

test('a lost command is sent again during the recall, and counts as sent after its end', async (t) => {
  const course = await Course.open(t, 'screen')
  await course.begin()
  await course.becomes('screen', 'pending')
  await course.crash((db) => db.exec('DELETE FROM command'))
  await course.becomes('screen', 'pending')
  await course.end()
  await eventually(async () => (await course.messages('screen')).length === 2, 'the end')
  await course.crash((db) => db.exec('DELETE FROM command'))
  await course.becomes('screen', 'pending')
  assert.deepEqual((await course.messages('screen'))[0]?.params, { text: 'Recall ended.', recall: false })
})

test('staff and admins are notified on the realtime channel, and users are not', async (t) => {
  const course = await Course.open(t, 'screen')
  const { g } = course
  const some = await g.createUser({ role: 'staff', allowed_hardware_ids: ['other'] })
  const user = await g.createUser({ allowed_hardware_ids: ['*'] })
  const [admin, staff, golfer] = [await g.realtime(), await g.realtime(some.key), await g.realtime(user.key)]
  const { body: recall } = await course.begin()
  const screen = await course.connect('screen')
  await screen.ack((await screen.next()).id, 'completed')
  for (const [channel, shown] of [
    [admin, { hardwareId: 'screen' }],
    [staff, {}],
  ] as const) {
    const started = await channel.next('recall')
    assert.deepEqual(started, { type: 'recall', event: 'started', recall, timestamp: started.timestamp })
    const confirmed = await channel.next('recall')
    assert.deepEqual(confirmed, {
      type: 'recall',
      event: 'confirmed',
      recall,
      timestamp: confirmed.timestamp,
      ...shown,
    })
  }
  await course.end()
  for (const channel of [admin, staff]) {
    const { event, recall: published } = await channel.next('recall')
    assert.deepEqual([event, published], ['ended', recall])
  }
  assert.deepEqual(
    (await golfer.flush()).filter(({ type }) => type === 'recall'),
    [],
  )
  await screen.leave()
})

test('the audit log has the users who started and ended a recall', async (t) => {
  const course = await Course.open(t)
  const { body: recall } = await course.begin({ text: 'In!' })
  await course.end({ text: 'Out!' })
  const { entries } = (await course.g.get('/audit-log?limit=2')).body
  assert.deepEqual(
    entries.map(({ action, target, after, user_id }: Record<string, unknown>) => ({ action, target, after, user_id })),
    [
      { action: 'recall.deleted', target: recall.recall_id, after: { text: 'Out!' }, user_id: recall.by.user_id },
      {
        action: 'recall.created',
        target: recall.recall_id,
        after: { text: 'In!', hardware_ids: null },
        user_id: recall.by.user_id,
      },
    ],
  )
})
