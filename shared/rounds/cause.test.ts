import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createRandom } from '#shared/random.ts'
import { MINUTE_MS } from '#shared/time.ts'
import { type JudgedParty, judgePace } from './cause.ts'
import { pacePartiesOf } from './pace-party.ts'
import type { CartRound } from './round.ts'

const HOLES = Array.from({ length: 18 }, (_, i) => i + 1)
const SETTINGS = { minutesPerHole: 14, teeIntervalMin: 10, delayFromMin: 5, holes: HOLES }

type Stays = readonly (readonly [hole: number, enteredMin: number, leftMin: number | null])[]

const at = (minute: number) => Date.UTC(2026, 4, 1, 8) + minute * MINUTE_MS

function roundOf(cart: string, stays: Stays, endedMin: number | null = null): CartRound {
  const holes = stays.map(([hole, enteredMin, leftMin]) => ({
    hole,
    enteredMs: at(enteredMin),
    leftMs: leftMin === null ? null : at(leftMin),
  }))
  const round = { id: cart, startedMs: at(stays[0]?.[1] ?? 0), endedMs: endedMin === null ? null : at(endedMin) }
  return { cart, round: { ...round, holes, distanceM: 0 } }
}

/** Judges rounds, named by the minute `now`; `parties` gives the party of carts that have one. */
function judge(rounds: readonly CartRound[], now: number, parties: Record<string, string> = {}, settings = SETTINGS) {
  const handedOutOf = ({ cart }: CartRound) =>
    parties[cart] === undefined ? null : { partyId: parties[cart], holes: 18, players: [], notes: [] }
  const judged = judgePace(pacePartiesOf(rounds, handedOutOf, at(now)), settings, at(now))
  const of = (id: string): JudgedParty => judged.find(({ party }) => party.paceId === id) ?? assert.fail(`no ${id}`)
  return { judged, of }
}

const shown = ({ lateMin, waitedMin, ownMin, cause, delayedBy }: JudgedParty) => ({
  lateMin,
  waitedMin,
  ownMin,
  cause,
  delayedBy,
})

/** Plays a day: groups tee off in turn, wait until the group ahead is out of reach, and take their time for a hole. */
function playDay(groups: number, minutesOf: (group: number, hole: number) => number): Map<number, number>[] {
  const lefts: Map<number, number>[] = []
  const shared = SETTINGS.minutesPerHole - SETTINGS.teeIntervalMin
  for (let group = 0; group < groups; group++) {
    const own = new Map<number, number>()
    let arrived = group * SETTINGS.teeIntervalMin
    for (const hole of HOLES) {
      const free = (lefts[group - 1]?.get(hole) ?? Number.NEGATIVE_INFINITY) - shared
      arrived = Math.max(arrived, free) + minutesOf(group, hole)
      own.set(hole, arrived)
    }
    lefts.push(own)
  }
  return lefts
}

/** Rounds of a day as they are at a minute. */
function roundsAt(lefts: readonly Map<number, number>[], now: number): CartRound[] {
  return lefts.flatMap((own, group) => {
    const stays: [number, number, number | null][] = []
    let entered = group * SETTINGS.teeIntervalMin
    for (const [hole, left] of own) {
      if (entered > now) break
      stays.push([hole, entered, left <= now ? left : null])
      entered = left
    }
    if (stays.length === 0) return []
    return [roundOf(`${group}`, stays, entered <= now ? entered : null)]
  })
}

describe('minutes of a party', () => {
  test('a party on pace is on pace', () => {
    const { of } = judge(
      [
        roundOf('a', [
          [1, 0, 14],
          [2, 14, null],
        ]),
      ],
      20,
    )
    assert.deepEqual(shown(of('a')), { lateMin: 0, waitedMin: 0, ownMin: 0, cause: 'on_pace', delayedBy: null })
    assert.equal(of('a').projectedEndMs, at(20 + 8 + 16 * 14))
  })

  test('a slow party that holds up no other is behind', () => {
    const { of } = judge(
      [
        roundOf('a', [
          [1, 0, 22],
          [2, 22, null],
        ]),
      ],
      30,
    )
    assert.deepEqual(shown(of('a')), { lateMin: 8, waitedMin: 0, ownMin: 8, cause: 'behind', delayedBy: null })
    assert.equal(of('a').slowestHole, 1)
  })

  test('who waits is delayed, and who makes others wait delays them', () => {
    const slow = roundOf('a', [
      [1, 0, 30],
      [2, 30, null],
    ])
    const next = roundOf('b', [
      [1, 10, 40],
      [2, 40, null],
    ])
    const { judged, of } = judge([slow, next], 41)
    assert.deepEqual(shown(of('b')), { lateMin: 16, waitedMin: 16, ownMin: 0, cause: 'delayed', delayedBy: 'a' })
    assert.equal(of('a').cause, 'delays_others')
    assert.deepEqual(of('a').delays, ['b'])
    assert.deepEqual(
      judged.map(({ party }) => party.paceId),
      ['a', 'b'],
    )
  })

  test('a chain leads to its head', () => {
    const stays = (first: number): Stays => [
      [1, first, first + 30],
      [2, first + 30, null],
    ]
    const rounds = ['a', 'b', 'c', 'd'].map((cart, i) => roundOf(cart, stays(i * 10)))
    const { of } = judge(rounds, 61)
    assert.deepEqual(of('d').delayedBy, 'a')
    assert.deepEqual(of('a').delays, ['b', 'c', 'd'])
  })

  test('who waited for a party that is home stays delayed, by no other', () => {
    const { judged, of } = judge(
      [
        roundOf('a', [[1, 0, 30]], 31),
        roundOf('b', [
          [1, 10, 40],
          [2, 40, null],
        ]),
      ],
      45,
    )
    assert.equal(judged.length, 1)
    assert.deepEqual(shown(of('b')), { lateMin: 16, waitedMin: 16, ownMin: 0, cause: 'delayed', delayedBy: null })
  })

  test('letting a party through turns the order', () => {
    const through = roundOf('b', [
      [1, 10, 22],
      [2, 22, null],
    ])
    const { of } = judge(
      [
        roundOf('a', [
          [1, 0, 24],
          [2, 24, null],
        ]),
        through,
      ],
      30,
    )
    assert.equal(of('a').ahead, 'b')
    assert.equal(of('b').ahead, null)
  })

  test('an entry more than an hour ago is not ahead', () => {
    const { of } = judge([roundOf('a', [[1, 0, null]]), roundOf('b', [[1, 61, null]])], 100)
    assert.equal(of('b').ahead, null)
    assert.equal(of('b').isWaiting, false)
  })

  test('a hole played again counts again', () => {
    const { of } = judge(
      [
        roundOf('a', [
          [1, 0, 14],
          [2, 14, 28],
          [1, 28, 50],
          [2, 50, null],
        ]),
      ],
      55,
    )
    assert.deepEqual([of('a').lateMin, of('a').holesDone, of('a').slowestHole], [8, 3, 1])
  })
})

