import assert from 'node:assert/strict'
import { before, beforeEach, describe, test } from 'node:test'
import { eventually } from '#shared/testing/eventually.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, toIso } from '#shared/time.ts'
import type { PaceJson, PacePartyJson, RoundJson } from '#shared/wire/rounds.ts'
import type { CourseDevice } from '#testing/course/course.ts'
import { box, collection } from '#testing/course/features.ts'
import { type SentFix, sendTrack, trackUntil } from '#testing/course/sent-track.ts'
import { ok, pluck, scene } from '#testing/scene.ts'

// the night after which the clocks of Berlin are put back
const { g, clock, course, fresh, onlyFor } = scene({
  overrides: { tickMs: 20 },
  nowMs: Date.parse('2026-10-24T12:00:00Z'),
  inScope: ['unrelated-1'],
})

const BARN = 0.1
const PATH = 0.1015
const HOLES = { 1: 0.103, 2: 0.106, 3: 0.109 } as const

/** Creates a barn, and three holes to its north, each a strip of land. */
function zones(numbers: readonly (number | null)[] = [1, 2, 3]) {
  const strip = (id: string, properties: object, south: number, north: number) => ({
    type: 'Feature',
    id,
    properties: { name: id, ...properties },
    geometry: { type: 'Polygon', coordinates: [box(0.09, south, 0.11, north)] },
  })
  const holes = numbers.map((hole, i) =>
    strip(`hole-${i}`, { type: 'hole', ...(hole !== null && { hole }) }, 0.102 + i * 0.003, 0.104 + i * 0.003),
  )
  return collection(strip('barn', { type: 'parking' }, 0.099, 0.101), ...holes)
}

const putZones = (body: object) => ok(g.put('/zones', body, { headers: { 'if-match': '*' } }))

const track = (...legs: [lat: number, minutes: number][]) => trackUntil(clock.nowMs(), ...legs)

const send = (device: CourseDevice, fixes: readonly SentFix[]) => sendTrack(device.client, device.hardwareId, fixes)

const active = async (key?: string): Promise<RoundJson[]> =>
  (await ok(g.request('GET', '/rounds/active', key === undefined ? {} : { key }))).rounds

async function listed(query = '', key?: string): Promise<RoundJson[]> {
  const range = `from=${toIso(clock.nowMs() - 2 * DAY_MS)}&to=${toIso(clock.nowMs())}`
  const path = `/rounds?${range}${query}`
  return (await ok(g.request('GET', path, key === undefined ? {} : { key }))).rounds
}

/** Waits for the active round of a cart to satisfy `isRight`. */
async function runs(cart: string, isRight: (round: RoundJson) => boolean = () => true): Promise<RoundJson> {
  let found: RoundJson | undefined
  await eventually(async () => {
    found = (await active()).find((round) => round.cart === cart)
    return found !== undefined && isRight(found)
  }, `cart ${cart} is on a round`)
  assert.ok(found !== undefined)
  return found
}

const played = ({ holes }: RoundJson) => holes.map(({ hole }) => hole)

before(() => g.patch('/site', { time_zone: 'Europe/Berlin' }))
beforeEach(async () => {
  clock.advance(HOUR_MS)
  await putZones(zones())
})

describe('access', () => {
  for (const path of ['/rounds/active', '/rounds?from=2026-05-01&to=2026-05-02']) onlyFor('any key', ['GET', path])

  test('a caller sees rounds of carts in scope, from the devices in scope of a partly visible cart', async () => {
    const [cart, lock, screen] = [fresh('C'), fresh('a'), fresh('b')]
    const teebox = await course.device(lock, { cart })
    const caddie = await course.device(screen, { cart, deviceType: 'cartcaddie' })
    await send(teebox, track([BARN, 5], [HOLES[1], 30], [HOLES[2], 5]))
    await send(caddie, track([BARN, 5], [HOLES[1], 10], [HOLES[3], 5]))
    assert.deepEqual(played(await runs(cart)), [1, 2])
    const { key } = await g.createUser({ allowed_hardware_ids: [screen] })
    assert.deepEqual((await active(key)).map(played), [[1, 3]])
    assert.deepEqual((await listed('', key)).map(played), [[1, 3]])
    const { key: other } = await g.createUser({ allowed_hardware_ids: ['other'], role: 'staff' })
    assert.deepEqual([await active(other), await listed('', other)], [[], []])
  })
})

