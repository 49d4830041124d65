import assert from 'node:assert/strict'
import { test } from 'node:test'
import { valuesOf } from '#hub/testing/people.ts'
import { reportedAlert, reportedDevice } from '#hub/testing/reported.ts'
import { siteScene } from '#hub/testing/scene.ts'
import { type CartDevice, evaluateCart } from '#shared/carts/cart-state.ts'
import { NO_MOTION } from '#shared/carts/motion.ts'
import { DEFAULT_SITE_SETTINGS } from '#shared/site/settings.ts'
import { toIso } from '#shared/time.ts'
import { NO_CART_NOTES, toCartJson } from '#shared/wire/cart-json.ts'
import { toCartReportJson } from '#shared/wire/cart-report.ts'
import type { CartJson } from '#shared/wire/carts.ts'
import { toSiteSettingsJson } from '#shared/wire/site-json.ts'

const ZONE_CONTEXT = { hasParking: true, hasBoundary: false }

const { people, site } = siteScene()

const device = (hardwareId: string, cart: string | null, fields: object = {}) =>
  reportedDevice(hardwareId, { cart, ...fields })

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

const list = () => people.request('GET', `${site.path}/carts`)
const cartOf = (id: string) => people.request('GET', `${site.path}/carts/${id}`)

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
  const listed = body.carts.map((one: CartJson) => [one.cart, one.state, one.devices.length])
  const expectedCarts = [
    ['2', 'unknown', 1],
    ['10', 'unknown', 1],
    ['17', 'in', 2],
  ]
  assert.deepEqual(listed, expectedCarts)
  assert.deepEqual([body.counts.in, body.counts.total, body.has_parking_zone], [1, 3, true])
  const settings = { ...DEFAULT_SITE_SETTINGS, movingKmh: 3 }
  const verdict = evaluateCart([report], ZONE_CONTEXT, settings, { nowMs, startedAtMs: 0 })
  const shown = { key: '17', devices: [], verdict, notes: NO_CART_NOTES, party: null, openAlertIds: [] }
  const { devices: _, ...expected } = toCartJson({ ...shown, autoLockAtMs: nowMs + 60_000 }, false, true)
  const { devices, ...cart } = (await cartOf('17')).body
  assert.deepEqual(cart, expected)
  assert.deepEqual(valuesOf(devices, 'hardware_id'), ['d1', 'd2'])
  assert.equal((await cartOf('d2')).body.cart, '17')
  assert.equal('cart_said' in (await people.get(`${site.path}/devices/d1`)), false)
})

test('a cart shows staff notes, until they are removed', async () => {
  const by = { user_id: 'u1', name: 'Jane' }
  const push = (body: unknown) => site.pushEntities({ table: 'cart_note', key: '17', body })
  const exempt = { zone_types: ['stop'], until_ms: Date.now() + 60_000, why: 'Flag', by }
  const out_of_service = { since_ms: 0, why: 'Tyre', by }
  await push({ cart: '17', out_of_service, exempt, note: 'Squeaks', updated_at_ms: 1 })
  const { body } = await cartOf('17')
  assert.deepEqual(
    [body.out_of_service, body.exempt.zone_types, body.note],
    [{ since: '1970-01-01T00:00:00.000Z', why: 'Tyre', reason: null, by }, ['stop'], 'Squeaks'],
  )
  assert.equal((await list()).body.counts.out_of_service, 1)
  const ended = { ...exempt, until_ms: 1 }
  await push({ cart: '17', out_of_service: null, exempt: ended, note: '', updated_at_ms: 2 })
  const over = (await cartOf('17')).body
  assert.deepEqual([over.out_of_service, over.exempt, over.note], [null, null, null])
  await push({ cart: '17', out_of_service: null, exempt: null, note: null, kind: 'ranger', updated_at_ms: 3 })
  const { carts, counts, counts_by_kind } = (await people.request('GET', `${site.path}/carts?kind=ranger`)).body
  assert.deepEqual(valuesOf(carts, 'kind'), ['ranger'])
  assert.deepEqual([counts.total + 1, counts_by_kind.ranger.total], [(await list()).body.carts.length, 1])
  await push(null)
})

