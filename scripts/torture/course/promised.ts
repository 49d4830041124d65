import type { Uptime } from './uptime.ts'

/** What a gateway has answered for, or may have taken although its answer was lost. */
export class Promised<Value> {
  #possible: Value[]

  constructor(first: Value) {
    this.#possible = [first]
  }

  answered(value: Value): void {
    this.#possible = [value]
  }

  /** It may hold from now on, or what held before. */
  unanswered(value: Value): void {
    this.#possible.push(value)
  }

  /** What may hold: one thing, unless an answer was lost. */
  get possible(): readonly Value[] {
    return this.#possible
  }

  /** Whether what is shown may hold; it is what holds then. */
  settle(shown: Value, mayShow: (promised: Value) => boolean): boolean {
    const isPromised = this.#possible.some(mayShow)
    this.#possible = [shown]
    return isPromised
  }
}

/** A zone that is on or off for a while; null is one that is as it was drawn. */
export type Switched = { isOn: boolean; untilMs: number } | null

/** When a gateway was asked, and since when the one that answered has been running. */
export interface Look {
  bornAtMs: number
  askedAtMs: number
  answeredAtMs: number
  uptime: Uptime
}

/** Of the time in which the gateway was there: many heartbeats, each of which ends what is over. */
const LATE_MS = 10_000

/** Whether a zone that was switched like this may be shown like that. */
export function mayShow(promised: Switched, shown: Switched, { answeredAtMs }: Look): boolean {
  if (shown === null) return promised === null || promised.untilMs <= answeredAtMs
  return promised?.untilMs === shown.untilMs && promised.isOn === shown.isOn
}

/** Whether a switch that is shown should have ended: at the start, or long ago. */
export function isOverdue(shown: Switched, { bornAtMs, askedAtMs, uptime }: Look): boolean {
  if (shown === null) return false
  return shown.untilMs <= bornAtMs || uptime.upMs(shown.untilMs, askedAtMs) > LATE_MS
}

/** Whether a switch ended while there was no gateway to end it. */
export function endedUnattended(promised: Switched, { bornAtMs, uptime }: Look): boolean {
  return promised !== null && promised.untilMs <= bornAtMs && uptime.upMs(promised.untilMs, bornAtMs) === 0
}
