import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cartJson } from '#dashboard/testing/cart-json.ts'
import { circleZone } from '#dashboard/testing/zones-json.ts'
import type { GeofenceEventJson } from '#shared/wire/geofence-events.ts'
import { breachesOf, breachQuery } from './breaches.ts'

const by = { user_id: 'u', name: 'Jo' }
const at = (minute: number) => `2026-05-01T08:${String(minute).padStart(2, '0')}:00.000Z`
const zone = (id: string, type: 'alert' | 'stop', since: number, enabled = true) =>
  circleZone(id, [0, 0], 20, {
    name: id.toUpperCase(),
    type,
    enabled,
    enabled_before: false,
    switched_at: at(since),
    switched: { until: null, by },
  })
const ZONES = [zone('a', 'alert', 10), zone('b', 'stop', 20), zone('off', 'alert', 5, false)]

function event(hardwareId: string, kind: 'enter' | 'exit', zoneId: string, minute: number): GeofenceEventJson {
  return {
    event_id: `${hardwareId} ${kind} ${zoneId} ${minute}`,
    hardware_id: hardwareId,
    event: kind,
    group_id: null,
    zone_id: zoneId,
    zone_name: zoneId,
    zone_type: 'alert',
    timestamp: at(minute),
    lat: 0,
    long: 0,
  }
}
const device = (hardware_id: string) => ({ hardware_id, device_type: 'teebox', is_online: true })
const cart = (name: string, ...ids: string[]) => cartJson(name, { devices: ids.map(device) })
const spans = (events: GeofenceEventJson[], carts = [cart('1', 'one'), cart('2', 'two', 'screen')]) =>
  breachesOf(ZONES, events, carts).map(
    ({ cart: of, zoneName, fromMs, untilMs }) =>
      `${of} ${zoneName} ` +
      `${new Date(fromMs).getUTCMinutes()}-${untilMs === null ? '' : new Date(untilMs).getUTCMinutes()}`,
  )

test('the events that matter are those of the kinds that are switched on, since the first was', () => {
  assert.deepEqual(breachQuery(ZONES), { types: ['alert', 'stop'], from: at(10) })
  assert.equal(breachQuery(ZONES.slice(2)), null)
})

test('who was where and how long, newest first; who is still there has no end', () => {
  const events = [
    event('one', 'enter', 'a', 30),
    event('one', 'exit', 'a', 32),
    event('one', 'enter', 'a', 40),
    event('two', 'enter', 'b', 35),
    event('two', 'exit', 'b', 36),
  ]
  assert.deepEqual(spans(events.toReversed()), ['1 A 40-', '2 B 35-36', '1 A 30-32'])
})

test('what was before a zone was on, in others, or of devices that are gone does not count', () => {
  const events = [
    event('one', 'enter', 'b', 15),
    event('one', 'exit', 'b', 25),
    event('one', 'enter', 'off', 30),
    event('gone', 'enter', 'a', 30),
    event('one', 'enter', 'elsewhere', 30),
  ]
  assert.deepEqual(spans(events), [])
})

test('two devices of a cart are one stay', () => {
  const events = [
    event('two', 'enter', 'a', 30),
    event('screen', 'enter', 'a', 31),
    event('two', 'exit', 'a', 33),
    event('screen', 'exit', 'a', 34),
  ]
  assert.deepEqual(spans(events), ['2 A 30-34'])
})

test('a cart that may drive there is left out, in zones of these types only', () => {
  const exempt = { zone_types: ['alert' as const], until: at(59), why: 'flag', by }
  const events = [event('one', 'enter', 'a', 30), event('one', 'enter', 'b', 31)]
  assert.deepEqual(spans(events, [{ ...cart('1', 'one'), exempt }]), ['1 B 31-'])
})
