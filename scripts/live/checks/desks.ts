import type { Bottle } from '../bottle.ts'
import type { TabletRights } from '../model/rights.ts'
import type { Tablet, TabletAnswer } from '../model/tablet.ts'

export const CART_ID = /\bcart-\d+\b/g

/** Tablet, and the people who act on it. */
export interface Desk {
  readonly name: string
  readonly tablet: Tablet
  readonly rights: TabletRights
}

/** All tablets, as the checks use them. */
export interface Desks {
  readonly bottle: Bottle
  readonly desks: readonly Desk[]
  /** Records a wrong statement of the product. */
  found(check: number, desk: Pick<Desk, 'name'>, is: string, expected: string): void
  /** Sends a request of a tablet; null if no response came, undefined if it cannot be sent. */
  ask(desk: Desk, method: string, path: string, body?: unknown): Promise<TabletAnswer | null | undefined>
}
