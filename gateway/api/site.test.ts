import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { RealtimeClient } from '#testing/realtime-client.ts'
import { ok, scene } from '#testing/scene.ts'

const { g, keys, onlyFor } = scene({ inScope: ['cart-1'] })

const KIND_RULES = { auto_lock: false, lock_at_closing: false, alerts: ['low_battery', 'call', 'service_due'] }
const DEFAULTS = {
  name: '',
  time_zone: 'UTC',
  units: 'metric',
  language: 'en',
  location: null,
  opening_hours: null,
  pack: { empty_v: null, full_v: null, low_v: null },
  silent_after_s: 180,
  silent_on_course_after_s: 900,
  charge_check_h: 3,
  auto_lock_after_min: 0,
  lock_at_closing: false,
  minutes_per_hole: 15,
  tee_interval_min: 10,
  delay_from_min: 5,
  round_timeout_min: 0,
  round_timeout_lock: false,
  zone_stay_s: 60,
  rest_after_s: 300,
  lock_max_speed_kmh: 6,
  lock_locate_after_s: 60,
  names_kept_days: 7,
  return_after_min: 2,
  call_escalate_min: 3,
  vehicle_kinds: { ranger: KIND_RULES, food_and_beverage: KIND_RULES, greenkeeping: KIND_RULES },
  trips: {},
  hide_checklist: false,
}
const RESET = Object.fromEntries(Object.keys(DEFAULTS).map((name) => [name, null]))
const CLOSED = { mon: null, tue: null, wed: null, thu: null, fri: null, sat: null, sun: null }
const patch = (body: unknown) => g.patch('/site', body)
const read = async () => (await g.get('/site')).body

beforeEach(() => ok(patch(RESET)))

test('a new gateway has the default settings', async () => assert.deepEqual(await read(), DEFAULTS))

onlyFor('staff', ['GET', '/site'])
onlyFor('admins', ['PATCH', '/site', {}])

test('every user gets the settings of the display in /me', async () => {
  await patch({ name: 'Pebble', time_zone: 'Europe/Berlin' })
  const { body } = await g.get('/me', { key: keys['in scope'] })
  assert.deepEqual(body.site, { name: 'Pebble', time_zone: 'Europe/Berlin', units: 'metric', language: 'en' })
})

test('omitted fields stay, and the response is the whole site', async () => {
  const first = await patch({ name: ' Pebble Creek ', time_zone: 'America/New_York', auto_lock_after_min: 0.05 })
  const expected = { ...DEFAULTS, name: 'Pebble Creek', time_zone: 'America/New_York', auto_lock_after_min: 0.05 }
  assert.deepEqual(first.body, expected)
  const second = await patch({ language: 'de', units: 'imperial', auto_lock_after_min: null })
  assert.deepEqual(second.body, { ...expected, language: 'de', units: 'imperial', auto_lock_after_min: 0 })
  assert.deepEqual(await read(), second.body)
})

test('rules of vehicles are merged by kind and field, and null restores the default', async () => {
  const rules = async (vehicle_kinds: unknown) => (await ok(patch({ vehicle_kinds }))).vehicle_kinds
  const { vehicle_kinds: preset } = DEFAULTS
  await rules({ ranger: { auto_lock: true, alerts: ['outside', 'call', 'outside'] } })
  const ranger = { auto_lock: true, lock_at_closing: true, alerts: ['outside', 'call'] }
  assert.deepEqual(await rules({ ranger: { lock_at_closing: true } }), { ...preset, ranger })
  const merged = await rules({ greenkeeping: { alerts: [] }, ranger: { auto_lock: null } })
  assert.deepEqual(merged.greenkeeping, { ...KIND_RULES, alerts: [] })
  assert.deepEqual(merged.ranger, { ...ranger, auto_lock: false })
  assert.deepEqual(await rules({ ranger: null }), { ...preset, greenkeeping: merged.greenkeeping })
  assert.deepEqual(await rules(null), preset)
})

test('the location of the course is set and deleted as a whole', async () => {
  const location = { lat: 36.5682, long: -121.9487 }
  assert.deepEqual((await patch({ location })).body.location, location)
  for (const wrong of [{ lat: 91, long: 0 }, { lat: 0, long: 181 }, { ...location, m: 1 }, '36, -121'])
    assert.equal((await patch({ location: wrong })).status, 400)
  assert.deepEqual((await read()).location, location)
  assert.equal((await patch({ location: null })).body.location, null)
})