describe('the gap to the party ahead', () => {
  const ahead = (stays: Stays) => roundOf('a', stays)
  for (const [name, stays, gap] of [
    ['on the same hole', [[1, 0, null]], [10, 0]],
    [
      'on the next hole',
      [
        [1, 0, 14],
        [2, 14, null],
      ],
      [10, 1],
    ],
    [
      'far ahead',
      [
        [1, 0, 14],
        [2, 14, 18],
        [3, 18, null],
      ],
      [10, 2],
    ],
    [
      'left this hole long ago',
      [
        [1, 0, 10.5],
        [2, 11, null],
      ],
      [10, 1],
    ],
  ] as const)
    test(name, () => {
      const { of } = judge([ahead(stays), roundOf('b', [[1, 10, null]])], 20)
      assert.deepEqual([of('b').gapMin, of('b').gapHoles], gap)
    })

  test('grows while no party is ahead on the hole', () => {
    const { of } = judge(
      [
        ahead([
          [1, 0, 11],
          [2, 11, null],
        ]),
        roundOf('b', [[1, 10, null]]),
      ],
      30,
    )
    assert.equal(of('b').gapMin, 19)
  })
})

describe('waiting', () => {
  test('begins when both have been on the hole for longer than parties on pace are', () => {
    const rounds = [roundOf('a', [[1, 0, null]]), roundOf('b', [[1, 10, null]])]
    assert.equal(judge(rounds, 13).of('b').isWaiting, false)
    assert.equal(judge(rounds, 14).of('b').isWaiting, true)
    assert.equal(judge(rounds, 14).of('a').isWaiting, false)
  })

  test('behind a party that waits on the same hole is waiting too', () => {
    const rounds = [roundOf('a', [[1, 0, null]]), roundOf('b', [[1, 10, null]]), roundOf('c', [[1, 19, null]])]
    assert.equal(judge(rounds, 20).of('c').isWaiting, true)
  })

  test('between two holes looks at the next one', () => {
    const rounds = [
      roundOf('a', [
        [1, 0, 14],
        [2, 14, null],
      ]),
      roundOf('b', [[1, 10, 24]]),
    ]
    assert.equal(judge(rounds, 27).of('b').isWaiting, false)
    assert.equal(judge(rounds, 28).of('b').isWaiting, true)
  })
})

describe('carts that play together', () => {
  test('carts of a party are one: it enters with its first and leaves with its last', () => {
    const rounds = [
      roundOf('1', [
        [1, 0, 14],
        [2, 14, null],
      ]),
      roundOf('2', [
        [1, 6, 24],
        [2, 24, null],
      ]),
    ]
    const { judged, of } = judge(rounds, 30, { 1: 'p', 2: 'p' })
    assert.equal(judged.length, 1)
    assert.deepEqual([of('p').lateMin, of('p').currentHole, of('p').holesDone], [10, 2, 1])
  })

  test('carts without a party that tee off and move on within four minutes are one, also while they move on', () => {
    const first = roundOf('1', [
      [1, 0, 14],
      [2, 14, null],
    ])
    for (const [second, count] of [
      [
        roundOf('2', [
          [1, 3, 17],
          [2, 17, null],
        ]),
        1,
      ],
      [roundOf('2', [[1, 3, null]]), 1],
      [
        roundOf('2', [
          [1, 5, 15],
          [2, 15, null],
        ]),
        2,
      ],
      [
        roundOf('2', [
          [10, 0, 14],
          [11, 14, null],
        ]),
        2,
      ],
    ] as const)
      assert.equal(judge([first, second], 18).judged.length, count)
  })
})

describe('days', () => {
  test('of 1,000 days with one slow group each, none names a group that only waited', () => {
    const random = createRandom('pace')
    let found = 0
    for (let day = 0; day < 1000; day++) {
      const slow = Math.floor(random.between(0, 10))
      const extra = random.between(1, 4)
      const rest = () => SETTINGS.minutesPerHole - random.between(0, 3)
      const lefts = playDay(12, (group) => (group === slow ? SETTINGS.minutesPerHole + extra : rest()))
      const now = random.between(60, 360)
      const { judged } = judge(roundsAt(lefts, now), now)
      for (const { party, cause } of judged)
        if (party.paceId !== `${slow}`)
          assert.ok(cause === 'on_pace' || cause === 'delayed', `${party.paceId} ${cause}`)
      if (judged[0]?.cause === 'delays_others') found += 1
    }
    assert.ok(found > 300, `the slow group was found on ${found} days`)
  })
})
