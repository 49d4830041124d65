import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { EARLIEST_MS } from '#domain/event-time.ts'
import { FakeClock } from '#shared/testing/clocks.ts'
import { DAY_MS, MINUTE_MS } from '#shared/time.ts'
import { GatewayClock } from './gateway-clock.ts'

const NOW = Date.UTC(2026, 4, 1, 12)
const HOUR_MS = 60 * MINUTE_MS
const YEAR_MS = 365 * DAY_MS
const NO_MARK = 0

class Bench {
  readonly system: FakeClock
  readonly clock: GatewayClock
  isSynchronized = false

  constructor(systemMs: number) {
    this.system = new FakeClock(systemMs)
    this.clock = new GatewayClock({ system: this.system, isSynchronized: () => this.isSynchronized })
  }

  /** Both devices send a time now and again three minutes later. */
  twoDevicesSay(firstMs: number): void {
    for (const laterMs of [0, 3 * MINUTE_MS]) {
      this.system.advance(laterMs)
      for (const hardwareId of ['cart-1', 'cart-2']) this.clock.received(hardwareId, firstMs + laterMs)
    }
  }
}

interface Case {
  /** Time of the system at the start; NOW by default, like the mark. */
  systemMs?: number
  markMs?: number
  isSynchronized?: true
  /** Times to which the system clock is set one after the other; the gateway reads it after each. */
  sets?: number[]
  later?: (bench: Bench) => void
  /** Time of a trusted clock. */
  trusted?: number
  /** Time of a clock that is trusted but may be ahead. */
  ahead?: number
  /** Time of an untrusted clock. */
  untrusted?: number
}

const STARTS: Record<string, Case> = {
  'a first start with the clock set': { markMs: NO_MARK, trusted: NOW },
  'a first start in 1970': { systemMs: 5000, markMs: NO_MARK, untrusted: EARLIEST_MS + 1 },
  'a start in 1970': { systemMs: 5000, untrusted: NOW + 1 },
  'a start in 2200': { systemMs: NOW + 175 * YEAR_MS, untrusted: NOW + 1 },
  'a start right after a stop': { systemMs: NOW + 1, trusted: NOW + 1 },
  'a start after the winter': { systemMs: NOW + YEAR_MS / 2, ahead: NOW + YEAR_MS / 2 },
  'a start within the tolerance before the mark, from a clock saved every minute': {
    systemMs: NOW - MINUTE_MS,
    trusted: NOW - MINUTE_MS,
  },
  'a start with the time an hour ago, from a clock saved every hour': { systemMs: NOW - HOUR_MS, untrusted: NOW + 1 },
  'a start with a clock before the mark that the system knows to be right': {
    markMs: NOW + 10 * YEAR_MS,
    isSynchronized: true,
    trusted: NOW,
  },
  'a start in 1970 with a system that claims to be synchronized': {
    systemMs: 5000,
    isSynchronized: true,
    untrusted: NOW + 1,
  },
}