describe('GET /rounds', () => {
  const SCENARIOS: [query: string, code: string][] = [
    ['', 'missing_parameter'],
    ['?from=2026-05-01', 'missing_parameter'],
    ['?from=2026-05-02&to=2026-05-01', 'invalid_range'],
    ['?from=2026-05-01&to=2026-06-02', 'range_too_large'],
    ['?from=x&to=2026-06-02', 'invalid_date'],
    ['?from=2026-05-01&to=2026-05-02&limit=0', 'invalid_number'],
  ]
  for (const [query, code] of SCENARIOS)
    test(`is 400 for ${query || 'nothing'}: ${code}`, async () => {
      const { status, body } = await g.get(`/rounds${query}`)
      assert.deepEqual([status, body.errors?.[0]?.code ?? body.code], [400, code])
    })

  test('lists the rounds of all carts or of one, by start time, a page at a time', async () => {
    const carts = [fresh('P'), fresh('P')]
    for (const [i, cart] of carts.entries()) {
      const device = await course.device(fresh('d'), { cart })
      await send(device, track([BARN, 5], [HOLES[1], 10 + i], [BARN, 5], [HOLES[2], 10], [BARN, 5]))
    }
    const all = (await listed('&limit=1000')).filter(({ cart }) => carts.includes(cart))
    assert.deepEqual(pluck(all, 'cart', 'start_hole'), [
      [carts[1], 1],
      [carts[0], 1],
      [carts[0], 2],
      [carts[1], 2],
    ])
    assert.deepEqual(await listed(`&cart=${carts[0]}`), [all[1], all[2]])
    assert.deepEqual(await listed(`&cart=${carts[0]}&limit=1&offset=1`), [all[2]])
    assert.deepEqual(await listed(`&cart=${carts[0]}&order=desc`), [all[2], all[1]])
    assert.deepEqual(await listed(`&cart=${carts[0]}&order=desc&limit=1&offset=1`), [all[1]])
    assert.deepEqual(await listed('&cart=nothing'), [])
  })

  test('lists a round at its start, even across midnight and a change of clocks', async () => {
    const cart = fresh('N')
    const device = await course.device(fresh('d'), { cart })
    // from ten to midnight until after the repeated hour
    clock.advance(Date.parse('2026-10-25T02:00:00Z') - clock.nowMs())
    const legs: [number, number][] = [
      [BARN, 5],
      [HOLES[1], 100],
      [HOLES[2], 140],
      [BARN, 10],
    ]
    await send(device, track(...legs))
    const ask = async (from: string, to: string) =>
      (await g.get(`/rounds?from=${from}&to=${to}&cart=${cart}`)).body.rounds as RoundJson[]
    const [night, ...others] = await ask('2026-10-24T00:00:00%2B02:00', '2026-10-24T23:59:59.999%2B02:00')
    assert.deepEqual([night?.duration, others], [240 * 60, []])
    assert.deepEqual(night && played(night), [1, 2])
    assert.deepEqual(await ask('2026-10-25T00:00:00%2B02:00', '2026-10-25T23:59:59%2B01:00'), [])
  })
})

