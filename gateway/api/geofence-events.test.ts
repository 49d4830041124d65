import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { MqttClient } from 'mqtt'
import { MINUTE_MS, toIso } from '#shared/time.ts'
import type { Who } from '#testing/callers.ts'
import { circle, collection } from '#testing/course/features.ts'
import { fails, ok, publish, scene } from '#testing/scene.ts'

const NOON_MS = Date.UTC(2026, 4, 1, 12)
const { g, clock, keys, onlyFor } = scene({ nowMs: NOON_MS - MINUTE_MS, inScope: ['A', 'B'] })
const OUTSIDE = { lat: 0.1, long: 0.1 }
const ZONES = { green: { type: 'stop', lat: 0.12, long: 0.12 }, path: { type: 'slow', lat: 0.14, long: 0.14 } } as const
const GROUP_OF = { A: 1, B: 1, C: 2 }

/** Movements of the carts, one a minute from noon; the minute is the event's name below. */
const EVENTS = [
  { cart: 'A', event: 'enter', zone: 'green' },
  { cart: 'A', event: 'exit', zone: 'green' },
  { cart: 'B', event: 'enter', zone: 'path' },
  { cart: 'C', event: 'enter', zone: 'green' },
  { cart: 'B', event: 'exit', zone: 'path' },
  { cart: 'A', event: 'enter', zone: 'path' },
  { cart: 'C', event: 'exit', zone: 'green' },
] as const
const ALL = [6, 5, 4, 3, 2, 1, 0]

before(async () => {
  const features = Object.entries(ZONES).map(([id, { type, lat, long }]) =>
    circle(id, { name: `The ${id}`, type, radius_m: 30, at: [long, lat] }),
  )
  const clients = new Map<string, MqttClient>()
  for (const [cart, groupId] of Object.entries(GROUP_OF)) {
    await g.post('/groups', { name: 'Group', group_id: groupId })
    await g.put(`/groups/${groupId}/geofences`, collection(...features))
    clients.set(cart, await g.device(cart))
    await g.put(`/groups/${groupId}/devices/${cart}`)
  }
  const report = async (cart: string, { lat, long }: { lat: number; long: number }) =>
    publish(clients.get(cart) ?? assert.fail(), `dev/${cart}/tlm`, { ts: clock.nowMs(), lat, long })
  for (const cart of clients.keys()) await report(cart, OUTSIDE)
  for (const [minute, { cart, event, zone }] of EVENTS.entries()) {
    const where = event === 'enter' ? ZONES[zone] : OUTSIDE
    clock.set(NOON_MS + minute * MINUTE_MS)
    await report(cart, where)
    clock.advance(5_000)
    await report(cart, where)
  }
})

type EventJson = { event_id: string; timestamp: string }
const list = async (query: string, who: Who = 'admin') => ok(g.get(`/geofence-events${query}`, { key: keys[who] }))

async function minutes(query: string, who: Who = 'admin'): Promise<number[]> {
  const { events } = await list(query, who)
  return events.map(({ timestamp }: EventJson) => (Date.parse(timestamp) - NOON_MS) / MINUTE_MS)
}

onlyFor('any key', ['GET', '/geofence-events'])

test('an event has the device, the crossed zone, the time and the position', async () => {
  const { events, pagination } = await list('')
  assert.deepEqual(pagination, { limit: 100, offset: 0, returned: EVENTS.length })
  for (const [i, shown] of events.entries()) {
    const minute = ALL[i] ?? -1
    const { cart, event, zone } = EVENTS[minute] ?? assert.fail()
    const { lat, long } = event === 'enter' ? ZONES[zone] : OUTSIDE
    assert.deepEqual(shown, {
      event_id: shown.event_id,
      hardware_id: cart,
      event,
      group_id: GROUP_OF[cart],
      zone_id: zone,
      zone_name: `The ${zone}`,
      zone_type: ZONES[zone].type,
      timestamp: toIso(NOON_MS + minute * MINUTE_MS),
      lat,
      long,
    })
  }
  assert.equal(new Set(events.map(({ event_id }: EventJson) => event_id)).size, events.length)
})

