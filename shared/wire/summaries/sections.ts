import type { SiteSettings } from '#shared/site/settings.ts'
import { KM_PER_MILE } from '#shared/units.ts'
import type { AlertKind } from '../alert-kinds.ts'
import type { SummaryJson } from '../reports.ts'
import { WORDS } from './words.ts'

// Without the schema library; the app uses this too.

export type SummaryLine = readonly [label: string, value: string]
export type SummarySection = readonly [title: string, lines: readonly SummaryLine[]]

interface SummaryContext extends Pick<SiteSettings, 'units' | 'language'> {
  kindText: (kind: AlertKind) => string
}

/** Describes a summary in words, by section. */
export function summarySections(summary: SummaryJson, { units, language, kindText }: SummaryContext): SummarySection[] {
  const words = WORDS[language]
  const number = (value: number | null, unit = '') =>
    value === null ? '–' : `${value.toLocaleString(words.locale, { maximumFractionDigits: 1 })}${unit}`
  const list = (carts: readonly string[]) => (carts.length === 0 ? '–' : carts.join(', '))
  const { carts, rounds, pace, handouts, calls } = summary
  const km = summary.distance / 1000
  const distance = units === 'metric' ? number(km, ' km') : number(km / KM_PER_MILE, ' mi')
  const incidents = summary.incidents.filter(({ kind }) => kind !== 'call')
  return [
    [
      words.carts,
      [
        [words.used, words.of(carts.used, carts.total)],
        [words.hoursOut, number(summary.hours_out, ' h')],
        [words.distance, distance],
        [words.outOfService, number(carts.out_of_service)],
        [words.notSeen, list(summary.not_seen)],
      ],
    ],
    [
      words.rounds,
      [
        [words.count, number(rounds.count)],
        [words.nineEighteen, `${rounds.nine} / ${rounds.eighteen}`],
        [words.mean, number(rounds.mean_minutes, ' min')],
        [words.median, number(rounds.median_minutes, ' min')],
        [words.withinPace, number(rounds.within_pace_percent, ' %')],
        [words.meanLate, number(pace.mean_late_min, ' min')],
        [words.delayed, number(pace.delayed_parties)],
        [words.worstHole, number(pace.worst_hole)],
      ],
    ],
    [
      words.handouts,
      [
        [words.parties, number(handouts.parties)],
        [words.overdue, number(handouts.overdue)],
      ],
    ],
    [
      words.calls,
      [
        [words.help, number(calls.help)],
        [words.ranger, number(calls.ranger)],
        [words.breakdown, number(calls.breakdown)],
        [words.order, number(calls.order)],
        [words.answer, number(calls.median_answer_s, ' s')],
      ],
    ],
    [
      words.incidents,
      incidents.length === 0
        ? [[words.none, '0']]
        : incidents.map(({ kind, count }) => [kindText(kind), number(count)] as const),
    ],
    [
      words.care,
      [
        [words.notCharged, list(summary.not_charged)],
        [words.low, list(summary.low)],
        [words.serviceDue, list(summary.service_due.map(({ cart, name }) => `${cart} (${name})`))],
      ],
    ],
  ]
}