const RUNNING: Record<string, Case> = {
  'an unset clock that goes on': {
    systemMs: 5000,
    later: ({ system }) => system.advance(3 * DAY_MS),
    untrusted: NOW + 3 * DAY_MS + 1,
  },
  'an hour after a start an hour ago: the same clock is still not right': {
    systemMs: NOW - HOUR_MS,
    later: ({ system }) => system.advance(HOUR_MS),
    untrusted: NOW + HOUR_MS + 1,
  },
  'NTP after a start in 1970': {
    systemMs: 5000,
    later: ({ system }) => {
      system.advance(HOUR_MS)
      system.set(NOW + DAY_MS)
    },
    trusted: NOW + DAY_MS,
  },
  'NTP after a first start in 1970': { systemMs: 5000, markMs: NO_MARK, sets: [NOW], trusted: NOW },
  'a clock set from 1970 to 1980': { systemMs: 5000, sets: [10 * YEAR_MS], untrusted: NOW + 1 },
  'a jump ten years ahead': { sets: [NOW + 10 * YEAR_MS], ahead: NOW + 10 * YEAR_MS },
  'a jump ten years ahead and back': {
    sets: [NOW + 10 * YEAR_MS],
    later: ({ system, clock }) => {
      system.advance(HOUR_MS)
      clock.nowMs()
      system.set(NOW + HOUR_MS)
    },
    trusted: NOW + HOUR_MS,
  },
  'a jump three years back': { sets: [NOW - 3 * YEAR_MS], untrusted: NOW },
  'a jump an hour back': {
    sets: [NOW - HOUR_MS],
    later: ({ system }) => system.advance(3 * HOUR_MS),
    untrusted: NOW + 3 * HOUR_MS,
  },
  'an hour back in steps of four minutes': {
    later: ({ system, clock }) => {
      for (let backMs = 0; backMs <= HOUR_MS; backMs += 4 * MINUTE_MS) {
        system.set(NOW - backMs)
        clock.nowMs()
      }
    },
    // continues from the first step that was too large
    untrusted: NOW - 4 * MINUTE_MS,
  },
  'five minutes back': { sets: [NOW - 5 * MINUTE_MS], trusted: NOW - 5 * MINUTE_MS },
  'a jump an hour back by a system that knows the time': {
    isSynchronized: true,
    sets: [NOW - HOUR_MS],
    trusted: NOW - HOUR_MS,
  },
  'an hour back and, with two devices that know the time, never mind': {
    later: (bench) => {
      bench.system.set(NOW - HOUR_MS)
      bench.clock.nowMs()
      bench.twoDevicesSay(NOW - HOUR_MS + 90_000)
    },
    trusted: NOW - HOUR_MS + 3 * MINUTE_MS,
  },
  'an hour back, and ahead by half of it': { sets: [NOW - HOUR_MS, NOW - HOUR_MS / 2], untrusted: NOW },
  'an hour back, and three years ahead': { sets: [NOW - HOUR_MS, NOW + 3 * YEAR_MS], ahead: NOW + 3 * YEAR_MS },
  'two hours ahead and one back: who knows which is right': {
    sets: [NOW + 2 * HOUR_MS, NOW + HOUR_MS],
    untrusted: NOW + 2 * HOUR_MS,
  },
  'years ahead and to an hour ago: goes on with what was right before both': {
    sets: [NOW + 10 * YEAR_MS, NOW - HOUR_MS],
    untrusted: NOW,
  },
  'a jump of an hour ahead': { sets: [NOW + HOUR_MS], ahead: NOW + HOUR_MS },
  'a jump of an hour ahead that an admin confirms': {
    later: ({ system, clock }) => {
      system.set(NOW + HOUR_MS)
      clock.confirm()
    },
    trusted: NOW + HOUR_MS,
  },
  'an hour back that an admin confirms': {
    sets: [NOW - HOUR_MS],
    later: ({ clock }) => clock.confirm(),
    trusted: NOW - HOUR_MS,
  },
  'an hour back, and an admin says what the gateway says: it goes on by itself': {
    sets: [NOW - HOUR_MS],
    later: ({ system, clock }) => {
      assert.equal(clock.confirmAt(NOW + 2 * MINUTE_MS), true)
      system.advance(HOUR_MS)
    },
    trusted: NOW + HOUR_MS,
  },
  'the same, and then the system clock is right again': {
    sets: [NOW - HOUR_MS],
    later: ({ system, clock }) => {
      clock.confirmAt(NOW)
      system.set(NOW + MINUTE_MS)
    },
    trusted: NOW + MINUTE_MS,
  },
  'an hour back, and an admin says what neither clock shows': {
    sets: [NOW - HOUR_MS],
    later: ({ clock }) => {
      for (const ms of [-HOUR_MS / 2, 2 * MINUTE_MS + 1, -HOUR_MS - 2 * MINUTE_MS - 1])
        assert.equal(clock.confirmAt(NOW + ms), false)
    },
    untrusted: NOW,
  },
  'a start in 1970 that an admin confirms: with what the gateway guesses, never with 1970': {
    systemMs: 5000,
    later: ({ clock }) => {
      assert.equal(clock.confirmAt(5000), false)
      assert.equal(clock.confirmAt(NOW + MINUTE_MS), true)
    },
    trusted: NOW + 1,
  },
  'a jump ten years back, before 2020': {
    sets: [NOW - 10 * YEAR_MS],
    later: ({ system }) => system.advance(HOUR_MS),
    untrusted: NOW + HOUR_MS,
  },
  'a jump ten years back, before 2020, and ahead again': { sets: [NOW - 10 * YEAR_MS, NOW], trusted: NOW },
}

