import type { Uptime } from './uptime.ts'

/** State that a gateway has confirmed, or may have accepted although its response was lost. */
export class Promised<Value> {
  #possible: Value[]

  constructor(first: Value) {
    this.#possible = [first]
  }

  answered(value: Value): void {
    this.#possible = [value]
  }

  /** Adds a value that may apply from now on, in addition to the previous ones. */
  unanswered(value: Value): void {
    this.#possible.push(value)
  }

  /** Possible values: only one, unless a response was lost. */
  get possible(): readonly Value[] {
    return this.#possible
  }

  /** Returns true if the shown value is possible; it is the only possible one afterwards. */
  settle(shown: Value, mayShow: (promised: Value) => boolean): boolean {
    const isPromised = this.#possible.some(mayShow)
    this.#possible = [shown]
    return isPromised
  }
}

/** Override of a zone, on or off for a while; null if the zone is as drawn. */
export type Switched = { isOn: boolean; untilMs: number } | null

/** Times of a request and its response, and start of the gateway that answered. */
export interface Observation {
  bornAtMs: number
  askedAtMs: number
  answeredAtMs: number
  uptime: Uptime
}

/** Limit in uptime of the gateway: many ticks, each of which ends expired overrides. */
const LATE_MS = 10_000

/** True if a zone with one override may be shown with the other. */
export function mayShow(promised: Switched, shown: Switched, { answeredAtMs }: Observation): boolean {
  if (shown === null) return promised === null || promised.untilMs <= answeredAtMs
  return promised?.untilMs === shown.untilMs && promised.isOn === shown.isOn
}

/** True if a shown override should have ended: at the start, or long ago. */
export function isOverdue(shown: Switched, { bornAtMs, askedAtMs, uptime }: Observation): boolean {
  if (shown === null) return false
  return shown.untilMs <= bornAtMs || uptime.upMs(shown.untilMs, askedAtMs) > LATE_MS
}

/** True if an override ended while no gateway ran. */
export function endedUnattended(promised: Switched, { bornAtMs, uptime }: Observation): boolean {
  return promised !== null && promised.untilMs <= bornAtMs && uptime.upMs(promised.untilMs, bornAtMs) === 0
}
