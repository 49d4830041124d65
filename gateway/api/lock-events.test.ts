import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import fc from 'fast-check'
import { eventually } from '#shared/testing/eventually.ts'
import { MINUTE_MS, toIso } from '#shared/time.ts'
import type { Who } from '#testing/callers.ts'
import { HeldJobs } from '#testing/held-jobs.ts'
import { fails, ok, pluck, publish, scene } from '#testing/scene.ts'

const NOON_MS = Date.UTC(2026, 4, 1, 12)
const { g, keys, onlyFor } = scene({ nowMs: NOON_MS + 60 * MINUTE_MS, inScope: ['A', 'B'] })

/** Reports of the carts, one a minute from noon; the minute is the event's name below. */
const EVENTS = [
  { cart: 'A', event: 'unlock', source: 'rfid', code: '04A1' },
  { cart: 'A', event: 'lock', source: 'rfid', code: '04A1' },
  { cart: 'B', event: 'unlock', source: 'keypad', code: '0815' },
  { cart: 'A', event: 'unlock', source: 'keypad', code: '04A1' },
  { cart: 'B', event: 'lock', source: 'key', code: undefined },
  { cart: 'A', event: 'unlock', source: 'remote', code: undefined },
  { cart: 'C', event: 'unlock', source: 'rfid', code: '04a1' },
] as const
const ALL = [6, 5, 4, 3, 2, 1, 0]

before(async () => {
  for (const cart of ['A', 'B', 'C']) {
    const client = await g.device(cart)
    const mine = EVENTS.flatMap(({ cart: owner, ...event }, minute) =>
      owner === cart ? [{ eid: `e-${minute}`, ts: NOON_MS + minute * MINUTE_MS, ...event }] : [],
    )
    await publish(client, `dev/${cart}/evt`, mine)
    await client.endAsync()
  }
})

type EventJson = { event_id: string; timestamp: string }
const list = async (query: string, who: Who = 'admin') => ok(g.get(`/lock-events${query}`, { key: keys[who] }))

async function minutes(query: string, who: Who = 'admin'): Promise<number[]> {
  const { events } = await list(query, who)
  return events.map(({ timestamp }: EventJson) => (Date.parse(timestamp) - NOON_MS) / MINUTE_MS)
}

onlyFor('any key', ['GET', '/lock-events'])

test('an event has the fields of the specification, and a code only where it belongs', async () => {
  const { events, pagination } = await list('')
  assert.deepEqual(pagination, { limit: 100, offset: 0, returned: EVENTS.length })
  for (const [i, shown] of events.entries()) {
    const minute = ALL[i] ?? -1
    const { cart, event, source, code } = EVENTS[minute] ?? assert.fail()
    const expected = {
      event_id: shown.event_id,
      hardware_id: cart,
      event,
      timestamp: toIso(NOON_MS + minute * MINUTE_MS),
      source,
    }
    assert.deepEqual(shown, code === undefined ? expected : { ...expected, code })
  }
  assert.equal(new Set(events.map(({ event_id }: EventJson) => event_id)).size, events.length)
})

const at = (minute: number) => toIso(NOON_MS + minute * MINUTE_MS)

for (const [query, expected] of [
  ['', ALL],
  ['?hardware_id=A', [5, 3, 1, 0]],
  ['?hardware_id=a', []],
  ['?hardware_id=nowhere', []],
  ['?source=rfid', [6, 1, 0]],
  ['?source=keypad', [3, 2]],
  ['?source=key', [4]],
  ['?source=remote', [5]],
  ['?event=lock', [4, 1]],
  ['?event=unlock', [6, 5, 3, 2, 0]],
  ['?code=04A1', [3, 1, 0]],
  ['?code=04a1', [6]],
  ['?code=0815', [2]],
  ['?code=815', []],
  ['?code=04', []],
  ['?code=%25', []],
  [`?from=${at(3)}`, [6, 5, 4, 3]],
  [`?to=${at(3)}`, [3, 2, 1, 0]],
  [`?from=${at(2)}&to=${at(4)}`, [4, 3, 2]],
  [`?from=${at(3)}&to=${at(3)}`, [3]],
  ['?from=2026-05-01T14:05:00+02:00', [6, 5]],
  ['?from=2026-05-02', []],
  ['?hardware_id=A&source=rfid', [1, 0]],
  ['?source=rfid&event=unlock', [6, 0]],
  ['?code=04A1&source=rfid', [1, 0]],
  [`?hardware_id=A&event=unlock&code=04A1&from=${at(1)}&to=${at(9)}&source=keypad`, [3]],
  [`?hardware_id=B&code=04A1`, []],
  ['?unknown=x', ALL],
  ['?limit=2', [6, 5]],
  ['?limit=2&offset=1', [5, 4]],
  ['?offset=5', [1, 0]],
  ['?offset=7', []],
  ['?offset=10000', []],
  ['?order=desc&limit=2', [6, 5]],
  ['?order=asc', ALL.toReversed()],
  ['?order=asc&source=rfid&offset=1', [1, 6]],
  ['?event=unlock&limit=2&offset=2', [3, 2]],
] as [string, number[]][])
  test(`GET /lock-events${query} returns ${expected.join(' ') || 'nothing'}`, async () =>
    assert.deepEqual(await minutes(query), expected))

