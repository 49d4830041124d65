import assert from 'node:assert/strict'
import { mock, type TestContext, test } from 'node:test'
import { GatewayClock } from './gateway-clock.ts'
import { GatewayConnection, type LineEvents } from './gateway-connection.ts'

const STEP_MS = 100
const NOON_MS = Date.parse('2026-05-01T12:00:00Z')

/** Connection on sockets and clocks of the test; the gateway's clock runs five hours ahead of the tablet's. */
class Bench {
  nowMs = 1_000
  wallMs = Date.parse('2001-01-01')
  random = 0.5
  /** True if the gateway admits a new socket. */
  answers = true
  readonly sent: { type: string; id?: number }[] = []
  readonly taken: string[] = []
  readonly openedAtMs: number[] = []
  readonly clock = new GatewayClock(() => this.nowMs)
  readonly line: GatewayConnection
  events: LineEvents | undefined
  isClosed = false

  constructor(t: TestContext) {
    mock.timers.enable({ apis: ['setTimeout', 'setInterval'] })
    t.after(() => mock.timers.reset())
    this.line = new GatewayConnection({
      open: (events) => this.#open(events),
      clock: this.clock,
      take: ({ type }) => this.taken.push(type),
      monotonicMs: () => this.nowMs,
      wallMs: () => this.wallMs,
      random: () => this.random,
    })
  }

  get kind(): string {
    return this.line.state.value.kind
  }

  get gatewayMs(): number {
    return NOON_MS + this.nowMs
  }

  /** Advances the time, while the gateway responds to every message. */
  pass(ms: number): void {
    for (let passed = 0; passed < ms; passed += STEP_MS) {
      this.nowMs += STEP_MS
      this.wallMs += STEP_MS
      mock.timers.tick(STEP_MS)
    }
  }

  /** Lets the tablet sleep: no timer runs, and its monotonic clock may stand still. */
  sleep(ms: number, isCounted: boolean): void {
    if (isCounted) this.nowMs += ms
    this.wallMs += ms
  }

  say(message: object): void {
    this.events?.received(JSON.stringify(message))
  }

  letIn(): void {
    this.say({ type: 'connected', time: new Date(this.gatewayMs).toISOString() })
    this.say({ type: 'snapshot', time: new Date(this.gatewayMs).toISOString() })
  }

  pings(): number {
    return this.sent.filter(({ type }) => type === 'ping').length
  }

  #open(events: LineEvents) {
    this.openedAtMs.push(this.nowMs)
    this.events = events
    this.isClosed = false
    return {
      send: (text: string) => {
        const message = JSON.parse(text)
        this.sent.push(message)
        if (this.answers && message.type === 'ping')
          this.say({ type: 'pong', id: message.id, time: new Date(this.gatewayMs).toISOString() })
      },
      close: () => {
        this.isClosed = true
      },
    }
  }
}

/** Creates a live connection. */
function live(t: TestContext): Bench {
  const bench = new Bench(t)
  bench.line.start()
  assert.equal(bench.kind, 'connecting')
  bench.letIn()
  assert.equal(bench.kind, 'live')
  return bench
}

test('the connection requests a full snapshot and pings every 4 s, even if no message arrives', (t) => {
  const bench = live(t)
  assert.deepEqual(bench.sent, [{ type: 'subscribe', hardwareIds: ['*'], snapshot: true }])
  bench.pass(80_000)
  assert.ok(bench.pings() >= 16 && bench.pings() <= 20, `${bench.pings()} pings in 80 s`)
  assert.equal(bench.kind, 'live')
  assert.equal(bench.openedAtMs.length, 1)
})

test('a change of user requests a full snapshot again, once connected', (t) => {
  const bench = live(t)
  bench.line.subscribe()
  assert.equal(bench.sent.filter(({ type }) => type === 'subscribe').length, 2)
  bench.events?.closed(1006)
  bench.line.subscribe()
  assert.equal(bench.sent.filter(({ type }) => type === 'subscribe').length, 2)
})

test('a closed connection is reported immediately, and the clock stands still', (t) => {
  const bench = live(t)
  bench.pass(30_000)
  const knownMs = bench.gatewayMs
  bench.events?.closed(1006)
  const receivedMs = bench.gatewayMs - bench.line.silentForMs()
  assert.deepEqual(bench.line.state.value, { kind: 'lost', sinceMs: receivedMs })
  bench.answers = false
  bench.pass(60_000)
  assert.equal(bench.clock.nowMs(), knownMs)
  assert.ok(bench.line.silentForMs() >= 60_000)
})

test('a silent connection is closed within 20 s, and within 4 s after the tablet has woken up', (t) => {
  const bench = live(t)
  bench.pass(7_000)
  bench.answers = false
  let waitedMs = 0
  for (; bench.kind === 'live' && waitedMs < 60_000; waitedMs += STEP_MS) bench.pass(STEP_MS)
  assert.ok(waitedMs <= 20_000, `shown after ${waitedMs} ms`)
  bench.pass(10_000)
  bench.letIn()
  bench.line.hurry()
  waitedMs = 0
  for (; bench.kind === 'live' && waitedMs < 60_000; waitedMs += STEP_MS) bench.pass(STEP_MS)
  assert.ok(waitedMs <= 4_000, `shown after ${waitedMs} ms`)
})