test('the first day set closes the others, null closes a day, and null for all clears the hours', async () => {
  const hours = async (opening_hours: unknown) => (await patch({ opening_hours })).body.opening_hours
  assert.deepEqual(await hours({ mon: ['07:00', '20:00'] }), { ...CLOSED, mon: ['07:00', '20:00'] })
  const two = { ...CLOSED, mon: ['07:00', '20:00'], sat: ['00:00', '24:00'] }
  assert.deepEqual(await hours({ sat: ['00:00', '24:00'] }), two)
  assert.deepEqual(await hours({ mon: null }), { ...CLOSED, sat: ['00:00', '24:00'] })
  assert.equal(await hours(null), null)
  assert.deepEqual(await hours({}), CLOSED)
})

test('battery and trip settings are merged field by field', async () => {
  await patch({ pack: { empty_v: 47, full_v: 51 }, trips: { minimalTripDistance: 100, speedThreshold: 2 } })
  const { body } = await patch({ pack: { low_v: 48.5, full_v: null }, trips: { speedThreshold: null } })
  assert.deepEqual(body.pack, { empty_v: 47, full_v: null, low_v: 48.5 })
  assert.deepEqual(body.trips, { minimalTripDistance: 100 })
})

const REFUSED: [name: string, body: unknown, code: string, field?: string][] = [
  ['an unknown field', { nmae: 'A' }, 'unknown_field', 'nmae'],
  ['an unknown field of the pack', { pack: { empty: 1 } }, 'unknown_field'],
  ['an unknown parameter of trips', { trips: { speed: 1 } }, 'unknown_field'],
  ['golf carts as other vehicles', { vehicle_kinds: { golf_cart: { auto_lock: true } } }, 'unknown_field'],
  ['an unknown rule for vehicles', { vehicle_kinds: { ranger: { lock: true } } }, 'unknown_field'],
  ['an alert of the site for vehicles', { vehicle_kinds: { ranger: { alerts: ['disk'] } } }, 'invalid_field'],
  ['an unknown time zone', { time_zone: 'Mars/Olympus' }, 'invalid_time_zone', 'time_zone'],
  ['an offset', { time_zone: '+02:00' }, 'invalid_time_zone', 'time_zone'],
  ['an unsupported language', { language: 'fr' }, 'invalid_field', 'language'],
  ['a name of 201 characters', { name: 'x'.repeat(201) }, 'invalid_field', 'name'],
  ['a name with a line break', { name: 'A\nB' }, 'invalid_field', 'name'],
  ['no seconds', { silent_after_s: 0 }, 'invalid_field', 'silent_after_s'],
  ['more than a day', { zone_stay_s: 86_401 }, 'invalid_field', 'zone_stay_s'],
  ['minutes below zero', { auto_lock_after_min: -1 }, 'invalid_field', 'auto_lock_after_min'],
  ['no interval of tee times', { tee_interval_min: 0.5 }, 'invalid_field', 'tee_interval_min'],
  ['a delay of more than an hour', { delay_from_min: 60.5 }, 'invalid_field', 'delay_from_min'],
  ['more than a day of minutes', { minutes_per_hole: 1441 }, 'invalid_field', 'minutes_per_hole'],
  ['a speed below 1', { lock_max_speed_kmh: 0.9 }, 'invalid_field', 'lock_max_speed_kmh'],
  ['a speed above 50', { lock_max_speed_kmh: 51 }, 'invalid_field', 'lock_max_speed_kmh'],
  ['text for a number', { rest_after_s: '300' }, 'invalid_field', 'rest_after_s'],
  ['a voltage above 120', { pack: { full_v: 121 } }, 'invalid_field'],
  ['low below empty', { pack: { empty_v: 48, low_v: 47 } }, 'invalid_field', 'pack'],
  ['full as low', { pack: { low_v: 48, full_v: 48 } }, 'invalid_field', 'pack'],
  ['full below empty while low is not known', { pack: { empty_v: 48, full_v: 47 } }, 'invalid_field', 'pack'],
  ...[
    ['07:00', '07:00'],
    ['20:00', '07:00'],
    ['7:00', '20:00'],
    ['07:00', '24:01'],
    ['07:60', '20:00'],
    ['07:00'],
    ['07:00', '20:00', '21:00'],
    ['07:00', 20],
    '07:00',
    {},
  ].map((mon): [string, unknown, string, string] => [
    `the hours ${JSON.stringify(mon)}`,
    { opening_hours: { mon } },
    'invalid_opening_hours',
    'opening_hours.mon',
  ]),
  ['an unknown day', { opening_hours: { monday: null } }, 'invalid_opening_hours', 'opening_hours.monday'],
  ['hours in a list', { opening_hours: [] }, 'invalid_opening_hours', 'opening_hours'],
]

