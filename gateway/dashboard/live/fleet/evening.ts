import type { AlertJson } from '#shared/wire/alerts.ts'
import type { CartJson } from '#shared/wire/carts.ts'
import type { ServerMessage } from '#shared/wire/realtime.ts'
import { byNumber, isParked } from './cart-look.ts'
import { isOpenInBarn } from './fleet-order.ts'

/** What people look at before they leave; a cart is in the first of these that holds. */
export interface EveningGroups {
  open: CartJson[]
  out: CartJson[]
  locked: CartJson[]
  /** Whatever the group they are in. */
  notCharging: CartJson[]
}

export function groupEvening(carts: Iterable<CartJson>, alerts: Iterable<AlertJson>): EveningGroups {
  const dry = new Set([...alerts].filter(({ kind }) => kind === 'not_charging').map(({ cart }) => cart))
  const groups: EveningGroups = { open: [], out: [], locked: [], notCharging: [] }
  for (const cart of [...carts].sort(byNumber)) {
    if (dry.has(cart.cart)) groups.notCharging.push(cart)
    if (isOpenInBarn(cart)) groups.open.push(cart)
    else if (isParked(cart)) groups.locked.push(cart)
    else if (cart.out_of_service === null) groups.out.push(cart)
  }
  return groups
}

/** How the lock of one cart ends: `sent` until its device says so, else a code of why not. */
export type LockOutcome = 'sent' | 'done' | 'timeout' | 'failed' | (string & {})

/** The carts of one press of the button, followed by what the gateway says of each command. */
export class BulkLock {
  readonly #cartOf = new Map<string, string>()
  readonly #outcomes = new Map<string, LockOutcome>()

  constructor(results: readonly ({ cart: string; command_id: string } | { cart: string; code: string })[]) {
    for (const result of results) {
      if ('code' in result) this.#outcomes.set(result.cart, result.code)
      else {
        this.#cartOf.set(result.command_id, result.cart)
        this.#outcomes.set(result.cart, 'sent')
      }
    }
  }

  get outcomes(): ReadonlyMap<string, LockOutcome> {
    return this.#outcomes
  }

  /** How many carts have said that they are locked. */
  get done(): number {
    return [...this.#outcomes.values()].filter((outcome) => outcome === 'done').length
  }

  /** Whether the message was about one of them. */
  take(message: ServerMessage): boolean {
    if (message.type !== 'command_status') return false
    const cart = this.#cartOf.get(message.commandId)
    if (cart === undefined) return false
    const { status } = message
    if (status === 'completed') this.#outcomes.set(cart, 'done')
    else if (status === 'timeout') this.#outcomes.set(cart, 'timeout')
    else if (status === 'failed') this.#outcomes.set(cart, message.error ?? 'failed')
    return true
  }

  /** What was said while the line was gone is not said again: a cart that is locked is. */
  look(carts: ReadonlyMap<string, CartJson>): void {
    for (const [cart, outcome] of this.#outcomes)
      if (outcome === 'sent' && carts.get(cart)?.lock?.is_locked === true) this.#outcomes.set(cart, 'done')
  }
}
