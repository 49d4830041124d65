import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ANY_DATABASE } from '#hub/testing/databases.ts'
import { openHub, type TestHub } from '#hub/testing/open-hub.ts'
import { People } from '#hub/testing/people.ts'
import { rowsContent, type SiteClient } from '#hub/testing/site-client.ts'
import { type CartDevice, evaluateCart } from '#shared/carts/cart-state.ts'
import { NO_MOTION } from '#shared/carts/motion.ts'
import { DEFAULT_SITE_SETTINGS } from '#shared/site/settings.ts'
import { toIso } from '#shared/time.ts'
import { toCartJson } from '#shared/wire/cart-json.ts'
import { toCartReportJson } from '#shared/wire/cart-report.ts'

const AT = '2026-05-01T08:30:00.000Z'
const ZONE_CONTEXT = { hasParking: true, hasBoundary: false }
const NO_NOTES = { outOfService: null, exempt: null, note: null }

let hub: TestHub
let people: People
let site: SiteClient
let seq = 0

before(async () => {
  hub = await openHub(ANY_DATABASE)
  people = new People(hub)
  site = await hub.site()
})
after(() => hub.stop())

function device(hardwareId: string, cart: string | null, fields: object = {}): Record<string, unknown> {
  return {
    hardware_id: hardwareId,
    short_id: `s-${hardwareId}`,
    device_type: 'teebox',
    name: null,
    cart,
    attributes: {},
    is_online: true,
    group_id: null,
    created_at: AT,
    updated_at: AT,
    ...fields,
  }
}

/** Device in the barn, locked by a code, seen just now. */
function reportOf(hardwareId: string, nowMs: number): CartDevice {
  return {
    hardwareId,
    deviceType: 'teebox',
    isOnline: true,
    lastSeenAtMs: nowMs,
    announcedSleep: false,
    motion: {
      ...NO_MOTION,
      fix: { atMs: nowMs - 1000, latE7: 284_100_000, longE7: -815_800_000, speedKmh: 0 },
      still: { latE7: 284_100_000, longE7: -815_800_000, sinceMs: nowMs - 600_000 },
      battery: { atMs: nowMs - 1000, voltageV: 50.9 },
      rest: { atMs: nowMs - 1000, voltageV: 50.9 },
      heading: 270,
    },
    stays: [{ zoneId: 'barn', name: 'Barn', type: 'parking', hole: null, sinceMs: nowMs - 600_000 }],
    outSinceMs: null,
    lock: { isLocked: true, atMs: nowMs - 5000, source: 'keypad', by: '471133' },
  }
}

const list = () => people.request('GET', `/sites/${site.siteId}/carts`)
const cartOf = (id: string) => people.request('GET', `/sites/${site.siteId}/carts/${id}`)

test('a cart has the state its gateway reported, and the device list is unchanged', async () => {
  const nowMs = Date.now()
  const report = reportOf('d1', nowMs)
  await site.latest({
    is_complete: true,
    devices: [
      device('d1', '17', { cart_said: toCartReportJson(report, ZONE_CONTEXT, nowMs + 60_000) }),
      device('d2', '17', { device_type: 'cartcaddie' }),
      device('d3', null, { name: '2' }),
      device('d4', '10', { cart_said: { nonsense: true } }),
    ],
  })
  const { status, body } = await list()
  assert.equal(status, 200)
  assert.deepEqual(
    body.carts.map(({ cart, state, devices }: { cart: string; state: string; devices: object[] }) => [
      cart,
      state,
      devices.length,
    ]),
    [
      ['2', 'unknown', 1],
      ['10', 'unknown', 1],
      ['17', 'in', 2],
    ],
  )
  assert.deepEqual([body.counts.in, body.counts.total, body.has_parking_zone], [1, 3, true])
  const settings = { ...DEFAULT_SITE_SETTINGS, movingKmh: 3 }
  const verdict = evaluateCart([report], ZONE_CONTEXT, settings, { nowMs, startedAtMs: 0 })
  const shown = { key: '17', devices: [], verdict, notes: NO_NOTES, openAlertIds: [] }
  const { devices: _, ...expected } = toCartJson({ ...shown, autoLockAtMs: nowMs + 60_000 }, false)
  const { devices, ...cart } = (await cartOf('17')).body
  assert.deepEqual(cart, expected)
  assert.deepEqual(
    devices.map(({ hardware_id }: { hardware_id: string }) => hardware_id),
    ['d1', 'd2'],
  )
  assert.equal((await cartOf('d2')).body.cart, '17')
  assert.equal('cart_said' in (await people.request('GET', `/sites/${site.siteId}/devices/d1`)).body, false)
})