for (const [name, body, code, field] of REFUSED)
  test(`a change is rejected: ${name}`, async () => {
    const { status, body: problem } = await patch({ language: 'de', ...(body as object) })
    assert.deepEqual([status, problem.errors[0].code], [400, code], JSON.stringify(problem))
    if (field !== undefined) assert.equal(problem.errors[0].name, field)
    assert.deepEqual(await read(), DEFAULTS)
  })

test('a voltage is checked against the stored ones', async () => {
  await patch({ pack: { full_v: 51 } })
  assert.equal((await patch({ pack: { low_v: 52 } })).status, 400)
  await ok(patch({ pack: { low_v: 52, full_v: 55 } }))
})

test('concurrent patches are all kept, and all settings survive a restart', async () => {
  const patches = [{ name: 'A' }, { language: 'de' }, { pack: { low_v: 48 } }, { trips: { speedThreshold: 2 } }]
  await Promise.all(patches.map(patch))
  await g.restart()
  const site = await read()
  assert.deepEqual([site.name, site.language, site.pack.low_v, site.trips], ['A', 'de', 48, { speedThreshold: 2 }])
})

test('the audit log has the changed fields only, and no entry for a patch without a change', async () => {
  await patch({ name: 'Pebble', language: 'de' })
  await patch({ name: 'Creek', language: 'de' })
  await patch({ name: 'Creek' })
  const { entries } = (await g.get('/audit-log?action=site.updated&limit=1')).body
  assert.deepEqual(entries[0].before, { name: 'Pebble' })
  assert.deepEqual(entries[0].after, { name: 'Creek' })
  assert.equal(entries[0].target, 'site')
})

test('all connected users are notified of a change, plain users only of display settings', async (t) => {
  const [admin, user] = await Promise.all(
    [keys.admin, keys['in scope']].map((key) =>
      RealtimeClient.open(`${g.http.replace('http', 'ws')}/realtime`, { 'x-api-key': key ?? '' }),
    ),
  )
  assert.ok(admin !== undefined && user !== undefined)
  t.after(() => [admin, user].map(({ socket }) => socket.terminate()))
  const { body } = await patch({ name: 'Pebble', silent_after_s: 60 })
  assert.deepEqual(await admin.next('site_changed'), { type: 'site_changed', site: body })
  const { name, time_zone, units, language } = body
  assert.deepEqual(await user.next('site_changed'), {
    type: 'site_changed',
    site: { name, time_zone, units, language },
  })
})

test('trips use the settings of the site, and a request overrides them', async () => {
  await g.device('cart-1')
  await patch({ trips: { minimalTripDistance: 100, speedThreshold: 2 } })
  const used = async (path: string) => (await g.get(path)).body.summary.configUsed
  const range = 'from=2026-05-01T00:00:00Z&to=2026-05-02T00:00:00Z'
  for (const path of [`/trips?${range}`, `/trips/cart-1?${range}`, '/trips/active?', '/trips/cart-1/active?']) {
    const { minimalTripDistance, speedThreshold, maxAcceleration } = await used(`${path}&speedThreshold=4`)
    assert.deepEqual([minimalTripDistance, speedThreshold, maxAcceleration], [100, 4, 10], path)
  }
})

for (const [date, from, to] of [
  ['2026-03-29', '2026-03-28T23:00:00.000Z', '2026-03-29T21:59:59.999Z'],
  ['2026-10-25', '2026-10-24T22:00:00.000Z', '2026-10-25T22:59:59.999Z'],
])
  test(`the summary of ${date} covers the local day`, async () => {
    await patch({ time_zone: 'Europe/Berlin' })
    const { body } = await g.get(`/trips/cart-1/summary?date=${date}`)
    assert.deepEqual([body.from, body.to], [from, to])
  })

for (const [query, code] of [
  ['date=2026-02-30', 'invalid_date'],
  ['date=', 'invalid_date'],
  ['date=2026-05-01T00:00:00Z', 'invalid_date'],
  ['date=2026-05-01&from=2026-05-01T00:00:00Z', 'invalid_range'],
  ['date=2026-05-01&to=2026-05-01T00:00:00Z', 'invalid_range'],
])
  test(`a summary of ${query} is rejected as ${code}`, async () => {
    const { status, body } = await g.get(`/trips/cart-1/summary?${query}`)
    assert.deepEqual([status, body.errors[0].code], [400, code])
  })