test('parties are listed without names, and shown with their carts', async () => {
  const nowMs = Date.now()
  const now = toIso(nowMs)
  const given = { cart: '17', given_at: now, by: null, returned_at: null, returned: null }
  const fields = { start_hole: 1, holes: 9, external_id: null, source: 'sheet', until: null, by: null }
  const at = { created_at: now, updated_at: now }
  const booked = {
    party_id: 'p2',
    date: '2026-05-01',
    tee_time: '2026-05-01T08:00:00.000Z',
    carts: [],
    ...fields,
    ...at,
  }
  const out = { ...booked, party_id: 'p1', date: now.slice(0, 10), tee_time: null, carts: [given] }
  const entityOf = (body: typeof booked | typeof out | { party_id: string; date: string }) => {
    const { party_id: key, date } = body
    return { table: 'party', key, body: { party_id: key, date, updated_at_ms: nowMs, body } }
  }
  await site.pushEntities(entityOf(out), entityOf(booked), entityOf({ party_id: 'unreadable', date: '2026-05-01' }))
  const parties = async (query: string) => (await people.get(`${site.path}/parties${query}`)).parties
  const { body } = await people.request('GET', `${site.path}/parties`)
  assert.deepEqual(valuesOf(body.parties, 'party_id'), ['p2', 'p1'])
  assert.deepEqual(valuesOf(await parties('?date=2026-05-01'), 'state'), ['booked'])
  const [shown] = await parties('?state=out&cart=17')
  assert.deepEqual([shown.players, shown.carts[0].driver, shown.is_overdue], [[], null, false])
  assert.deepEqual((await cartOf('17')).body.party.party_id, 'p1')
})

test('entries and plans of the service book are listed', async () => {
  const at = '2026-05-01T08:00:00.000Z'
  const meter = { hours: 1, km: 2, rounds: 3 }
  const none = { plan_id: null, done_by: null, cost: null, note: null, out_of_service: null, by: null }
  const entry = { ...none, ...meter, entry_id: 'e1', cart: '17', done_at: at, what: 'Washed', created_at: at }
  const later = { ...entry, entry_id: 'e2', cart: '18', done_at: '2026-05-02T08:00:00.000Z' }
  const made = { carts: null, vehicle_kind: 'golf_cart', soon_percent: 10, by: null, created_at: at }
  const plan = { ...made, plan_id: 'p', name: 'Brakes', every: { km: 900 } }
  await site.pushEntities(
    ...[entry, later].map((one) => ({ table: 'service_entry', key: one.entry_id, body: { entry: one } })),
    { table: 'service_plan', key: 'p', body: { plan: { ...plan, counts_from: { 17: meter } } } },
    { table: 'service_plan', key: 'unreadable', body: { plan: {} } },
  )
  const entries = async (query: string) => (await people.get(`${site.path}/service-entries${query}`)).entries
  const { body } = await people.request('GET', `${site.path}/service-entries`)
  assert.deepEqual(body.entries, [later, entry])
  assert.deepEqual(await entries(`?cart=17&to=${at}`), [entry])
  assert.deepEqual((await people.request('GET', `${site.path}/service-plans`)).body, [plan])
})

test('settings of an older gateway hold, with the defaults of those that it does not know', async () => {
  const { vehicle_kinds: _, ...settings } = toSiteSettingsJson({ ...DEFAULT_SITE_SETTINGS, name: 'Old course' })
  await site.pushEntities({ table: 'site', key: 'site', body: { settings, updated_at_ms: 1 } })
  const { body } = await people.request('GET', `${site.path}/site`)
  assert.deepEqual([body.name, body.vehicle_kinds.ranger.auto_lock], ['Old course', false])
})

test('a cart lists its alerts that are not closed', async () => {
  const alerts = [reportedAlert('a1'), reportedAlert('a2', { closed_at_ms: 2 })]
  await site.pushEntities(...alerts.map((body) => ({ table: 'alert', key: body.alert_id, body })))
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
  assert.deepEqual(await people.refusal('GET', `${site.path}/carts/99`), [404, 'cart_not_found'])
})
