import { DAY_MS } from '#shared/time.ts'

/** Use of a cart as its meter shows it. */
export interface MeterReading {
  readonly hours: number
  readonly km: number
  readonly rounds: number
}

/** Intervals of a plan, or the rest of them; one at least. */
export interface ServiceIntervals {
  readonly hours?: number | undefined
  readonly km?: number | undefined
  readonly rounds?: number | undefined
  readonly days?: number | undefined
}

export const SERVICE_STATES = ['due', 'soon', 'ok'] as const
export type ServiceState = (typeof SERVICE_STATES)[number]

export interface DueInput {
  every: ServiceIntervals
  soonPercent: number
  /** Meter and local day from which the plan counts. */
  from: { meter: MeterReading; date: string }
  now: { meter: MeterReading; date: string }
}

export interface DueService {
  state: ServiceState
  left: ServiceIntervals
  /** Least rest of an interval, as a part of the interval. */
  leastLeft: number
}

/** Judges a service: the interval with the least rest decides. */
export function dueServiceOf({ every, soonPercent, from, now }: DueInput): DueService {
  const passed = {
    hours: now.meter.hours - from.meter.hours,
    km: now.meter.km - from.meter.km,
    rounds: now.meter.rounds - from.meter.rounds,
    days: Math.round((Date.parse(now.date) - Date.parse(from.date)) / DAY_MS),
  }
  const left: Partial<Record<keyof typeof passed, number>> = {}
  let leastLeft = Number.POSITIVE_INFINITY
  for (const unit of ['hours', 'km', 'rounds', 'days'] as const) {
    const interval = every[unit]
    if (interval === undefined) continue
    const rest = Math.round((interval - passed[unit]) * 1000) / 1000
    left[unit] = rest
    leastLeft = Math.min(leastLeft, rest / interval)
  }
  const state = leastLeft <= 0 ? 'due' : leastLeft <= soonPercent / 100 ? 'soon' : 'ok'
  return { state, left, leastLeft }
}

/** Order of urgency: due first, then with the least rest. */
export function byUrgency(a: DueService, b: DueService): number {
  return SERVICE_STATES.indexOf(a.state) - SERVICE_STATES.indexOf(b.state) || a.leastLeft - b.leastLeft
}