test('a cart shows staff notes, until they are removed', async () => {
  const by = { user_id: 'u1', name: 'Jane' }
  const push = (body: unknown) =>
    site.push(site.part('entities', rowsContent([{ seq: ++seq, table: 'cart_note', key: '17', body }])))
  const exempt = { zone_types: ['stop'], until_ms: Date.now() + 60_000, why: 'Flag', by }
  await push({
    cart: '17',
    out_of_service: { since_ms: 0, why: 'Tyre', by },
    exempt,
    note: 'Squeaks',
    updated_at_ms: 1,
  })
  const { body } = await cartOf('17')
  assert.deepEqual(
    [body.out_of_service, body.exempt.zone_types, body.note],
    [{ since: '1970-01-01T00:00:00.000Z', why: 'Tyre', by }, ['stop'], 'Squeaks'],
  )
  assert.equal((await list()).body.counts.out_of_service, 1)
  await push({
    cart: '17',
    out_of_service: null,
    exempt: { ...exempt, until_ms: 1 },
    note: '',
    updated_at_ms: 2,
  })
  const over = (await cartOf('17')).body
  assert.deepEqual([over.out_of_service, over.exempt, over.note], [null, null, null])
  await push(null)
})

test('a cart lists its alerts that are not closed', async () => {
  const alert = (alert_id: string, closed_at_ms: number | null) => ({
    alert_id,
    kind: 'outside',
    cart: '17',
    hardware_id: 'd1',
    opened_at_ms: 1,
    closed_at_ms,
    acknowledged_at_ms: null,
    acknowledged_by: null,
    note: null,
    details: {},
  })
  const rows = [alert('a1', null), alert('a2', 2)].map((body) => ({
    seq: ++seq,
    table: 'alert',
    key: body.alert_id,
    body,
  }))
  await site.push(site.part('entities', rowsContent(rows)))
  assert.deepEqual((await cartOf('17')).body.open_alerts, ['a1'])
})

test('the auto-lock time comes from the device with the lock, and is null for an older gateway', async () => {
  const nowMs = Date.now()
  const of = (id: string, atMs: number | null) => toCartReportJson(reportOf(id, nowMs), ZONE_CONTEXT, atMs)
  const { auto_lock_at_ms: _, ...earlier } = of('d6', null)
  const { lock: __, ...lockless } = { ...of('d5', 1), auto_lock_at_ms: 1 }
  await site.latest({
    is_complete: true,
    devices: [
      device('d4', '18', { cart_said: of('d4', nowMs + 1) }),
      device('d5', '18', { device_type: 'cartcaddie', cart_said: { ...lockless, lock: null } }),
      device('d6', '19', { cart_said: earlier }),
    ],
  })
  assert.equal((await cartOf('18')).body.auto_lock_at, toIso(nowMs + 1))
  assert.deepEqual([(await cartOf('19')).body.auto_lock_at, (await cartOf('19')).body.state], [null, 'in'])
})

test('a cart without recent contact is silent, and an unknown cart is not found', async () => {
  const report = reportOf('d1', Date.now() - 3_600_000)
  await site.latest({
    is_complete: true,
    devices: [device('d1', '17', { is_online: false, cart_said: toCartReportJson(report, ZONE_CONTEXT, null) })],
  })
  assert.equal((await cartOf('17')).body.state, 'silent')
  const missing = await cartOf('99')
  assert.deepEqual([missing.status, missing.body.code], [404, 'cart_not_found'])
})
