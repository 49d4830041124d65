import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RoundJson } from '#shared/wire/rounds.ts'
import { finishMs, paceOf, playingGroupsOf } from './playing-groups.ts'

const START = Date.parse('2026-05-01T08:00:00Z')
const at = (minute: number) => new Date(START + minute * 60_000).toISOString()

/** Creates the round of a cart that teed off and reached its hole at these minutes. */
function round(
  cart: string,
  others: { teed?: number; hole?: number; since?: number; behind?: number | null },
): RoundJson {
  const { teed = 0, hole = 2, since = 20, behind = 0 } = others
  return {
    round_id: `r${cart}`,
    cart,
    started_at: at(teed - 5),
    ended_at: null,
    start_hole: 1,
    current_hole: hole,
    holes: [
      { hole: 1, entered_at: at(teed), left_at: at(since) },
      { hole, entered_at: at(since), left_at: null },
    ],
    minutes_behind: behind,
    distance: 1000,
    duration: 1500,
  }
}

test('carts that began and are on a hole together are one flight, with the pace of the last of them', () => {
  const flights = playingGroupsOf([
    round('1', { behind: 3 }),
    round('2', { teed: 1, since: 22, behind: 5 }),
    round('3', { since: 30, behind: 1 }),
    round('4', { hole: 3 }),
    round('5', { teed: 10, since: 21 }),
  ])
  assert.deepEqual(
    flights.map(({ carts, round: { minutes_behind } }) => [carts, minutes_behind]),
    [
      [['1', '2'], 5],
      [['3'], 1],
      [['4'], 0],
      [['5'], 0],
    ],
  )
})

test('those furthest behind come first, those on no hole last', () => {
  const flights = playingGroupsOf([
    round('1', { teed: 0, behind: -4 }),
    round('2', { teed: 30, behind: null }),
    round('3', { teed: 60, behind: 21 }),
    round('4', { teed: 90, behind: null }),
  ])
  assert.deepEqual(
    flights.map(({ carts }) => carts[0]),
    ['3', '1', '2', '4'],
  )
})

test('late is a whole hole behind', () => {
  const paces = [null, 15, 14.9, 1, 0.9, -3].map((behind) => paceOf(round('1', { behind }), 15))
  assert.deepEqual(paces, ['between', 'late', 'behind', 'behind', 'on time', 'on time'])
})

test('a round ends when the holes that are left have been played at the pace of the site', () => {
  const course = { holesOfCourse: 18, minutesPerHole: 15, nowMs: START }
  assert.equal(finishMs(round('1', {}), course), START + 17 * 15 * 60_000)
  assert.equal(finishMs(round('1', {}), { ...course, holesOfCourse: 1 }), null)
})
