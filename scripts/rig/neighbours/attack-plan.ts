/**
 * What a neighbour does, as bytes and a rate: so that the same generator does the same against a port that discards all
 * of it. Rates are a second, over all its connections.
 */
export interface AttackPlan {
  port: number
  /** In which language answers come, so that refusals are counted. */
  speaks: 'http' | 'websocket' | 'mqtt'
  /** Connections that are tried before anything is measured, and that are held. */
  connections: number
  opensPerS: number
  /** Of those that the other side closed; the rest of them stays closed. */
  reopensPerS: number
  /** Connections that are cut and opened again although they stand: what reopening is where nobody closes them. */
  churnPerS: number
  /** Written on a new connection; the n-th gets the n-th, and so on in turn. */
  first: readonly Buffer[]
  /** Written afterwards, on one connection after the other. */
  next: readonly Buffer[]
  nextPerS: number
  /** Where each of `next` has a number of ten digits that is a new one each time. */
  numbersAt: readonly number[]
  /**
   * Whether a connection writes on when it is open, when something has come, or when something has come since the last
   * time.
   */
  waitsFor: 'nothing' | 'an answer' | 'each answer'
  /** What becomes of a connection after `first`. */
  after: 'stays' | 'leaves once subscribed' | 'stops reading' | 'never closes its end'
}

/** What a neighbour did since it was asked the last time. */
export interface AttackResult {
  tookS: number
  /** CPU seconds of the generator. */
  cpuS: number
  opens: number
  writes: number
  /** Of everything else, by name. */
  counts: Record<string, number>
}

/** It ends by itself after this, whatever happens. */
export const LIFE_S = 180

/** A plan without what most do not need. */
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

/** The same at the rate it reached, against a port that accepts and discards. */
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
