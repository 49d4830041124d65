import type { Alert } from '#domain/alert.ts'
import type { Events, GatewayEvents } from '#gateway/events.ts'
import { describeError } from '#shared/errors.ts'
import type { Log } from '#shared/log.ts'
import type { SiteSettings } from '#shared/site/settings.ts'
import type { AlertKind } from '#shared/wire/alert-kinds.ts'
import type { Cart } from '../cart.ts'
import type { Commands } from '../commands/commands.ts'
import type { Site } from '../site.ts'
import { type AutomaticLocks, ROUND_TIMEOUT } from './automatic-locks.ts'
import type { CartsToLock } from './cart-locks.ts'

interface RoundTimeoutDeps {
  carts: CartsToLock
  commands: Pick<Commands, 'createForEach'>
  locks: AutomaticLocks
  site: Pick<Site, 'settings'>
  clockConfirmation: { readonly isConfirmed: boolean }
  notClosedOf(kind: AlertKind): readonly Alert[]
  events: Events
  log: Log
}

const NOTICE: Record<SiteSettings['language'], string> = {
  en: 'This cart locks in 2 minutes. Drive on, or call the shop.',
  de: 'Dieses Cart wird in 2 Minuten gesperrt. Bitte weiterfahren oder den Shop rufen.',
}
/** Time in which the notice is of use. */
const NOTICE_TTL_S = 120

/**
 * Locks carts that stand in a zone with `lock_here` two minutes after their alert `standing` opened, unless a person
 * has acknowledged it, the cart calls, moves or leaves the zone. Their screens give notice.
 */
export class RoundTimeout {
  readonly #deps: RoundTimeoutDeps
  /** Alerts after which a lock was sent. */
  readonly #locked = new Set<string>()

  constructor(deps: RoundTimeoutDeps) {
    this.#deps = deps
  }

  load(): void {
    const { events } = this.#deps
    events.on('alertChanged', ({ event, alert }) => {
      if (alert.kind !== 'standing') return
      if (event === 'opened' && alert.details.locks_at !== null) void this.#notify(alert)
      if (event === 'closed') this.#locked.delete(alert.alertId)
    })
    events.on('cartsEvaluated', (event) => this.#judged(event))
  }

  async #notify({ cart: key }: Alert): Promise<void> {
    const { carts, commands, site, log } = this.#deps
    const devices = (key === null ? undefined : carts.find(key))?.devices ?? []
    const request = {
      command: 'message',
      params: { text: NOTICE[site.settings.language] },
      metadata: null,
      ttlS: NOTICE_TTL_S,
    }
    const caller = { userId: ROUND_TIMEOUT, role: 'admin' as const, allowedHardwareIds: null }
    try {
      await commands.createForEach(
        devices.map(({ row }) => row.hardwareId),
        request,
        { caller },
      )
    } catch (error) {
      log.warn({ cart: key, reason: describeError(error) }, 'the notice of a lock could not be sent')
    }
  }

  #judged({ nowMs }: GatewayEvents['cartsEvaluated']): void {
    const { site, clockConfirmation, notClosedOf, locks } = this.#deps
    const { roundTimeoutLock, roundTimeoutMin } = site.settings
    if (!roundTimeoutLock || roundTimeoutMin === 0 || !clockConfirmation.isConfirmed) return
    const isDue = ({ alertId, acknowledgedAtMs, details: { locks_at: atText } }: Alert) =>
      acknowledgedAtMs === null && Date.parse(String(atText)) <= nowMs && !this.#locked.has(alertId)
    const due = notClosedOf('standing').filter(isDue)
    if (due.length === 0) return
    const alertOf = new Map(due.map((alert) => [alert.cart ?? '', alert]))
    locks.lock({
      by: ROUND_TIMEOUT,
      carts: [...alertOf.keys()],
      isStillDue: (cart) => this.#mayLock(cart),
      onWritten: () => {
        for (const { alertId } of due) this.#locked.add(alertId)
      },
    })
  }

  /** True if its alert is open, no person has acknowledged it, and it is where it may be locked. */
  #mayLock({ key, verdict }: Cart): boolean {
    const { notClosedOf } = this.#deps
    const isOf = ({ cart }: Alert) => cart === key
    const alert = notClosedOf('standing').find(isOf)
    return alert?.acknowledgedAtMs === null && verdict.stays.some(({ locksHere }) => locksHere)
  }
}
