import type { AlertKind } from '#shared/wire/alert-kinds.ts'
import type { StoredAlert } from '#store/tables/alerts.ts'
import type { CartAlertState } from './rule-state.ts'
import type { SiteContext } from './site-context.ts'

/** Result of a rule; `unsure`, between two thresholds or after a start, leaves the alert unchanged. */
export type RuleResult = 'holds' | 'over' | 'unsure'

export interface AlertDetails {
  hardwareId: string | null
  /** Keyed by the field names of the API. */
  details: Record<string, unknown>
}

/**
 * Condition under which a cart raises an alert of a kind. Pure: a rule changes nothing. `open` is the alert that is not
 * closed, and `awaited` one that staff closed before its cause ended; `subject` is the part of the cart that the alert
 * is about, for kinds with several.
 */
export interface CartRule {
  readonly kind: AlertKind
  /** Bars reopening within ten minutes of the end: `place` until the cart left the place, `time` always, null never. */
  readonly brake: 'place' | 'time' | null
  /** Returns the possible subjects; defined only for kinds with several. */
  subjectsOf?(one: CartAlertState, context: SiteContext): readonly string[]
  evaluate(
    one: CartAlertState,
    context: SiteContext,
    open: StoredAlert | undefined,
    subject: string,
    awaited: StoredAlert | undefined,
  ): RuleResult
  describe(one: CartAlertState, context: SiteContext, subject: string): AlertDetails
}
