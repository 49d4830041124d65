import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { eventually } from '#shared/testing/eventually.ts'
import { MINUTE_MS, toIso } from '#shared/time.ts'
import type { AlertJson } from '#shared/wire/alerts.ts'
import { fails, ok, scene } from '#testing/scene.ts'

const NOON = Date.UTC(2026, 4, 1, 12)
const { g, clock, course, onlyFor } = scene({
  settings: { CARTBARN_CLOCK_CONFIRMED_BY: 'system' },
  overrides: { isTimeSynchronized: () => false },
  nowMs: NOON,
  inScope: ['lock-1'],
  isStill: true,
})
/** Opening times of the alerts, in order. */
let openedMs: number[]

before(async () => {
  await g.patch('/site', { pack: { low_v: 48 } })
  const locks = [await course.device('lock-1', { cart: '1' }), await course.device('lock-2', { cart: '2' })]
  await course.device('screen-2', { cart: '2', deviceType: 'cartcaddie' })
  for (const lock of locks) await lock.goTo('fairway')
  clock.advance(6 * MINUTE_MS)
  openedMs = []
  for (const [i, lock] of locks.entries()) {
    clock.advance(1000)
    await lock.report('fairway', { battery_voltage: 47 })
    await eventually(async () => (await story()).length === i + 1, 'its alert')
  }
  clock.advance(5 * MINUTE_MS)
  await eventually(async () => (await story()).length === 3, 'that of the clock')
  const { body } = await g.get('/alerts')
  openedMs = body.alerts.map(({ opened_at }: AlertJson) => Date.parse(opened_at)).reverse()
})

/** Returns kinds and carts, newest first. */
async function story(query = '', key?: string): Promise<string[]> {
  const body = await ok(g.request('GET', `/alerts${query}`, key === undefined ? {} : { key }))
  assert.equal(body.pagination.returned, body.alerts.length)
  return body.alerts.map(({ kind, cart }: AlertJson) => `${kind} ${cart}`)
}

const ALL = ['clock null', 'low_battery 2', 'low_battery 1']

describe('who sees what', () => {
  const SEEN: [name: string, user: Record<string, unknown>, seen: string[]][] = [
    ['staff of all', { role: 'staff', allowed_hardware_ids: ['*'] }, ALL],
    ['staff of one lock', { role: 'staff', allowed_hardware_ids: ['lock-1'] }, ['clock null', 'low_battery 1']],
    ['staff of nothing', { role: 'staff' }, ['clock null']],
    ['a user of all', { allowed_hardware_ids: ['*'] }, ['low_battery 2', 'low_battery 1']],
    ['a user of one lock', { allowed_hardware_ids: ['lock-1'] }, ['low_battery 1']],
    ['a user of the screen of a cart', { allowed_hardware_ids: ['screen-2'] }, ['low_battery 2']],
    ['a user of nothing', {}, []],
  ]
  for (const [name, user, seen] of SEEN)
    test(`${name}: in the list, one by one, and of what may be done`, async () => {
      const { key } = await g.createUser(user)
      assert.deepEqual(await story('', key), seen)
      for (const alert of (await g.get('/alerts')).body.alerts) {
        const isSeen = seen.includes(`${alert.kind} ${alert.cart}`)
        const code = alert.cart === null ? 'staff_required' : 'cart_forbidden'
        const { status, body } = await g.get(`/alerts/${alert.alert_id}`, { key })
        assert.deepEqual([status, body.code], isSeen ? [200, undefined] : [403, code])
        if (isSeen || !name.startsWith('staff')) continue
        for (const what of ['acknowledge', 'close'])
          await fails(g.post(`/alerts/${alert.alert_id}/${what}`, undefined, { key }), 403, code)
      }
    })
})

