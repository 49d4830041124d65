import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { EARLIEST_MS } from '#domain/event-time.ts'
import { FakeClock } from '#shared/testing/clocks.ts'
import { DAY_MS, MINUTE_MS } from '#shared/time.ts'
import { type ClockFault, GatewayClock } from './gateway-clock.ts'

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
  name: string
  systemMs: number
  markMs: number
  isSynchronized?: true
  later?: (bench: Bench) => void
  isTrusted: boolean
  /** Fault of a trusted clock; null by default. */
  doubt?: ClockFault
  nowMs: number
}

const STARTS: Case[] = [
  { name: 'a first start with the clock set', systemMs: NOW, markMs: NO_MARK, isTrusted: true, nowMs: NOW },
  {
    name: 'a first start in 1970',
    systemMs: 5000,
    markMs: NO_MARK,
    isTrusted: false,
    nowMs: EARLIEST_MS + 1,
  },
  { name: 'a start in 1970', systemMs: 5000, markMs: NOW, isTrusted: false, nowMs: NOW + 1 },
  { name: 'a start in 2200', systemMs: NOW + 175 * YEAR_MS, markMs: NOW, isTrusted: false, nowMs: NOW + 1 },
  { name: 'a start right after a stop', systemMs: NOW + 1, markMs: NOW, isTrusted: true, nowMs: NOW + 1 },
  {
    name: 'a start after the winter',
    systemMs: NOW + YEAR_MS / 2,
    markMs: NOW,
    isTrusted: true,
    doubt: 'ahead',
    nowMs: NOW + YEAR_MS / 2,
  },
  {
    name: 'a start within the tolerance before the mark, from a clock saved every minute',
    systemMs: NOW - MINUTE_MS,
    markMs: NOW,
    isTrusted: true,
    nowMs: NOW - MINUTE_MS,
  },
  {
    name: 'a start with the time an hour ago, from a clock saved every hour',
    systemMs: NOW - HOUR_MS,
    markMs: NOW,
    isTrusted: false,
    nowMs: NOW + 1,
  },
  {
    name: 'a start with a clock before the mark that the system knows to be right',
    systemMs: NOW,
    markMs: NOW + 10 * YEAR_MS,
    isSynchronized: true,
    isTrusted: true,
    nowMs: NOW,
  },
  {
    name: 'a start in 1970 with a system that claims to be synchronized',
    systemMs: 5000,
    markMs: NOW,
    isSynchronized: true,
    isTrusted: false,
    nowMs: NOW + 1,
  },
]

