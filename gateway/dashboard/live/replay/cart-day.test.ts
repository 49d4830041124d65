import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deviceTrackJson, type Seen } from '#dashboard/testing/track-json.ts'
import type { ApiClient } from '#shared/client.ts'
import { HOUR_MS } from '#shared/time.ts'
import { type CartDay, dayEndMs, readCartDay } from './cart-day.ts'

const FROM = '2026-03-28T23:00:00.000Z'
/** Day on which the clocks of Berlin skip an hour. */
const TO = '2026-03-29T21:59:59.999Z'
const FROM_MS = Date.parse(FROM)

interface Course {
  devices: ReturnType<typeof deviceTrackJson>[]
  trips?: object[]
  stops?: object[]
  locks?: object[]
  zones?: object[]
  alerts?: object[]
}

/** Creates a gateway with these responses, and records the requests. */
function gatewayWith({ devices, trips = [], stops = [], locks = [], zones = [], alerts = [] }: Course) {
  const asked: string[] = []
  const answers: Record<string, object> = {
    'GET /carts/{cart}/track': { cart: '17', from: FROM, to: TO, devices },
    'GET /trips/{hardwareId}': { trips, stops, summary: {} },
    'GET /lock-events': { events: locks, pagination: {} },
    'GET /geofence-events': { events: zones, pagination: {} },
    'GET /alerts': { alerts, pagination: {} },
  }
  const call = async (name: string, { path = {}, query = {} }: { path?: object; query?: object }) => {
    asked.push(`${name} ${JSON.stringify({ ...path, ...query })}`)
    return answers[name]
  }
  // its responses have the shapes of the API
  return { asked, api: { call } as unknown as Pick<ApiClient, 'call'> }
}

function read(course: Course): Promise<CartDay> {
  return readCartDay(gatewayWith(course).api, '17', '2026-03-29', new AbortController().signal)
}

const seen = (...hours: number[]): Seen[] => hours.map((hour) => ({ atS: hour * 3600 }))

test('a day is shown from the first hour with records to the last', async () => {
  const { span, day } = await read({ devices: [deviceTrackJson('a', 'teebox', seen(7.2, 15.5))] })
  assert.deepEqual(span, { fromMs: FROM_MS + 7 * HOUR_MS, toMs: FROM_MS + 16 * HOUR_MS })
  assert.equal(day.toMs + 1 - day.fromMs, 23 * HOUR_MS)
  const late = await read({ devices: [deviceTrackJson('a', 'teebox', seen(22.5))] })
  assert.equal(late.span.toMs, late.day.toMs)
  const empty = await read({ devices: [deviceTrackJson('a', 'teebox', [])] })
  assert.deepEqual(empty.span, empty.day)
})

test('the current day ends now, and a future day is empty', () => {
  const span = { fromMs: 100, toMs: 200 }
  assert.deepEqual(dayEndMs(span, 150), { fromMs: 100, toMs: 150 })
  assert.deepEqual(dayEndMs(span, 250), span)
  assert.deepEqual(dayEndMs(span, 50), { fromMs: 100, toMs: 100 })
})

test('trips and zones come from the device that determined the position, locks from all devices', async () => {
  const { api, asked } = gatewayWith({
    devices: [deviceTrackJson('a', 'teebox', []), deviceTrackJson('b', 'cartcaddie', seen(8))],
  })
  await readCartDay(api, '17', '2026-03-29', new AbortController().signal)
  const of = (name: string) =>
    asked.filter((one) => one.startsWith(name)).map((one) => /"(?:hardwareId|hardware_id)":"(\w)"/.exec(one)?.[1])
  assert.deepEqual(of('GET /trips'), ['b'])
  assert.deepEqual(of('GET /geofence-events'), ['b'])
  assert.deepEqual(of('GET /lock-events'), ['a', 'b'])
})

test('events are listed in the order in which they began', async () => {
  const iso = (hour: number) => new Date(FROM_MS + hour * HOUR_MS).toISOString()
  const { events, drivenM } = await read({
    devices: [deviceTrackJson('a', 'teebox', seen(8))],
    trips: [{ startTime: iso(9), endTime: iso(10), distance: 2400 }],
    stops: [{ startTime: iso(10), endTime: iso(11) }],
    locks: [{ event_id: 'l', timestamp: iso(8.5) }],
    zones: [{ event_id: 'z', timestamp: iso(10.5) }],
    alerts: [{ alert_id: 'x', opened_at: iso(9.5) }],
  })
  assert.deepEqual(
    events.map(({ kind }) => kind),
    ['lock', 'trip', 'alert', 'stop', 'zone'],
  )
  assert.equal(drivenM, 2400)
})

test('voltages come from the lock, or else from the device with most readings', async () => {
  const lock = deviceTrackJson('a', 'teebox', [], [[60, 50]])
  const other = deviceTrackJson(
    'b',
    'tracker',
    [],
    [
      [60, 12],
      [61, 12],
    ],
  )
  const third = deviceTrackJson('c', 'tracker', [], [[60, 13]])
  assert.equal((await read({ devices: [other, lock] })).voltages.voltageV[0], 50)
  assert.equal((await read({ devices: [third, other] })).voltages.voltageV[0], 12)
})