const WRONG_MARK = NOW + 10 * YEAR_MS

const HEALING: Record<string, Case> = {
  'the right time after a stop in a wrong year is doubted': { markMs: WRONG_MARK, untrusted: WRONG_MARK + 1 },
  'the operating system says, later, that its clock is right': {
    markMs: WRONG_MARK,
    later: (bench) => {
      bench.isSynchronized = true
      bench.clock.check()
    },
    trusted: NOW,
  },
  'somebody sets the clock while the gateway runs, and it is still behind': {
    systemMs: NOW - HOUR_MS,
    markMs: WRONG_MARK,
    sets: [NOW],
    untrusted: WRONG_MARK + 1,
  },
  'an admin confirms it': { markMs: WRONG_MARK, later: ({ clock }) => clock.confirm(), trusted: NOW },
  'two devices confirm the system clock for three minutes': {
    markMs: WRONG_MARK,
    later: (bench) => bench.twoDevicesSay(NOW - 20_000),
    trusted: NOW + 3 * MINUTE_MS,
  },
  'one device is not enough': {
    markMs: WRONG_MARK,
    later: ({ system, clock }) => {
      clock.received('cart-1', NOW)
      system.advance(3 * MINUTE_MS)
      clock.received('cart-1', NOW + 3 * MINUTE_MS)
    },
    untrusted: WRONG_MARK + 3 * MINUTE_MS + 1,
  },
  'a moment is not enough': {
    markMs: WRONG_MARK,
    later: ({ clock }) => ['cart-1', 'cart-2', 'cart-3'].map((hardwareId) => clock.received(hardwareId, NOW)),
    untrusted: WRONG_MARK + 1,
  },
  'devices that know it is later say nothing for a clock that stood still': {
    systemMs: NOW - HOUR_MS,
    later: (bench) => bench.twoDevicesSay(NOW + HOUR_MS),
    untrusted: NOW + 3 * MINUTE_MS + 1,
  },
  'an upload of old readings that passes the stale time is no confirmation': {
    systemMs: NOW - HOUR_MS,
    later: ({ system, clock }) => {
      for (let i = 0; i < 240; i++) {
        const atMs = NOW - 2 * HOUR_MS + i * MINUTE_MS
        for (const hardwareId of ['cart-1', 'cart-2']) clock.received(hardwareId, atMs)
        system.advance(1000)
      }
    },
    untrusted: NOW + 4 * MINUTE_MS + 1,
  },
  'devices cannot confirm 1970': {
    systemMs: 5000,
    later: (bench) => bench.twoDevicesSay(5000),
    untrusted: NOW + 3 * MINUTE_MS + 1,
  },
}

