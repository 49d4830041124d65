/** Noisy client as bytes and rates (of all connections), so that it does the same against a port that discards all. */
export interface AttackPlan {
  /** Protocol of the responses, to count refusals; it also decides the port. */
  speaks: 'http' | 'websocket' | 'mqtt'
  /** Connections that are tried before anything is measured, and that are held: one for each of `first` by default. */
  connections: number
  opensPerS: number
  /** Rate of reopening connections that the other side closed; the others stay closed. */
  reopensPerS: number
  /** Rate of cutting and reopening intact connections: replaces `reopensPerS` where the server closes none. */
  churnPerS: number
  /** Written on a new connection; the n-th gets the n-th, repeating from the start. Each `NUMBER` in it is replaced. */
  first: readonly Buffer[]
  /** Written afterwards, on one connection after the other, with other numbers each time. */
  next: readonly Buffer[]
  nextPerS: number
  /** Condition for further writes on a connection: it is open, has received bytes, or has since the last write. */
  waitsFor: 'nothing' | 'an answer' | 'each answer'
  /** Most messages of a connection without a PUBACK, and how many each of `next` has. */
  window: { size: number; ofOne: number }
  /** Behaviour of a connection after `first`. */
  after: 'stays' | 'leaves once subscribed' | 'stops reading' | 'never closes its end'
  /** Another client, in the same process. */
  beside?: AttackPlan
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

/** Kind of noisy client; `target` has what it uses of the attacked server. */
export interface Neighbour<Target> {
  name: string
  summary: string
  plan(target: Target, isShort: boolean): AttackPlan
}

/** Placeholder for a number that differs each time: the time in ms without its first three digits, counted on. */
export const NUMBER = '__NUMBER__'
/** Rate of a client that acts whenever it may. */
export const FULL_SPEED = 1_000_000

/** Creates a plan with defaults for what most do not need. */
export function planOf(plan: Pick<AttackPlan, 'speaks' | 'opensPerS' | 'first'> & Partial<AttackPlan>): AttackPlan {
  return {
    connections: plan.first.length,
    reopensPerS: 0,
    churnPerS: 0,
    next: [],
    nextPerS: 0,
    waitsFor: 'an answer',
    window: { size: Number.POSITIVE_INFINITY, ofOne: 0 },
    after: 'stays',
    ...plan,
  }
}

/** Returns the same plan at the rate it reached, against a port that accepts and discards. */
export function replayOf(plan: AttackPlan, reached: { start: AttackResult; measured: AttackResult }): AttackPlan {
  const { start, measured } = reached
  return {
    ...plan,
    opensPerS: Math.max(1, start.opens / Math.max(0.1, start.tookS)),
    reopensPerS: 0,
    churnPerS: measured.opens / measured.tookS,
    nextPerS: measured.writes / measured.tookS,
    waitsFor: 'nothing',
  }
}