describe('GET /rounds/active', () => {
  test('reports how far a round is behind, by the minutes per hole of the site', async () => {
    const cart = fresh('A')
    const device = await course.device(fresh('d'), { cart })
    await send(device, track([BARN, 5], [PATH, 2], [HOLES[1], 20], [HOLES[2], 10]))
    const round = await runs(cart)
    const since = (minutes: number) => toIso(clock.nowMs() - minutes * MINUTE_MS + 30_000)
    assert.deepEqual(
      { ...round, round_id: '', distance: 0 },
      {
        round_id: '',
        cart,
        party_id: null,
        started_at: since(32),
        ended_at: null,
        start_hole: 1,
        current_hole: 2,
        holes: [
          { hole: 1, entered_at: since(30), left_at: since(10) },
          { hole: 2, entered_at: since(10), left_at: null },
        ],
        minutes_behind: 14.5,
        distance: 0,
        duration: 32 * 60 - 30,
      },
    )
    await g.patch('/site', { minutes_per_hole: 10 })
    assert.equal((await runs(cart)).minutes_behind, 19.5)
    await g.patch('/site', { minutes_per_hole: 15 })
    // up to the second hole, from the first fix outside
    assert.ok(Math.abs(round.distance - 0.0045 * 110_574) < 25, String(round.distance))
    clock.advance(5 * MINUTE_MS)
    await send(device, track([PATH, 1]))
    assert.equal((await runs(cart, ({ current_hole }) => current_hole === null)).minutes_behind, null)
    clock.advance(5 * MINUTE_MS)
    await send(device, track([BARN, 2]))
    await eventually(async () => !(await active()).some((one) => one.cart === cart), 'the round is over')
    const [ended] = await listed(`&cart=${cart}`)
    assert.deepEqual([ended?.round_id, ended?.ended_at], [round.round_id, toIso(clock.nowMs() - 90_000)])
  })

  test('continues a round over a restart and with late data', async () => {
    const cart = fresh('L')
    const id = fresh('d')
    const answer = await g.post('/devices', { hardware_id: id, device_type: 'teebox', cart })
    const { password } = answer.body.mqtt
    const fixes = track([BARN, 5], [HOLES[1], 20], [HOLES[2], 20], [HOLES[3], 5])
    const isLate = ({ lat }: SentFix) => lat === HOLES[2]
    await send(
      await course.connect(id, password),
      fixes.filter((fix) => !isLate(fix)),
    )
    const before = await runs(cart, ({ current_hole }) => current_hole === 3)
    assert.deepEqual(played(before), [1, 3])
    await g.restart()
    assert.deepEqual(await runs(cart), before)
    await send(await course.connect(id, password), fixes.filter(isLate))
    // updated at most once in five seconds
    clock.advance(6000)
    const whole = await runs(cart, (round) => played(round).includes(2))
    assert.deepEqual(played(whole), [1, 2, 3])
    assert.deepEqual(await listed(`&cart=${cart}`), [whole])
    await g.restart()
    assert.deepEqual(await runs(cart), whole)
  })

  test('names the party that the cart was given out to when the round began', async () => {
    const cart = fresh('P')
    const device = await course.device(fresh('d'), { cart })
    const { party_id } = (await ok(g.post('/parties', { carts: [{ cart }], unlock: false }), 201)).party
    clock.advance(HOUR_MS)
    await send(device, track([BARN, 5], [HOLES[1], 10], [PATH, 1]))
    assert.equal((await runs(cart)).party_id, party_id)
    await ok(g.post(`/parties/${party_id}/return`, {}))
    assert.equal((await runs(cart)).party_id, party_id)
    assert.deepEqual(pluck(await listed(`&cart=${cart}`), 'party_id'), [party_id])
  })

  test('a vehicle that is no golf cart has no rounds', async () => {
    const cart = fresh('P')
    const device = await course.device(fresh('d'), { cart })
    await send(device, track([BARN, 5], [HOLES[1], 10], [PATH, 1]))
    await runs(cart)
    await ok(g.patch(`/carts/${cart}`, { kind: 'ranger' }))
    await eventually(async () => (await active()).every((one) => one.cart !== cart), 'it is on no round')
    assert.deepEqual(await listed(`&cart=${cart}`), [])
    const { rows } = await ok(g.get('/reports/utilisation?month=2026-10'))
    const used = rows.filter((row: { cart: string }) => row.cart === cart)
    assert.ok(used.some((row: { hours_out: number }) => row.hours_out > 0))
    assert.ok(used.every((row: { rounds: number }) => row.rounds === 0))
    await ok(g.patch(`/carts/${cart}`, { kind: null }))
    await runs(cart)
  })

  test('finds a round in imported data and loses it with deleted data', async () => {
    const [cart, id] = [fresh('I'), fresh('d')]
    await course.device(id, { cart })
    const gps = track([BARN, 5], [HOLES[1], 20]).map(({ atMs, lat, long }) => ({ timestamp: toIso(atMs), lat, long }))
    await ok(g.post(`/devices/${id}/telemetry/import`, { gps }))
    clock.advance(6000)
    assert.deepEqual(played(await runs(cart)), [1])
    await g.remove(`/devices/${id}/telemetry/gps`)
    clock.advance(6000)
    await eventually(async () => !(await active()).some((one) => one.cart === cart), 'nothing is known of it')
  })

  test('lists a round under the current cart of its device and the current name', async () => {
    const [cart, other, id] = [fresh('M'), fresh('M'), fresh('d')]
    const device = await course.device(id, { cart })
    await send(device, track([BARN, 5], [HOLES[1], 20]))
    const round = await runs(cart)
    await g.patch(`/devices/${id}`, { cart: other })
    clock.advance(6000)
    const moved = await runs(other)
    assert.equal(moved.round_id, round.round_id)
    assert.deepEqual(moved.holes, round.holes)
    assert.ok(!(await active()).some((one) => one.cart === cart))
  })

  test('uses the current zones', async () => {
    const cart = fresh('Z')
    const device = await course.device(fresh('d'), { cart })
    await send(device, track([BARN, 5], [HOLES[1], 20], [HOLES[2], 5]))
    assert.deepEqual(played(await runs(cart)), [1, 2])
    await putZones(zones([1, 7, 3]))
    assert.deepEqual(played(await runs(cart, ({ current_hole }) => current_hole === 7)), [1, 7])
    assert.deepEqual((await listed(`&cart=${cart}`)).map(played), [[1, 7]])
    // no hole has a number
    await putZones(zones([null, null, null]))
    await eventually(async () => (await active()).length === 0, 'nothing is played')
    assert.deepEqual(await listed(`&cart=${cart}`), [])
  })
})