test('any received message shows that the connection works', (t) => {
  const bench = live(t)
  bench.answers = false
  for (let s = 0; s < 120; s++) {
    bench.pass(1_000)
    bench.say({ type: 'device_status', hardwareId: 'cart-1', payload: { is_online: true } })
  }
  assert.equal(bench.kind, 'live')
})

test('the connection is retried permanently, after a random half to five seconds', (t) => {
  for (const random of [0, 0.5, 1]) {
    const bench = live(t)
    bench.random = random
    bench.pass(60_000)
    for (let n = 0; n < 200; n++) {
      const closedAtMs = bench.nowMs
      const opened = bench.openedAtMs.length
      bench.events?.closed(1006)
      while (bench.openedAtMs.length === opened) bench.pass(STEP_MS)
      const waitedMs = (bench.openedAtMs.at(-1) ?? 0) - closedAtMs
      assert.ok(waitedMs >= 500 && waitedMs <= 5_000 + STEP_MS, `waited ${waitedMs} ms`)
      if (n === 0) assert.ok(waitedMs <= 1_000 + STEP_MS, 'the first time it does not wait long')
    }
    bench.line.stop()
    mock.timers.reset()
  }
})

test('a socket that is never accepted is abandoned, each next one later', (t) => {
  const bench = new Bench(t)
  bench.line.start()
  bench.pass(6_000)
  assert.equal(bench.kind, 'lost')
  bench.pass(600_000)
  const gaps = bench.openedAtMs.slice(1).map((atMs, i) => atMs - (bench.openedAtMs[i] ?? 0))
  assert.ok(
    gaps.every((ms) => ms <= 26_500),
    `${gaps}`,
  )
  assert.ok(bench.openedAtMs.length > 20)
  bench.letIn()
  assert.equal(bench.kind, 'live')
})

for (const isCounted of [true, false]) {
  test(`after ten hours of sleep it reconnects immediately (clock ${isCounted ? 'running' : 'stopped'})`, (t) => {
    const bench = live(t)
    bench.sleep(10 * 3_600_000, isCounted)
    bench.line.hurry()
    assert.equal(bench.kind, 'lost')
    assert.equal(bench.openedAtMs.length, 2)
    bench.letIn()
    assert.equal(bench.kind, 'live')
    assert.equal(bench.clock.nowMs(), bench.gatewayMs)
  })

  test(`timers detect a sleep without an event (monotonic clock ${isCounted ? 'running' : 'stopped'})`, (t) => {
    const bench = live(t)
    bench.sleep(10 * 3_600_000, isCounted)
    bench.pass(1_000)
    assert.equal(bench.kind, 'lost')
    assert.equal(bench.openedAtMs.length, 2)
  })
}

test('a hidden page, whose timers run once a minute, keeps its connection', (t) => {
  const bench = live(t)
  for (let minute = 0; minute < 30; minute++) {
    bench.sleep(59_000, true)
    bench.pass(1_000)
  }
  assert.equal(bench.kind, 'live')
  assert.equal(bench.openedAtMs.length, 1)
  assert.equal(bench.pings(), 30)
})

test('two reasons to hurry open one socket, without waiting for the retry delay', (t) => {
  const bench = live(t)
  bench.random = 1
  for (let n = 0; n < 6; n++) {
    bench.events?.closed(1006)
    bench.pass(5_000)
  }
  bench.events?.closed(1006)
  const opened = bench.openedAtMs.length
  bench.line.hurry()
  bench.line.hurry()
  assert.equal(bench.openedAtMs.length, opened + 1)
})

test('a connection that was not started stays closed', (t) => {
  const bench = new Bench(t)
  bench.line.hurry()
  assert.equal(bench.openedAtMs.length, 0)
  bench.line.start()
  bench.line.stop()
  bench.line.hurry()
  bench.pass(60_000)
  assert.equal(bench.openedAtMs.length, 1)
})

test('an ended session closes the connection until the next sign-in', (t) => {
  const bench = live(t)
  bench.events?.closed(4401)
  assert.equal(bench.kind, 'ended')
  bench.line.hurry()
  bench.pass(60_000)
  assert.equal(bench.openedAtMs.length, 1)
  bench.line.start()
  bench.letIn()
  assert.equal(bench.kind, 'live')
})

test('tabs that take the connection from each other pause in between', (t) => {
  const bench = live(t)
  bench.random = 1
  for (let n = 0; n < 60; n++) {
    bench.events?.closed(1013)
    const opened = bench.openedAtMs.length
    while (bench.openedAtMs.length === opened) bench.pass(STEP_MS)
    bench.letIn()
  }
  assert.ok(bench.nowMs > 4 * 60_000, `${bench.nowMs} ms for 60 tries`)
})

test('messages of an old socket are ignored', (t) => {
  const bench = live(t)
  const old = bench.events
  old?.closed(1006)
  bench.pass(1_000)
  old?.received(JSON.stringify({ type: 'snapshot' }))
  old?.closed(4401)
  assert.equal(bench.kind, 'lost')
})

test('the tablet clock, and setting it, have no effect', (t) => {
  const bench = live(t)
  bench.wallMs -= 3_600_000
  bench.pass(30_000)
  assert.equal(bench.kind, 'live')
  assert.equal(bench.clock.nowMs(), bench.gatewayMs)
  assert.equal(bench.openedAtMs.length, 1)
})