for (const [who, query, expected] of [
  ['in scope', '', [5, 4, 3, 2, 1, 0]],
  ['in scope', '?hardware_id=A', [5, 3, 1, 0]],
  ['in scope', '?hardware_id=C', []],
  ['in scope', '?code=04a1', []],
  ['in scope', '?source=rfid', [1, 0]],
  ['in scope', '?limit=2&offset=4', [1, 0]],
  ['out of scope', '', []],
  ['out of scope', '?hardware_id=A', []],
  ['no scope', '', []],
  ['no scope', '?hardware_id=A', []],
] as [Who, string, number[]][])
  test(`${who}: GET /lock-events${query} returns ${expected.join(' ') || 'nothing'}`, async () =>
    assert.deepEqual(await minutes(query, who), expected))

for (const [query, name, code] of [
  ['source=card', 'source', 'invalid_parameter'],
  ['source=RFID', 'source', 'invalid_parameter'],
  ['source=', 'source', 'invalid_parameter'],
  ['event=open', 'event', 'invalid_parameter'],
  ['from=yesterday', 'from', 'invalid_date'],
  ['to=1777636800000', 'to', 'invalid_date'],
  ['from=', 'from', 'invalid_date'],
  [`from=${at(2)}&to=${at(1)}`, 'from', 'invalid_range'],
  ...['0', '1001', '5000', '-1', 'abc', '1.5', ''].map((limit) => [`limit=${limit}`, 'limit', 'invalid_number']),
  ['order=sideways', 'order', 'invalid_parameter'],
  ['order=', 'order', 'invalid_parameter'],
  ['before=nothing', 'before', 'invalid_parameter'],
  ['before=', 'before', 'invalid_parameter'],
  ...['-1', 'x', '0.5', ''].map((offset) => [`offset=${offset}`, 'offset', 'invalid_number']),
] as [string, string, string][])
  test(`GET /lock-events?${query} is 400 ${code} naming ${name}`, async () => {
    for (const who of ['admin', 'in scope', 'no scope'] as const) {
      const body = await fails(g.get(`/lock-events?${query}`, { key: keys[who] }), 400, code)
      assert.deepEqual([body.errors.length, body.errors[0].in, body.errors[0].name], [1, 'query', name])
    }
  })

test('pages of any size form the whole list when joined', async () => {
  const whole = await list('?limit=1000')
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: EVENTS.length + 1 }), async (limit) => {
      const pages: EventJson[] = []
      for (let offset = 0; ; offset += limit) {
        const { events, pagination } = await list(`?limit=${limit}&offset=${offset}`)
        assert.deepEqual(pagination, { limit, offset, returned: events.length })
        pages.push(...events)
        if (pagination.returned < limit) break
      }
      assert.deepEqual(pages, whole.events)
    }),
    { numRuns: 8 },
  )
})

test('a page past the end of a list is empty, however far past', async () => {
  const id = (await g.get('/devices')).body.devices[0].hardware_id
  for (const path of ['/devices', '/lock-events', '/geofence-events', '/commands', `/devices/${id}/commands`])
    for (const offset of ['10001', '9007199254740991', '9007199254740993', '9'.repeat(400)]) {
      const { status, body } = await g.get(`${path}?offset=${offset}`)
      const { returned, offset: skipped } = body.pagination
      assert.deepEqual([status, returned, skipped], [200, 0, Math.min(Number(offset), 2 ** 53 - 1)])
    }
})