const RUNNING: Case[] = [
  {
    name: 'an unset clock that goes on',
    systemMs: 5000,
    markMs: NOW,
    later: ({ system }) => system.advance(3 * DAY_MS),
    isTrusted: false,
    nowMs: NOW + 3 * DAY_MS + 1,
  },
  {
    name: 'an hour after a start an hour ago: the same clock is still not right',
    systemMs: NOW - HOUR_MS,
    markMs: NOW,
    later: ({ system }) => system.advance(HOUR_MS),
    isTrusted: false,
    nowMs: NOW + HOUR_MS + 1,
  },
  {
    name: 'NTP after a start in 1970',
    systemMs: 5000,
    markMs: NOW,
    later: ({ system }) => {
      system.advance(HOUR_MS)
      system.set(NOW + DAY_MS)
    },
    isTrusted: true,
    nowMs: NOW + DAY_MS,
  },
  {
    name: 'NTP after a first start in 1970',
    systemMs: 5000,
    markMs: NO_MARK,
    later: ({ system }) => system.set(NOW),
    isTrusted: true,
    nowMs: NOW,
  },
  {
    name: 'a clock set from 1970 to 1980',
    systemMs: 5000,
    markMs: NOW,
    later: ({ system }) => system.set(10 * YEAR_MS),
    isTrusted: false,
    nowMs: NOW + 1,
  },
  {
    name: 'a jump ten years ahead',
    systemMs: NOW,
    markMs: NOW,
    later: ({ system }) => system.set(NOW + 10 * YEAR_MS),
    isTrusted: true,
    doubt: 'ahead',
    nowMs: NOW + 10 * YEAR_MS,
  },
  {
    name: 'a jump ten years ahead and back',
    systemMs: NOW,
    markMs: NOW,
    later: ({ system, clock }) => {
      system.set(NOW + 10 * YEAR_MS)
      clock.nowMs()
      system.advance(HOUR_MS)
      clock.nowMs()
      system.set(NOW + HOUR_MS)
    },
    isTrusted: true,
    nowMs: NOW + HOUR_MS,
  },
  {
    name: 'a jump three years back',
    systemMs: NOW,
    markMs: NOW,
    later: ({ system }) => system.set(NOW - 3 * YEAR_MS),
    isTrusted: false,
    nowMs: NOW,
  },
  {
    name: 'a jump an hour back',
    systemMs: NOW,
    markMs: NOW,
    later: ({ system, clock }) => {
      system.set(NOW - HOUR_MS)
      clock.nowMs()
      system.advance(3 * HOUR_MS)
    },
    isTrusted: false,
    nowMs: NOW + 3 * HOUR_MS,
  },
  {
    name: 'an hour back in steps of four minutes',
    systemMs: NOW,
    markMs: NOW,
    later: ({ system, clock }) => {
      for (let backMs = 0; backMs <= HOUR_MS; backMs += 4 * MINUTE_MS) {
        system.set(NOW - backMs)
        clock.nowMs()
      }
    },
    isTrusted: false,
    // continues from the first step that was too large
    nowMs: NOW - 4 * MINUTE_MS,
  },
  {
    name: 'five minutes back',
    systemMs: NOW,
    markMs: NOW,
    later: ({ system }) => system.set(NOW - 5 * MINUTE_MS),
    isTrusted: true,
    nowMs: NOW - 5 * MINUTE_MS,
  },
  {
    name: 'a jump an hour back by a system that knows the time',
    systemMs: NOW,
    markMs: NOW,
    isSynchronized: true,
    later: ({ system }) => system.set(NOW - HOUR_MS),
    isTrusted: true,
    nowMs: NOW - HOUR_MS,
  },
  {
    name: 'an hour back and, with two devices that know the time, never mind',
    systemMs: NOW,
    markMs: NOW,
    later: (bench) => {
      bench.system.set(NOW - HOUR_MS)
      bench.clock.nowMs()
      bench.twoDevicesSay(NOW - HOUR_MS + 90_000)
    },
    isTrusted: true,
    nowMs: NOW - HOUR_MS + 3 * MINUTE_MS,
  },
  {
    name: 'an hour back, and ahead by half of it',
    systemMs: NOW,
    markMs: NOW,
    later: ({ system, clock }) => {
      system.set(NOW - HOUR_MS)
      clock.nowMs()
      system.set(NOW - HOUR_MS / 2)
    },
    isTrusted: false,
    nowMs: NOW,
  },
  {
    name: 'an hour back, and three years ahead',
    systemMs: NOW,
    markMs: NOW,
    later: ({ system, clock }) => {
      system.set(NOW - HOUR_MS)
      clock.nowMs()
      system.set(NOW + 3 * YEAR_MS)
    },
    isTrusted: true,
    doubt: 'ahead',
    nowMs: NOW + 3 * YEAR_MS,
  },
  {
    name: 'two hours ahead and one back: who knows which is right',
    systemMs: NOW,
    markMs: NOW,
    later: ({ system, clock }) => {
      system.set(NOW + 2 * HOUR_MS)
      clock.nowMs()
      system.set(NOW + HOUR_MS)
    },
    isTrusted: false,
    nowMs: NOW + 2 * HOUR_MS,
  },
  {
    name: 'years ahead and to an hour ago: goes on with what was right before both',
    systemMs: NOW,
    markMs: NOW,
    later: ({ system, clock }) => {
      system.set(NOW + 10 * YEAR_MS)
      clock.nowMs()
      system.set(NOW - HOUR_MS)
    },
    isTrusted: false,
    nowMs: NOW,
  },
  {
    name: 'a jump of an hour ahead',
    systemMs: NOW,
    markMs: NOW,
    later: ({ system }) => system.set(NOW + HOUR_MS),
    isTrusted: true,
    doubt: 'ahead',
    nowMs: NOW + HOUR_MS,
  },
  {
    name: 'a jump of an hour ahead that an admin confirms',
    systemMs: NOW,
    markMs: NOW,
    later: ({ system, clock }) => {
      system.set(NOW + HOUR_MS)
      clock.confirm()
    },
    isTrusted: true,
    nowMs: NOW + HOUR_MS,
  },
  {
    name: 'an hour back that an admin confirms',
    systemMs: NOW,
    markMs: NOW,
    later: ({ system, clock }) => {
      system.set(NOW - HOUR_MS)
      clock.nowMs()
      clock.confirm()
    },
    isTrusted: true,
    nowMs: NOW - HOUR_MS,
  },
  {
    name: 'an hour back, and an admin says what the gateway says: it goes on by itself',
    systemMs: NOW,
    markMs: NOW,
    later: ({ system, clock }) => {
      system.set(NOW - HOUR_MS)
      clock.nowMs()
      assert.equal(clock.confirmAt(NOW + 2 * MINUTE_MS), true)
      system.advance(HOUR_MS)
    },
    isTrusted: true,
    nowMs: NOW + HOUR_MS,
  },
  {
    name: 'the same, and then the system clock is right again',
    systemMs: NOW,
    markMs: NOW,
    later: ({ system, clock }) => {
      system.set(NOW - HOUR_MS)
      clock.nowMs()
      clock.confirmAt(NOW)
      system.set(NOW + MINUTE_MS)
    },
    isTrusted: true,
    nowMs: NOW + MINUTE_MS,
  },
  {
    name: 'an hour back, and an admin says what neither clock shows',
    systemMs: NOW,
    markMs: NOW,
    later: ({ system, clock }) => {
      system.set(NOW - HOUR_MS)
      clock.nowMs()
      for (const ms of [-HOUR_MS / 2, 2 * MINUTE_MS + 1, -HOUR_MS - 2 * MINUTE_MS - 1])
        assert.equal(clock.confirmAt(NOW + ms), false)
    },
    isTrusted: false,
    nowMs: NOW,
  },
  {
    name: 'a start in 1970 that an admin confirms: with what the gateway guesses, never with 1970',
    systemMs: 5000,
    markMs: NOW,
    later: ({ clock }) => {
      assert.equal(clock.confirmAt(5000), false)
      assert.equal(clock.confirmAt(NOW + MINUTE_MS), true)
    },
    isTrusted: true,
    nowMs: NOW + 1,
  },
  {
    name: 'a jump ten years back, before 2020',
    systemMs: NOW,
    markMs: NOW,
    later: ({ system, clock }) => {
      system.set(NOW - 10 * YEAR_MS)
      clock.nowMs()
      system.advance(HOUR_MS)
    },
    isTrusted: false,
    nowMs: NOW + HOUR_MS,
  },
  {
    name: 'a jump ten years back, before 2020, and ahead again',
    systemMs: NOW,
    markMs: NOW,
    later: ({ system, clock }) => {
      system.set(NOW - 10 * YEAR_MS)
      clock.nowMs()
      system.set(NOW)
    },
    isTrusted: true,
    nowMs: NOW,
  },
]