for (const [what, cases] of Object.entries({ starts: STARTS, running: RUNNING, healing: HEALING })) {
  describe(what, () => {
    for (const [name, { systemMs = NOW, markMs = NOW, isSynchronized = false, sets = [], ...one }] of Object.entries(
      cases,
    )) {
      const isTrusted = one.untrusted === undefined
      test(`${name}: ${isTrusted ? 'trusted' : 'not trusted'}`, () => {
        const bench = new Bench(systemMs)
        bench.isSynchronized = isSynchronized
        bench.clock.start({ markMs, confirmedMs: markMs })
        for (const atMs of sets) {
          bench.system.set(atMs)
          bench.clock.nowMs()
        }
        one.later?.(bench)
        const nowMs = one.trusted ?? one.ahead ?? one.untrusted ?? assert.fail()
        assert.equal(new Date(bench.clock.nowMs()).toISOString(), new Date(nowMs).toISOString())
        assert.equal(bench.clock.isTrusted, isTrusted)
        if (isTrusted) assert.equal(bench.clock.doubt, one.ahead === undefined ? null : 'ahead')
      })
    }
  })
}

test('an untrusted clock does not filter the times that devices report', () => {
  const { clock, system } = new Bench(5000)
  clock.start({ markMs: NO_MARK, confirmedMs: 0 })
  assert.equal(clock.latestEventMs(clock.nowMs()), Date.UTC(2100, 0, 1))
  system.set(NOW)
  assert.equal(clock.latestEventMs(clock.nowMs()), NOW + 5 * MINUTE_MS)
})

test('time never stops or goes back while the system clock is untrusted', () => {
  const { clock, system } = new Bench(5000)
  clock.start({ markMs: NOW, confirmedMs: NOW })
  let lastMs = clock.nowMs()
  for (const systemMs of [0, 9 * YEAR_MS, -YEAR_MS, 1, 8.64e15]) {
    system.advance(10)
    system.set(systemMs)
    const nowMs = clock.nowMs()
    assert.equal(nowMs, lastMs + 10)
    lastMs = nowMs
  }
})

describe('the confirmed time', () => {
  const started = (systemMs: number, confirmedMs: number) => {
    const bench = new Bench(systemMs)
    bench.clock.start({ markMs: Math.min(systemMs, confirmedMs), confirmedMs })
    return bench
  }

  test('advances with the monotonic clock, whatever the system clock is set to', () => {
    const { clock, system } = started(NOW, NOW)
    for (const atMs of [NOW + 10 * YEAR_MS, NOW + HOUR_MS, 0]) {
      system.set(atMs)
      clock.nowMs()
      clock.check()
    }
    system.advance(HOUR_MS)
    assert.equal(clock.confirmedMs, NOW + HOUR_MS)
  })

  test('is the first time seen if no earlier time is stored', () => {
    assert.equal(started(NOW, 0).clock.confirmedMs, NOW)
  })

  test('lags by the downtime of the gateway; a downtime of up to 31 days raises no clock fault', () => {
    assert.equal(started(NOW + 31 * DAY_MS, NOW).clock.confirmedMs, NOW)
    assert.equal(started(NOW + 31 * DAY_MS, NOW).clock.doubt, null)
    assert.equal(started(NOW + 31 * DAY_MS + 1, NOW).clock.doubt, 'ahead')
  })

  test('follows the system clock once that is synchronized, forwards or backwards', () => {
    for (const systemMs of [NOW + YEAR_MS, NOW - YEAR_MS]) {
      const bench = started(systemMs, NOW)
      bench.isSynchronized = true
      bench.clock.check()
      assert.equal(bench.clock.confirmedMs, systemMs)
      assert.equal(bench.clock.doubt, null)
    }
  })

  test('goes back with a clock that devices confirm, and never forwards', () => {
    const back = started(NOW, NOW)
    back.system.set(NOW - HOUR_MS)
    back.clock.nowMs()
    back.twoDevicesSay(NOW - HOUR_MS)
    assert.equal(back.clock.confirmedMs, NOW - HOUR_MS + 3 * MINUTE_MS)
    const ahead = started(NOW, NOW)
    ahead.system.set(NOW + YEAR_MS)
    ahead.clock.nowMs()
    ahead.twoDevicesSay(NOW + YEAR_MS)
    assert.equal(ahead.clock.confirmedMs, NOW + 3 * MINUTE_MS)
  })
})