for (const who of ['admin', 'in scope'] as const)
  test(`${who}: pages that continue before the last event form the whole list`, async () => {
    const whole: EventJson[] = (await list('?limit=1000', who)).events
    const pages: EventJson[] = []
    for (let before = ''; ; before = `&before=${pages.at(-1)?.event_id}`) {
      const { events } = await list(`?limit=2${before}`, who)
      if (events.length === 0) break
      pages.push(...events)
    }
    assert.deepEqual(pages, whole)
    const third = whole[2]?.event_id
    const older = (await list(`?before=${third}&order=asc`, who)).events
    assert.deepEqual(older, whole.slice(3).toReversed())
  })

test('an event outside the scope is as unknown as one that never existed', async () => {
  const { events } = await list('?hardware_id=C')
  const { status, body } = await g.get(`/lock-events?before=${events[0].event_id}`, { key: keys['in scope'] })
  assert.deepEqual([status, body.code, body.errors[0].name], [400, 'invalid_parameter', 'before'])
})

test('a list is read in another thread, and a slow read there holds up nothing else', async () => {
  const jobs = new HeldJobs()
  try {
    jobs.hold()
    const lists = Promise.all(
      ['/lock-events', '/geofence-events', '/commands', '/devices/A/commands'].map((path) => g.get(path)),
    )
    await ok(g.get('/devices/A'))
    await eventually(() => jobs.given.length > 0, 'a job for a thread')
    jobs.release()
    assert.deepEqual(pluck(await lists, 'status'), [200, 200, 200, 200])
    assert.deepEqual(jobs.given.map(({ name }) => name).sort(), [
      'commands',
      'commands',
      'geofenceEvents',
      'lockEvents',
    ])
  } finally {
    jobs.end()
  }
})

test('an event that is reported again is stored once', async () => {
  const client = await g.device('again')
  const timed = { event: 'unlock', source: 'rfid', code: 'X1', ts: NOON_MS }
  const named = { eid: 17, event: 'lock', source: 'key', ts: NOON_MS + 1 }
  for (const message of [timed, [timed, named], named, { ...timed, code: 'X2' }])
    await publish(client, 'dev/again/evt', message)
  const { events } = await list('?hardware_id=again')
  assert.deepEqual(pluck(events, 'event', 'code'), [
    ['lock', undefined],
    ['unlock', 'X2'],
    ['unlock', 'X1'],
  ])
})

test('events outlive the registration of their device, for users with access to it', async () => {
  const client = await g.device('gone')
  await publish(client, 'dev/gone/evt', '{"event":"lock","source":"key"}')
  await g.remove('/devices/gone')
  const { events } = await list('?hardware_id=gone')
  assert.deepEqual([events.length, events[0].device_removed], [1, true])
  assert.equal((await list('?hardware_id=gone', 'in scope')).events.length, 0)
})

test('a device that is registered again has its own events and commands', async () => {
  const reported = '{"eid":"1","event":"lock","source":"key","ts":1777636800000}'
  const report = async () => {
    const client = await g.device('removed-1')
    await publish(client, 'dev/removed-1/evt', reported)
    await client.endAsync()
    return (await g.post('/devices/removed-1/commands', { command: 'lock' })).body.command_id
  }
  const listed = async (path: string) => {
    const { body } = await g.get(path)
    return (body.events ?? body.commands).filter((one: { hardware_id: string }) => one.hardware_id === 'removed-1')
  }
  const first = await report()
  const [old] = await listed('/lock-events')
  await g.remove('/devices/removed-1')
  assert.equal((await listed('/lock-events?hardware_id=removed-1'))[0].device_removed, true)
  const second = await report()
  const [event, ...none] = await listed('/lock-events?hardware_id=removed-1')
  assert.deepEqual(none, [])
  assert.notEqual(event.event_id, old.event_id)
  const removed = (one: object) => 'device_removed' in one
  assert.deepEqual((await listed('/lock-events')).map(removed), [false, true])
  const own = await listed('/devices/removed-1/commands')
  assert.deepEqual(pluck(own, 'command_id'), [second])
  assert.deepEqual(await listed('/commands?hardware_id=removed-1'), own)
  assert.deepEqual((await listed('/commands')).map(removed), [false, true])
  assert.equal((await g.get(`/commands/${first}`)).body.device_removed, true)
})

test('events and their ids survive a restart', async () => {
  const before = await list('?limit=1000')
  await g.restart()
  assert.deepEqual(await list('?limit=1000'), before)
})
