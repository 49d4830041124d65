import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { eventually } from '#shared/testing/eventually.ts'
import { HOUR_MS, MINUTE_MS, toIso } from '#shared/time.ts'
import { box, collection } from '#testing/course/features.ts'
import { sendTrack, trackUntil } from '#testing/course/sent-track.ts'
import { fails, ok, scene } from '#testing/scene.ts'

// Friday, 20:00 in Berlin
const { g, clock, course } = scene({ nowMs: Date.parse('2026-05-01T18:00:00Z'), overrides: { tickMs: 20 } })
const BARN = 0.1

const feature = (id: string, properties: object, south: number, north: number) => ({
  type: 'Feature',
  id,
  properties,
  geometry: { type: 'Polygon', coordinates: [box(0.09, south, 0.11, north)] },
})

const track = (...legs: [lat: number, minutes: number][]) => trackUntil(clock.nowMs(), ...legs)

const get = (path: string, key?: string) => ok(g.request('GET', path, key === undefined ? {} : { key }))

describe('the summary of a day', () => {
  before(async () => {
    await ok(g.patch('/site', { time_zone: 'Europe/Berlin', minutes_per_hole: 15, pack: { low_v: 48 } }))
    const holes = [1, 2, 3].map((hole) =>
      feature(`h${hole}`, { type: 'hole', hole }, 0.099 + hole * 0.003, 0.101 + hole * 0.003),
    )
    const zones = collection(feature('barn', { type: 'parking' }, 0.099, 0.101), ...holes)
    await ok(g.put('/zones', zones, { headers: { 'if-match': '*' } }))
    const [lock17, lock18] = [
      await course.device('lock-17', { cart: '17' }),
      await course.device('lock-18', { cart: '18' }),
    ]
    await course.device('lock-9', { cart: '9' })
    await ok(g.patch('/carts/9', { out_of_service: { why: 'brakes' } }))
    await course.device('lock-r', { cart: 'R1' })
    await ok(g.patch('/carts/R1', { kind: 'ranger' }))
    const given = {
      players: ['Miller'],
      carts: [{ cart: '17' }],
      until: toIso(clock.nowMs() + MINUTE_MS),
      unlock: false,
    }
    await ok(g.request('POST', '/parties', { body: given }), 201)
    const legs = [
      [BARN, 5],
      [0.102, 20],
      [0.105, 15],
      [0.108, 40],
      [BARN, 10],
    ] as const
    await sendTrack(lock17.client, 'lock-17', track(...legs.map(([lat, minutes]): [number, number] => [lat, minutes])))
    await lock17.send('call', { call: 'help', cid: '1', text: 'Miller' })
    await lock17.send('call', { call: 'help', cid: '2' })
    await lock18.report('barn', { battery_voltage: 47 })
    await eventually(async () => (await get('/alerts?kind=call')).alerts[0]?.details.count === 2, 'a call')
    clock.advance(2 * MINUTE_MS)
    const { alerts } = await get('/alerts?kind=call')
    await ok(g.request('POST', `/alerts/${alerts[0].alert_id}/acknowledge`))
  })

  test('has what golf carts did and what happened, and no name', async () => {
    const day = await get('/reports/day?date=2026-05-01')
    assert.deepEqual(
      { ...day, distance: 0, hours_out: 0 },
      {
        date: '2026-05-01',
        time_zone: 'Europe/Berlin',
        is_complete: false,
        carts: { total: 3, used: 1, out_of_service: 1 },
        rounds: { count: 1, nine: 0, eighteen: 0, mean_minutes: 75, median_minutes: 75, within_pace_percent: 0 },
        pace: { mean_late_min: 30, delayed_parties: 0, worst_hole: 3 },
        handouts: { parties: 1, overdue: 1 },
        incidents: [{ kind: 'call', count: 1 }],
        calls: { help: 2, ranger: 0, breakdown: 0, order: 0, median_answer_s: 120 },
        not_charged: [],
        low: [],
        service_due: [],
        not_seen: ['9'],
        hours_out: 0,
        distance: 0,
      },
    )
    assert.ok(day.hours_out > 1, JSON.stringify(day))
    assert.ok(!JSON.stringify(day).includes('Miller'))
  })

  test('is a table of section, name and value', async () => {
    const { body, headers } = await g.request('GET', '/reports/day?date=2026-05-01&format=csv')
    assert.match(headers.get('content-disposition') ?? '', /"cartbarn-2026-05-01\.csv"/)
    const lines = String(body).split('\r\n')
    assert.equal(lines[0], 'section,name,value')
    for (const line of ['date,,2026-05-01', 'carts,used,1', 'incidents,call,1', 'not_seen,9,', 'pace,worst_hole,3'])
      assert.ok(lines.includes(line), `${line} of ${body}`)
  })

  test('of a day to come has zeros, of a day that is over is complete, and of a month is the sum', async () => {
    const future = await get('/reports/day?date=2026-07-01')
    assert.deepEqual([future.rounds.count, future.not_seen, future.is_complete], [0, [], false])
    assert.equal((await get('/reports/day?date=2026-04-30')).is_complete, true)
    const month = await get('/reports/month?month=2026-05')
    assert.deepEqual([month.month, month.rounds.count, month.calls.help], ['2026-05', 1, 2])
  })

  test('is for staff, of carts in scope, and refuses a bad date or month', async () => {
    const { key } = await g.createUser({ role: 'staff', allowed_hardware_ids: ['lock-18'] })
    const part = await get('/reports/day?date=2026-05-01', key)
    assert.deepEqual([part.carts.total, part.calls.help, part.handouts.parties], [1, 0, 0])
    for (const date of ['2026-02-30', 'today', '', '2026-5-1'])
      await fails(g.request('GET', `/reports/day?date=${date}`), 400, 'invalid_date')
    for (const month of ['2026-13', '2026'])
      await fails(g.request('GET', `/reports/month?month=${month}`), 400, 'invalid_month')
    const user = await g.createUser({})
    await fails(g.request('GET', '/reports/day?date=x', { key: user.key }), 403, 'staff_required')
  })

  test('counts a local day of 25 hours once', async () => {
    clock.advance(Date.parse('2026-10-25T22:30:00Z') - clock.nowMs())
    const lock = await course.device('lock-30', { cart: '30' })
    await sendTrack(lock.client, 'lock-30', track([BARN, 5], [0.102, 24 * 60], [BARN, 5]))
    const { hours_out } = await get('/reports/day?date=2026-10-25')
    const before = await get('/reports/day?date=2026-10-24')
    assert.ok(Math.abs(hours_out + before.hours_out - 24) < 0.3, `${hours_out} + ${before.hours_out}`)
    assert.ok(hours_out > (24 * HOUR_MS - 90 * MINUTE_MS) / HOUR_MS)
  })
})
