import type { AlertKind } from '#shared/wire/alert-kinds.ts'
import type { AlertJson } from '#shared/wire/alerts.ts'

export interface AlertFilter {
  kind: AlertKind | null
  /** Empty matches any cart. */
  cart: string
}

/** Kinds for which a person has to run. */
const URGENT: ReadonlySet<AlertKind> = new Set<AlertKind>(['outside', 'moved_while_locked', 'moved_after_hours'])

type AlertCause = Pick<AlertJson, 'kind' | 'details'>

function isUrgent(alert: AlertCause): boolean {
  return URGENT.has(alert.kind) || (alert.kind === 'call' && !isOrder(alert))
}

/** True for a call that can wait: it makes no sound. */
export function isOrder({ kind, details }: AlertCause): boolean {
  return kind === 'call' && details.call === 'order'
}

/** Returns the color of a row or bar, as the name of a class. */
export function toneOf(alert: AlertCause): 'urgent' | 'order' | '' {
  if (isOrder(alert)) return 'order'
  return isUrgent(alert) ? 'urgent' : ''
}

/** Returns the alerts that are not acknowledged yet: the urgent ones first, then the newest. */
export function openAlerts(alerts: Iterable<AlertJson>): AlertJson[] {
  const open = [...alerts].filter(({ acknowledged_at }) => acknowledged_at === null)
  return open.sort((a, b) => Number(isUrgent(b)) - Number(isUrgent(a)) || newestFirst(a, b))
}

/** Returns the alerts that are acknowledged but not closed. */
export function acknowledgedAlerts(alerts: Iterable<AlertJson>): AlertJson[] {
  return [...alerts].filter(({ acknowledged_at }) => acknowledged_at !== null).sort(newestFirst)
}

export function isShown({ kind, cart }: AlertJson, filter: AlertFilter): boolean {
  if (filter.kind !== null && kind !== filter.kind) return false
  return filter.cart === '' || cart === filter.cart
}

function newestFirst(a: AlertJson, b: AlertJson): number {
  if (a.opened_at !== b.opened_at) return a.opened_at < b.opened_at ? 1 : -1
  return a.alert_id < b.alert_id ? -1 : 1
}

/** Minimum time between two sounds for alerts that have already sounded. */
const RING_AGAIN_MS = 60_000

/** Decides when open alerts sound: each when it opens or a call is repeated or escalated, all once a minute. */
export class AlertSound {
  readonly #ring: () => boolean
  #sounded = new Set<string>()
  #rangAtMs = Number.NEGATIVE_INFINITY

  /** `ring` returns true if the sound could be played: browsers mute a page until the first tap. */
  constructor(ring: () => boolean) {
    this.#ring = ring
  }

  /** Processes the alerts that are open at `nowMs` (monotonic). */
  process(open: readonly AlertJson[], nowMs: number): void {
    const loud = open.filter((alert) => !isOrder(alert)).map(soundOf)
    const isNew = loud.some((sound) => !this.#sounded.has(sound))
    const isAgain = loud.length > 0 && nowMs - this.#rangAtMs >= RING_AGAIN_MS
    if ((isNew || isAgain) && !this.#ring()) return
    if (isNew || isAgain) this.#rangAtMs = nowMs
    this.#sounded = new Set(loud)
  }
}

function soundOf({ alert_id, details }: AlertJson): string {
  return `${alert_id} ${details.count} ${details.escalated_at}`
}