describe('the list', () => {
  const at = (i: number) => toIso(openedMs[i] ?? 0)
  const LISTS: [query: () => string, expected: string[]][] = [
    [() => '', ALL],
    [() => '?state=open', ALL],
    [() => '?state=acknowledged', []],
    [() => '?state=closed', []],
    [() => '?kind=low_battery', ['low_battery 2', 'low_battery 1']],
    [() => '?kind=disk', []],
    [() => '?cart=1', ['low_battery 1']],
    [() => '?cart=01', []],
    [() => `?from=${at(1)}`, ['clock null', 'low_battery 2']],
    [() => `?to=${at(1)}`, ['low_battery 2', 'low_battery 1']],
    [() => `?from=${at(1)}&to=${at(1)}`, ['low_battery 2']],
    [() => '?limit=1', ['clock null']],
    [() => '?limit=1&offset=2', ['low_battery 1']],
    [() => '?offset=3', []],
  ]
  for (const [i, [query, expected]] of LISTS.entries())
    test(`${i}: ${expected}`, async () => assert.deepEqual(await story(query()), expected))
})

test('a person who acts on a tablet is who took note', async () => {
  const tablet = await g.createUser({ name: 'Tablet', role: 'staff', allowed_hardware_ids: ['*'] })
  const ann = await g.createUser({ name: 'Ann', role: 'staff', allowed_hardware_ids: ['*'] })
  await g.put(`/users/${ann.userId}/pin`, { pin: '1234' })
  const browser = await g.pair(tablet.userId)
  await browser.act(ann.userId, '1234')
  const [alert] = (await g.get('/alerts?kind=clock')).body.alerts
  const path = `/alerts/${alert.alert_id}/acknowledge`
  const body = await ok(browser.post(path, { note: null }))
  assert.deepEqual([body.acknowledged_by, body.note], [{ user_id: ann.userId, name: 'Ann' }, null])
  assert.deepEqual(await story('?state=acknowledged'), ['clock null'])
  const noted = await ok(g.post(path, { note: 'Asked the IT' }))
  assert.deepEqual(noted, { ...body, note: 'Asked the IT' })
  for (const again of [{}, { note: 'Me too' }]) assert.deepEqual(await ok(g.post(path, again)), noted)
  const [noteEntry, entry] = (await g.get('/audit-log?action=alert.acknowledged')).body.entries
  assert.deepEqual([noteEntry.before, noteEntry.after], [{ note: null }, { note: 'Asked the IT' }])
  assert.deepEqual([entry.user_id, entry.person.name, entry.target], [tablet.userId, 'Ann', alert.alert_id])
})

describe('who may ask', () => {
  onlyFor('any key', ['GET', '/alerts'], ['GET', '/alerts/a'])
  onlyFor('staff', ['POST', '/alerts/a/acknowledge'], ['POST', '/alerts/a/close'])

  for (const [method, path] of [
    ['GET', '/alerts/nothing'],
    ['POST', '/alerts/nothing/acknowledge'],
    ['POST', '/alerts/nothing/close'],
  ] as const)
    test(`${method} ${path} is not found`, () => fails(g.request(method, path), 404, 'alert_not_found'))
})

for (const [query, code] of [
  ['state=new', 'invalid_parameter'],
  ['kind=battery', 'invalid_parameter'],
  ['limit=0', 'invalid_number'],
  ['limit=1001', 'invalid_number'],
  ['offset=-1', 'invalid_number'],
  ['from=yesterday', 'invalid_date'],
  ['from=2026-05-02&to=2026-05-01', 'invalid_range'],
])
  test(`a list with ${query} is refused as ${code}`, async () => {
    const { status, body } = await g.get(`/alerts?${query}`)
    assert.deepEqual([status, body.errors[0].code], [400, code])
  })

for (const [name, body, code] of [
  ['a note of 501 characters', { note: 'x'.repeat(501) }, 'invalid_field'],
  ['a note that is no text', { note: 7 }, 'invalid_field'],
  ['an unknown field', { notes: 'x' }, 'unknown_field'],
  ['no object', '[]', 'invalid_body'],
  ['no JSON', '{', 'invalid_json'],
] as const)
  test(`an acknowledgement with ${name} is refused as ${code}`, async () => {
    const { status, body: problem } = await g.post('/alerts/a/acknowledge', body)
    assert.deepEqual([status, problem.errors?.[0]?.code ?? problem.code], [400, code])
  })
