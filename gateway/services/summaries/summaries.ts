import type { Alert } from '#domain/alert.ts'
import { type JudgedParty, judgePace } from '#shared/rounds/cause.ts'
import { pacePartiesOf } from '#shared/rounds/pace-party.ts'
import type { CartRound } from '#shared/rounds/round.ts'
import { datesOf } from '#shared/site/months.ts'
import { type Clock, HOUR_MS, MINUTE_MS } from '#shared/time.ts'
import { wasOverdue } from '#shared/wire/parties/party-json.ts'
import type { SummaryJson } from '#shared/wire/reports.ts'
import type { JobOptions } from '#store/readers/pool.ts'
import type { Store } from '#store/store.ts'
import type { AlertQuery } from '#store/tables/alerts.ts'
import type { Cart } from '../cart.ts'
import { partyIn } from '../parties/live-parties.ts'
import type { Reports } from '../reports.ts'
import type { Rounds } from '../rounds/rounds.ts'
import type { Site } from '../site.ts'

interface SummariesDeps {
  store: Pick<Store, 'readers'> & { read: Pick<Store['read'], 'partiesOfDay'> }
  reports: Pick<Reports, 'utilisation' | 'rangeOf'>
  rounds: Pick<Rounds, 'find' | 'holes'>
  site: Pick<Site, 'settings' | 'timeZone'>
  clock: Clock
}

/** Carts and alerts that the reader of a summary may see. */
export interface SummaryScope extends Pick<AlertQuery, 'visible' | 'siteKinds'> {
  carts: readonly Cart[]
}

/** Alerts read in one job. */
const PAGE = 1000
const EIGHTEEN = 18
const NINE = 9

/** Summaries of a day or a month: what golf carts did, and what happened; without names of people. */
export class Summaries {
  readonly #deps: SummariesDeps

  constructor(deps: SummariesDeps) {
    this.#deps = deps
  }

  /** Returns the summary of a local date or a month. Throws `too_many_positions`. */
  async of(period: string, scope: SummaryScope, asker: JobOptions): Promise<SummaryJson> {
    const { reports, rounds, site, clock } = this.#deps
    const { timeZone } = site
    const nowMs = clock.nowMs()
    const carts = scope.carts.filter(({ notes }) => notes.kind === 'golf_cart')
    const range = reports.rangeOf(period)
    const usage = await reports.utilisation(carts, period, asker)
    const all = { order: 'asc' as const, offset: 0, limit: Number.MAX_SAFE_INTEGER }
    const found = await rounds.find(carts, { ...range, ...all, asker })
    const byDate = Map.groupBy(found, ({ round }) => timeZone.local(round.startedMs).date)
    const judged = [...byDate].flatMap(([date, some]) => this.#judge(some, Math.min(nowMs, timeZone.day(date).untilMs)))
    const keys = new Set(carts.map(({ key }) => key))
    const alertsOf = async (query: Partial<AlertQuery>) => {
      const { visible, siteKinds } = scope
      const found = await this.#alerts({ toMs: range.toMs, visible, siteKinds, ...query }, asker)
      return found.filter(({ cart }) => cart === null || keys.has(cart))
    }
    const alerts = await alertsOf({ fromMs: range.fromMs })
    /** Alerts that lasted then, whenever they were opened. */
    const lasting = async (kind: Alert['kind']) =>
      (await alertsOf({ kind })).filter(({ closedAtMs }) => (closedAtMs ?? Infinity) >= range.fromMs)
    const cartsWith = async (kind: Alert['kind']) => {
      const those = new Set((await lasting(kind)).map(({ cart }) => cart))
      return carts.filter(({ key }) => those.has(key)).map(({ key }) => key)
    }
    const due = await lasting('service_due')
    const seen = new Set(usage.map(({ cart }) => cart))
    const hasBegun = range.fromMs <= nowMs
    return {
      time_zone: timeZone.name,
      is_complete: range.toMs < nowMs,
      carts: {
        total: carts.length,
        used: new Set(usage.filter(({ outMs }) => outMs > 0).map(({ cart }) => cart)).size,
        out_of_service: carts.filter(({ notes }) => (notes.outOfService?.sinceMs ?? Infinity) <= range.toMs).length,
      },
      rounds: roundsOf(found, judged, site.settings.delayFromMin),
      pace: {
        mean_late_min: rounded(mean(judged.map(({ lateMin }) => lateMin))),
        delayed_parties: judged.filter(({ cause }) => cause === 'delayed').length,
        worst_hole: worstHoleOf(found),
      },
      handouts: this.#handouts(period, keys, nowMs),
      incidents: [...Map.groupBy(alerts, ({ kind }) => kind)].map(([kind, some]) => ({ kind, count: some.length })),
      calls: callsOf(alerts),
      not_charged: await cartsWith('not_charging'),
      low: await cartsWith('low_battery'),
      service_due: due.map(({ cart, details }) => ({ cart: cart ?? '', name: String(details.name) })),
      not_seen: hasBegun ? carts.filter(({ key }) => !seen.has(key)).map(({ key }) => key) : [],
      hours_out: rounded(usage.reduce((sum, { outMs }) => sum + outMs, 0) / HOUR_MS) ?? 0,
      distance: rounded(usage.reduce((sum, { distanceM }) => sum + distanceM, 0)) ?? 0,
    }
  }

  #judge(rounds: readonly CartRound[], endMs: number): JudgedParty[] {
    const { site, store } = this.#deps
    const { minutesPerHole, teeIntervalMin, delayFromMin } = site.settings
    const settings = { minutesPerHole, teeIntervalMin, delayFromMin, holes: this.#deps.rounds.holes() }
    const handedOut = store.read.partiesOfDay(site.timeZone.local(endMs - 1).date)
    const handedOutOf = ({ cart, round }: CartRound) => {
      const party = partyIn(handedOut, cart, round.startedMs)
      return party && { ...party, partyId: party.party_id }
    }
    return judgePace(pacePartiesOf(rounds, handedOutOf, endMs), settings, endMs, true)
  }

  #handouts(period: string, carts: ReadonlySet<string>, nowMs: number): SummaryJson['handouts'] {
    const { store, site } = this.#deps
    const parties = datesOf(period)
      .flatMap((date) => store.read.partiesOfDay(date))
      .filter((party) => party.carts.some(({ cart }) => carts.has(cart)))
    const overdue = parties.filter((party) => wasOverdue(party, site.settings.minutesPerHole, nowMs))
    return { parties: parties.length, overdue: overdue.length }
  }