describe('GET /pace', () => {
  onlyFor('staff', ['GET', '/pace'])

  const judged = async (key?: string): Promise<PaceJson> =>
    ok(g.request('GET', '/pace', key === undefined ? {} : { key }))

  test('shows who waited and for whom, also when that one is home and over a restart', async () => {
    const [slow, next, alone] = [fresh('S'), fresh('S'), fresh('S')]
    const [first, second, third] = [
      await course.device(fresh('d'), { cart: slow }),
      await course.device(fresh('d'), { cart: next }),
      await course.device(fresh('d'), { cart: alone }),
    ]
    await send(first, track([BARN, 5], [HOLES[1], 30], [HOLES[2], 11]))
    await send(second, track([BARN, 15], [HOLES[1], 30], [HOLES[2], 1]))
    await send(third, track([BARN, 5], [HOLES[3], 23]))
    const partyOf = ({ parties }: PaceJson, cart: string) => parties.find(({ carts }) => carts.includes(cart))
    let pace = await judged()
    await eventually(async () => {
      pace = await judged()
      return partyOf(pace, next)?.cause === 'delayed' && partyOf(pace, alone) !== undefined
    }, 'the second waited')
    const [slowId, nextId] = [partyOf(pace, slow)?.pace_id, partyOf(pace, next)?.pace_id]
    const { hold_up, parties, judged_at, ...settings } = pace
    assert.deepEqual(settings, {
      minutes_per_hole: 15,
      tee_interval_min: 10,
      delay_from_min: 5,
      projected_end: partyOf(pace, alone)?.projected_end,
    })
    assert.equal(judged_at, toIso(clock.nowMs()))
    assert.deepEqual(hold_up, { pace_id: slowId, hole: 1, minutes: partyOf(pace, slow)?.own_min, delays: [nextId] })
    const shown = [slow, next, alone].map((cart) => partyOf(pace, cart))
    assert.deepEqual(pluck(shown as PacePartyJson[], 'cause', 'delayed_by', 'current_hole', 'holes_done'), [
      ['delays_others', null, 2, 1],
      ['delayed', slowId, 2, 1],
      ['behind', null, 3, 0],
    ])
    assert.deepEqual(
      parties.map(({ pace_id }) => pace_id).filter((id) => [slowId, nextId].includes(id)),
      [slowId, nextId],
    )

    const { key } = await g.createUser({ role: 'staff', allowed_hardware_ids: [second.hardwareId] })
    const [seen, ...others] = (await judged(key)).parties
    assert.deepEqual(
      [seen?.carts, seen?.cause, seen?.delayed_by, seen?.ahead, others],
      [[next], 'delayed', null, null, []],
    )

    clock.advance(5 * MINUTE_MS)
    await send(first, track([BARN, 5]))
    const isHome = async () =>
      partyOf(await judged(), slow) === undefined && partyOf(await judged(), next) !== undefined
    await eventually(isHome, 'the slow one is home')
    for (const isBefore of [true, false]) {
      await eventually(
        async () => {
          clock.advance(1000)
          const party = partyOf(await judged(), next)
          return party?.cause === 'delayed' && party.delayed_by === null
        },
        `the other is delayed ${isBefore ? 'before' : 'after'} a restart`,
      )
      if (isBefore) await g.restart()
    }
  })

  test('shows the carts of a party as one, with its players and its newest note', async () => {
    const carts = [fresh('S'), fresh('S')]
    const devices = await Promise.all(carts.map((cart) => course.device(fresh('d'), { cart })))
    for (const device of devices) await send(device, track([BARN, 5]))
    const body = { carts: carts.map((cart) => ({ cart })), players: ['Miller'], holes: 9, unlock: false }
    const { party } = await ok(g.post('/parties', body), 201)
    await ok(g.post(`/parties/${party.party_id}/notes`, { text: 'Asked to keep up' }), 201)
    clock.advance(30 * MINUTE_MS)
    // too far apart to be one by their times
    for (const [i, device] of devices.entries()) await send(device, track([BARN, 5 + 8 * i], [HOLES[1], 20 - 8 * i]))
    let shown: PacePartyJson | undefined
    await eventually(async () => {
      shown = (await judged()).parties.find(({ party_id }) => party_id === party.party_id)
      return shown?.carts.length === 2
    }, 'both are on a round')
    assert.deepEqual([shown?.players, shown?.last_note?.text, shown?.late_min], [['Miller'], 'Asked to keep up', 4.5])
    assert.equal(shown?.projected_end, toIso(clock.nowMs() + 8 * 15 * MINUTE_MS))
  })
})