const at = (minute: number) => toIso(NOON_MS + minute * MINUTE_MS)

for (const [query, expected] of [
  ['', ALL],
  ['?hardware_id=A', [5, 1, 0]],
  ['?hardware_id=a', []],
  ['?hardware_id=nowhere', []],
  ['?group_id=1', [5, 4, 2, 1, 0]],
  ['?group_id=2', [6, 3]],
  ['?group_id=3', []],
  ['?zone_id=green', [6, 3, 1, 0]],
  ['?zone_id=Green', []],
  ['?zone_id=%25', []],
  ['?zone_type=slow', [5, 4, 2]],
  ['?zone_type=parking', []],
  ['?event=enter', [5, 3, 2, 0]],
  ['?event=exit', [6, 4, 1]],
  [`?from=${at(3)}`, [6, 5, 4, 3]],
  [`?to=${at(3)}`, [3, 2, 1, 0]],
  [`?from=${at(3)}&to=${at(3)}`, [3]],
  ['?from=2026-05-02', []],
  ['?zone_id=green&group_id=1', [1, 0]],
  ['?zone_type=slow&event=exit', [4]],
  [`?hardware_id=A&group_id=1&zone_id=green&zone_type=stop&event=enter&from=${at(0)}&to=${at(9)}`, [0]],
  ['?hardware_id=C&group_id=1', []],
  ['?unknown=x', ALL],
  ['?limit=2', [6, 5]],
  ['?limit=2&order=asc', [0, 1]],
  ['?limit=2&offset=1', [5, 4]],
  ['?offset=5', [1, 0]],
  ['?offset=7', []],
] as [string, number[]][])
  test(`GET /geofence-events${query} returns ${expected.join(' ') || 'nothing'}`, async () =>
    assert.deepEqual(await minutes(query), expected))

for (const [who, query, expected] of [
  ['in scope', '', [5, 4, 2, 1, 0]],
  ['in scope', '?hardware_id=A', [5, 1, 0]],
  ['in scope', '?hardware_id=C', []],
  ['in scope', '?group_id=2', []],
  ['in scope', '?zone_id=green', [1, 0]],
  ['in scope', '?limit=2&offset=3', [1, 0]],
  ['out of scope', '', []],
  ['out of scope', '?hardware_id=A', []],
  ['no scope', '', []],
] as [Who, string, number[]][])
  test(`${who}: GET /geofence-events${query} returns ${expected.join(' ') || 'nothing'}`, async () =>
    assert.deepEqual(await minutes(query, who), expected))

for (const [query, name, code] of [
  ['event=leave', 'event', 'invalid_parameter'],
  ['event=', 'event', 'invalid_parameter'],
  ['zone_type=lava', 'zone_type', 'invalid_parameter'],
  ...['0', '-1', 'x', '1.5', '9007199254740992', ''].map((id) => [`group_id=${id}`, 'group_id', 'invalid_number']),
  ['from=yesterday', 'from', 'invalid_date'],
  ['to=1777636800000', 'to', 'invalid_date'],
  [`from=${at(2)}&to=${at(1)}`, 'from', 'invalid_range'],
  ...['0', '1001', '-1', 'abc', '1.5', ''].map((limit) => [`limit=${limit}`, 'limit', 'invalid_number']),
  ['order=sideways', 'order', 'invalid_parameter'],
  ['before=nothing', 'before', 'invalid_parameter'],
  ...['-1', 'x', ''].map((offset) => [`offset=${offset}`, 'offset', 'invalid_number']),
] as [string, string, string][])
  test(`GET /geofence-events?${query} is 400 ${code} naming ${name}`, async () => {
    for (const who of ['admin', 'no scope'] as const) {
      const body = await fails(g.get(`/geofence-events?${query}`, { key: keys[who] }), 400, code)
      assert.deepEqual([body.errors.length, body.errors[0].in, body.errors[0].name], [1, 'query', name])
    }
  })

test('another method is 405', async () => {
  const { status, headers } = await g.post('/geofence-events', {})
  assert.deepEqual([status, headers.get('allow')], [405, 'GET, HEAD'])
})
