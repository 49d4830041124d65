/** Fault that is put into a source file of the product while it is loaded. */
export interface Break {
  /** Number of the check that must find it. */
  readonly check: number
  readonly how: string
  readonly file: string
  /** Text that occurs once in the file. */
  readonly from: string
  readonly to: string
  readonly days?: number
  readonly mood?: 'quiet' | 'hard'
}

const RULES = 'gateway/services/alerts'
const LOCKS = 'gateway/services/locks'

/** Breaks that prove that each check can fail: `npm run live -- --prove`. */
export const BREAKS: readonly Break[] = [
  {
    check: 1,
    how: 'a status counts as one of sleep',
    file: 'gateway/services/ingest/stored-publisher.ts',
    from: 'presence.said(device, connection, content.status.isOnline)',
    to: 'presence.said(device, connection, false)',
  },
  {
    check: 2,
    how: 'a cart outside of the boundary counts as on the course',
    file: 'shared/carts/cart-state.ts',
    from: "return isOutside ? 'outside' : 'out'",
    to: "return 'out'",
    days: 5,
  },
  {
    check: 4,
    how: 'three messages in ten do not become the latest',
    file: 'gateway/services/ingest/apply-batch.ts',
    from: 'Object.assign(draft.state.values, run.values)',
    to: 'if (Math.random() > 0.3) Object.assign(draft.state.values, run.values)',
  },
  {
    check: 5,
    how: 'one message in ten thousand is acknowledged and not stored',
    file: 'gateway/store/telemetry/store-samples.ts',
    from: 'for (let i = 0; i < batch.count; i++) {\n    const at',
    to: 'for (let i = Math.random() < 1e-4 ? 1 : 0; i < batch.count; i++) {\n    const at',
    days: 2,
  },
  {
    check: 7,
    how: 'one lock event in five is acknowledged and not stored',
    file: 'gateway/store/writer/append.ts',
    from: 'return connection.run(INSERT_LOCK_EVENT, ...values) > 0',
    to: 'return Math.random() < 0.2 || connection.run(INSERT_LOCK_EVENT, ...values) > 0',
  },
  {
    check: 10,
    how: 'a completed command is stored as failed',
    file: 'gateway/store/tables/commands.ts',
    from: "moveAll(connection, [row], { kind: 'acked', status, error, atMs })",
    to: "moveAll(connection, [row], { kind: 'acked', status: 'failed', error, atMs })",
  },
  {
    check: 11,
    how: 'the speed of a cart does not matter for its lock',
    file: 'shared/carts/lock-rule.ts',
    from: "return 'cart_is_moving'",
    to: "return 'send'",
    days: 3,
  },
  {
    check: 14,
    how: 'a minute of auto-lock has 30 seconds',
    file: 'shared/carts/auto-lock.ts',
    from: 'afterMin * MINUTE_MS)',
    to: 'afterMin * 30_000)',
  },
  {
    check: 15,
    how: 'closing does not act',
    file: `${LOCKS}/closing.ts`,
    from: 'nowMs - day.closesMs > LATE_MS) return\n    const closed',
    to: 'nowMs - day.closesMs > 0) return\n    const closed',
    days: 4,
  },
  {
    check: 16,
    how: 'low_battery opens a volt too late',
    file: `${RULES}/battery-rules.ts`,
    from: "if (restV < lowV) return 'holds'",
    to: "if (restV < lowV - 1) return 'holds'",
    days: 5,
  },
  {
    check: 17,
    how: 'any voltage counts as risen',
    file: `${RULES}/battery-rules.ts`,
    from: 'const RISEN_V = 0.1',
    to: 'const RISEN_V = -10',
    days: 6,
  },
  {
    check: 18,
    how: 'outside is not opened',
    file: `${RULES}/zone-rules.ts`,
    from: "if (!ground.hasBoundary) return 'over'",
    to: "if (ground.hasBoundary) return 'over'",
    days: 5,
  },
  {
    check: 19,
    how: 'a stay is measured in milliseconds',
    file: `${RULES}/zone-rules.ts`,
    from: 'stayedMs > settings.zoneStayS * 1000',
    to: 'stayedMs > settings.zoneStayS * 1_000_000',
    days: 5,
  },
  {
    check: 20,
    how: 'a movement is forgotten before it is reported',
    file: `${RULES}/movement-rules.ts`,
    from: 'Math.abs(ground.nowMs - seenMs) < SEEN_MS',
    to: 'Math.abs(ground.nowMs - seenMs) < 0',
    days: 3,
  },
  {
    check: 21,
    how: 'a movement by night is reported as one of a locked cart',
    file: `${RULES}/movement-rules.ts`,
    from: "movementRule('moved_after_hours', 'movedAfterHoursMs')",
    to: "movementRule('moved_while_locked', 'movedAfterHoursMs')",
    days: 5,
  },
  {
    check: 22,
    how: 'a silent cart is not reported',
    file: `${RULES}/cart-rules.ts`,
    from: "if (state === 'silent') {",
    to: "if (state === 'unknown') {",
    mood: 'hard',
  },
  {
    check: 23,
    how: 'open_after_closing is for locked carts',
    file: `${RULES}/cart-rules.ts`,
    from: "notes.outOfService !== null || verdict.lock?.isLocked === true) return 'over'",
    to: "notes.outOfService !== null || verdict.lock?.isLocked === false) return 'over'",
  },
  {
    check: 24,
    how: 'out_after_closing is not opened',
    file: `${RULES}/cart-rules.ts`,
    from: "if (ground.isDay || verdict.isInParking) return 'over'",
    to: "if (ground.nowMs > 0 || verdict.isInParking) return 'over'",
    days: 6,
  },
  {
    check: 31,
    how: 'low_battery closes and opens every ten seconds',
    file: `${RULES}/battery-rules.ts`,
    from: "if (restV < lowV) return 'holds'",
    to: "if (restV < lowV) return Math.floor(Date.now() / 10_000) % 2 === 0 ? 'holds' : 'over'",
    days: 5,
  },
  {
    check: 41,
    how: 'one request in fifty counts twice',
    file: 'gateway/services/users.ts',
    from: 'usage.requestsToday++',
    to: 'usage.requestsToday += Math.random() < 0.02 ? 2 : 1',
  },
  {
    check: 48,
    how: 'a reconnect leaves a timer behind',
    file: 'gateway/services/presence.ts',
    from: 'this.#connections.set(device, connection)',
    to: 'this.#connections.set(device, connection)\n    setInterval(() => undefined, 60_000)',
    days: 3,
  },
  {
    check: 51,
    how: 'an evaluation of the carts fails',
    file: 'gateway/services/carts/carts.ts',
    from: 'this.#noticeClock()\n      const nowMs',
    to: "if (Math.random() < 0.001) throw new Error('broken')\n      const nowMs",
  },
]
