import type { AlertJson } from '#shared/wire/alerts.ts'
import type { CartJson } from '#shared/wire/carts.ts'
import type { CommandStatus } from '#shared/wire/commands.ts'
import type { ServerMessage } from '#shared/wire/realtime.ts'
import { isOpenInBarn } from './fleet-order.ts'
import { byNumber, isParked } from './marker-style.ts'

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

type Answer = readonly ({ cart: string; command_id: string } | { cart: string; code: string })[]

/** The carts of one press of the button, followed by what the gateway reports of each command. */
export class BulkLock {
  readonly #cartOf = new Map<string, string>()
  readonly #outcomes = new Map<string, LockOutcome>()
  /**
   * Ends of commands by id, until the answer to the request says which are its own: a cart may be faster than the
   * answer.
   */
  #early: Map<string, LockOutcome> | null = new Map()

  /** Takes the answer to the request. */
  start(results: Answer): void {
    for (const result of results) {
      if ('code' in result) this.#outcomes.set(result.cart, result.code)
      else {
        this.#cartOf.set(result.command_id, result.cart)
        this.#outcomes.set(result.cart, this.#early?.get(result.command_id) ?? 'sent')
      }
    }
    this.#early = null
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
    const { commandId, status, error } = message
    const outcome = outcomeOf(status, error)
    const cart = this.#cartOf.get(commandId)
    if (outcome === null) return cart !== undefined
    if (cart !== undefined) this.#outcomes.set(cart, outcome)
    else this.#early?.set(commandId, outcome)
    return cart !== undefined
  }

  /** What was said while the line was gone is not said again: a cart that is locked is. */
  look(carts: ReadonlyMap<string, CartJson>): void {
    for (const [cart, outcome] of this.#outcomes)
      if (outcome === 'sent' && carts.get(cart)?.lock?.is_locked === true) this.#outcomes.set(cart, 'done')
  }
}

function outcomeOf(status: CommandStatus, error: string | undefined): LockOutcome | null {
  if (status === 'completed') return 'done'
  if (status === 'timeout') return 'timeout'
  return status === 'failed' ? (error ?? 'failed') : null
}