const WRONG_MARK = NOW + 10 * YEAR_MS

const HEALING: Case[] = [
  {
    name: 'the right time after a stop in a wrong year is doubted',
    systemMs: NOW,
    markMs: WRONG_MARK,
    isTrusted: false,
    nowMs: WRONG_MARK + 1,
  },
  {
    name: 'the operating system says, later, that its clock is right',
    systemMs: NOW,
    markMs: WRONG_MARK,
    later: (bench) => {
      bench.isSynchronized = true
      bench.clock.check()
    },
    isTrusted: true,
    nowMs: NOW,
  },
  {
    name: 'somebody sets the clock while the gateway runs, and it is still behind',
    systemMs: NOW - HOUR_MS,
    markMs: WRONG_MARK,
    later: ({ system }) => system.set(NOW),
    isTrusted: false,
    nowMs: WRONG_MARK + 1,
  },
  {
    name: 'an admin confirms it',
    systemMs: NOW,
    markMs: WRONG_MARK,
    later: ({ clock }) => clock.confirm(),
    isTrusted: true,
    nowMs: NOW,
  },
  {
    name: 'two devices confirm the system clock for three minutes',
    systemMs: NOW,
    markMs: WRONG_MARK,
    later: (bench) => bench.twoDevicesSay(NOW - 20_000),
    isTrusted: true,
    nowMs: NOW + 3 * MINUTE_MS,
  },
  {
    name: 'one device is not enough',
    systemMs: NOW,
    markMs: WRONG_MARK,
    later: ({ system, clock }) => {
      clock.received('cart-1', NOW)
      system.advance(3 * MINUTE_MS)
      clock.received('cart-1', NOW + 3 * MINUTE_MS)
    },
    isTrusted: false,
    nowMs: WRONG_MARK + 3 * MINUTE_MS + 1,
  },
  {
    name: 'a moment is not enough',
    systemMs: NOW,
    markMs: WRONG_MARK,
    later: ({ clock }) => ['cart-1', 'cart-2', 'cart-3'].map((hardwareId) => clock.received(hardwareId, NOW)),
    isTrusted: false,
    nowMs: WRONG_MARK + 1,
  },
  {
    name: 'devices that know it is later say nothing for a clock that stood still',
    systemMs: NOW - HOUR_MS,
    markMs: NOW,
    later: (bench) => bench.twoDevicesSay(NOW + HOUR_MS),
    isTrusted: false,
    nowMs: NOW + 3 * MINUTE_MS + 1,
  },
  {
    name: 'an upload of old readings that passes the stale time is no confirmation',
    systemMs: NOW - HOUR_MS,
    markMs: NOW,
    later: ({ system, clock }) => {
      for (let i = 0; i < 240; i++) {
        const atMs = NOW - 2 * HOUR_MS + i * MINUTE_MS
        for (const hardwareId of ['cart-1', 'cart-2']) clock.received(hardwareId, atMs)
        system.advance(1000)
      }
    },
    isTrusted: false,
    nowMs: NOW + 4 * MINUTE_MS + 1,
  },
  {
    name: 'devices cannot confirm 1970',
    systemMs: 5000,
    markMs: NOW,
    later: (bench) => bench.twoDevicesSay(5000),
    isTrusted: false,
    nowMs: NOW + 3 * MINUTE_MS + 1,
  },
]

for (const [what, cases] of Object.entries({ starts: STARTS, running: RUNNING, healing: HEALING })) {
  describe(what, () => {
    for (const { name, systemMs, markMs, isSynchronized = false, later, ...expected } of cases) {
      test(`${name}: ${expected.isTrusted ? 'trusted' : 'not trusted'}`, () => {
        const bench = new Bench(systemMs)
        bench.isSynchronized = isSynchronized
        bench.clock.start({ markMs, confirmedMs: markMs })
        later?.(bench)
        assert.equal(new Date(bench.clock.nowMs()).toISOString(), new Date(expected.nowMs).toISOString())
        assert.equal(bench.clock.isTrusted, expected.isTrusted)
        if (expected.isTrusted) assert.equal(bench.clock.doubt, expected.doubt ?? null)
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