  async #alerts(query: Omit<AlertQuery, 'order' | 'limit' | 'offset'>, asker: JobOptions): Promise<Alert[]> {
    const alerts: Alert[] = []
    for (;;) {
      const paged = { ...query, order: 'asc' as const, limit: PAGE, offset: alerts.length }
      const page = await this.#deps.store.readers.run('alerts', paged, asker)
      alerts.push(...page)
      if (page.length < PAGE) return alerts
    }
  }
}

function roundsOf(rounds: readonly CartRound[], judged: readonly JudgedParty[], delayFromMin: number) {
  const minutes = rounds.flatMap(({ round: { startedMs, endedMs } }) =>
    endedMs === null ? [] : [(endedMs - startedMs) / MINUTE_MS],
  )
  const holesOf = ({ round }: CartRound) => new Set(round.holes.map(({ hole }) => hole)).size
  const within = judged.reduce((sum, { lateMin, party }) => sum + (lateMin < delayFromMin ? party.rounds.length : 0), 0)
  return {
    count: rounds.length,
    nine: rounds.filter((one) => holesOf(one) >= NINE && holesOf(one) < EIGHTEEN).length,
    eighteen: rounds.filter((one) => holesOf(one) >= EIGHTEEN).length,
    mean_minutes: rounded(mean(minutes)),
    median_minutes: rounded(median(minutes)),
    within_pace_percent: rounds.length === 0 ? null : Math.round((100 * within) / rounds.length),
  }
}

/** Returns the hole with the longest mean time from leaving the one before, or from its entry; null for none. */
function worstHoleOf(rounds: readonly CartRound[]): number | null {
  const minutes = new Map<number, number[]>()
  for (const { round } of rounds) {
    let fromMs = round.holes[0]?.enteredMs ?? 0
    for (const { hole, leftMs } of round.holes) {
      if (leftMs === null) break
      minutes.set(hole, [...(minutes.get(hole) ?? []), (leftMs - fromMs) / MINUTE_MS])
      fromMs = leftMs
    }
  }
  const means = [...minutes].map(([hole, times]) => ({ hole, mean: mean(times) ?? 0 }))
  return means.sort((a, b) => b.mean - a.mean || a.hole - b.hole)[0]?.hole ?? null
}

function callsOf(alerts: readonly Alert[]): SummaryJson['calls'] {
  const calls = alerts.filter(({ kind }) => kind === 'call')
  const countOf = (call: string) =>
    calls.reduce((sum, { details }) => sum + (details.call === call ? Number(details.count) : 0), 0)
  const answers = calls.flatMap(({ openedAtMs, acknowledgedAtMs }) =>
    acknowledgedAtMs === null ? [] : [(acknowledgedAtMs - openedAtMs) / 1000],
  )
  return {
    help: countOf('help'),
    ranger: countOf('ranger'),
    breakdown: countOf('breakdown'),
    order: countOf('order'),
    median_answer_s: rounded(median(answers)),
  }
}

function mean(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length
}

function median(values: readonly number[]): number | null {
  const sorted = values.toSorted((a, b) => a - b)
  const [low, high] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]]
  return low === undefined || high === undefined ? null : (low + high) / 2
}

/** Rounds to a tenth. */
function rounded<Value extends number | null>(value: Value): Value {
  return (value === null ? null : Math.round(value * 10) / 10) as Value
}
