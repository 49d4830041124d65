/** Noisy client as bytes and rates (of all connections), so that it does the same against a port that discards all. */
export interface AttackPlan {
  port: number
  /** Protocol of the responses, to count refusals. */
  speaks: 'http' | 'websocket' | 'mqtt'
  /** Connections that are tried before anything is measured, and that are held. */
  connections: number
  opensPerS: number
  /** Rate of reopening connections that the other side closed; the others stay closed. */
  reopensPerS: number
  /** Rate of cutting and reopening intact connections: replaces `reopensPerS` where the server closes none. */
  churnPerS: number
  /** Written on a new connection; the n-th gets the n-th, repeating from the start. */
  first: readonly Buffer[]
  /** Written afterwards, on one connection after the other. */
  next: readonly Buffer[]
  nextPerS: number
  /** Offset of a ten-digit number in each of `next`, which is different each time. */
  numbersAt: readonly number[]
  /** Condition for further writes on a connection: it is open, has received bytes, or has since the last write. */
  waitsFor: 'nothing' | 'an answer' | 'each answer'
  /** Behaviour of a connection after `first`. */
  after: 'stays' | 'leaves once subscribed' | 'stops reading' | 'never closes its end'
}

/** Counters of a noisy client since the last request for them. */
export interface AttackResult {
  tookS: number
  /** CPU seconds of the generator. */
  cpuS: number
  opens: number
  writes: number
  /** Counters of all other events, by name. */
  counts: Record<string, number>
}

/** Time after which it ends in any case. */
export const LIFE_S = 180

/** Creates a plan with defaults for what most do not need. */
export function planOf(
  plan: Pick<AttackPlan, 'port' | 'speaks' | 'connections' | 'opensPerS' | 'first'> & Partial<AttackPlan>,
): AttackPlan {
  return {
    reopensPerS: 0,
    churnPerS: 0,
    next: [],
    nextPerS: 0,
    numbersAt: [],
    waitsFor: 'an answer',
    after: 'stays',
    ...plan,
  }
}

/** Returns the same plan at the rate it reached, against a port that accepts and discards. */
export function replayOf(
  plan: AttackPlan,
  reached: { start: AttackResult; measured: AttackResult },
  port: number,
): AttackPlan {
  const { start, measured } = reached
  return {
    ...plan,
    port,
    opensPerS: Math.max(1, start.opens / Math.max(0.1, start.tookS)),
    reopensPerS: 0,
    churnPerS: measured.opens / measured.tookS,
    nextPerS: measured.writes / measured.tookS,
    waitsFor: 'nothing',
  }
}
