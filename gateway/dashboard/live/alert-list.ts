import type { AlertKind } from '#shared/wire/alert-kinds.ts'
import type { AlertJson } from '#shared/wire/alerts.ts'

/** Which alerts are shown. */
export interface AlertFilter {
  kind: AlertKind | null
  /** Empty is any. */
  cart: string
}

/** Of whom nobody has taken note yet, the newest first. */
export function openAlerts(alerts: Iterable<AlertJson>): AlertJson[] {
  return [...alerts].filter(({ acknowledged_at }) => acknowledged_at === null).sort(newestFirst)
}

/** Not over yet, but a person knows. */
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

/** So often at most it rings for what everybody has heard already. */
const RING_AGAIN_MS = 60_000

/** Decides when open alerts are heard: each once when it opens, and all of them once a minute until a person knows. */
export class AlertSound {
  readonly #ring: () => boolean
  #heard = new Set<string>()
  #rangAtMs = Number.NEGATIVE_INFINITY

  /** `ring` says whether it could be heard: a page is silent until somebody has touched it. */
  constructor(ring: () => boolean) {
    this.#ring = ring
  }

  /** These are open at `nowMs` (monotonic). */
  look(open: readonly AlertJson[], nowMs: number): void {
    const isNew = open.some(({ alert_id }) => !this.#heard.has(alert_id))
    const isAgain = open.length > 0 && nowMs - this.#rangAtMs >= RING_AGAIN_MS
    if ((isNew || isAgain) && !this.#ring()) return
    if (isNew || isAgain) this.#rangAtMs = nowMs
    this.#heard = new Set(open.map(({ alert_id }) => alert_id))
  }
}
