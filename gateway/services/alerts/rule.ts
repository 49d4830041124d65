import type { AlertKind } from '#shared/wire/alert-kinds.ts'
import type { StoredAlert } from '#store/tables/alerts.ts'
import type { CartAlertState } from './rule-state.ts'
import type { SiteContext } from './site-context.ts'

/**
 * What a look says of a condition. `unsure` leaves all as it is: between two thresholds, and where nobody can say, as
 * after a start.
 */
export type RuleResult = 'holds' | 'over' | 'unsure'

/** What an alert says when it is opened. */
export interface AlertDetails {
  hardwareId: string | null
  /** By the names of the API. */
  details: Record<string, unknown>
}

/**
 * When carts raise an alert of a kind. Pure: a rule reads and changes nothing. `open` is the alert that is not closed;
 * `subject` what of the cart it is about, where there may be several.
 */
export interface CartRule {
  readonly kind: AlertKind
  /**
   * What keeps one that is over from being opened again for ten minutes: `place` as long as the cart has not left where
   * it was over, `time` alone, or nothing.
   */
  readonly brake: 'place' | 'time' | null
  /** What it may be about; only where there may be several. */
  subjectsOf?(one: CartAlertState): readonly string[]
  evaluate(one: CartAlertState, ground: SiteContext, open: StoredAlert | undefined, subject: string): RuleResult
  tell(one: CartAlertState, ground: SiteContext, subject: string): AlertDetails
}
