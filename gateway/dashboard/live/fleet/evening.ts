import type { AlertJson } from '#shared/wire/alerts.ts'
import type { CartJson } from '#shared/wire/carts.ts'
import type { CommandStatus } from '#shared/wire/commands.ts'
import type { ServerMessage } from '#shared/wire/realtime.ts'
import { isOpenInBarn } from './fleet-order.ts'
import { byNumber, isParked } from './marker-style.ts'

/** Groups of the evening check; a cart belongs to the first group that applies. */
export interface EveningGroups {
  open: CartJson[]
  out: CartJson[]
  locked: CartJson[]
  /** Carts that do not charge, whatever their group. */
  notCharging: CartJson[]
}

/** Groups the golf carts: other vehicles work on in the evening, and are locked by number only. */
export function groupEvening(carts: Iterable<CartJson>, alerts: Iterable<AlertJson>): EveningGroups {
  const dry = new Set([...alerts].filter(({ kind }) => kind === 'not_charging').map(({ cart }) => cart))
  const groups: EveningGroups = { open: [], out: [], locked: [], notCharging: [] }
  for (const cart of [...carts].filter(({ kind }) => kind === 'golf_cart').sort(byNumber)) {
    if (dry.has(cart.cart)) groups.notCharging.push(cart)
    if (isOpenInBarn(cart)) groups.open.push(cart)
    else if (isParked(cart)) groups.locked.push(cart)
    else if (cart.out_of_service === null) groups.out.push(cart)
  }
  return groups
}

/** Result of locking one cart: `sent` until its device acknowledges, else the code of the failure. */
export type LockOutcome = 'sent' | 'done' | 'timeout' | 'failed' | (string & {})

type Answer = readonly ({ cart: string; command_id: string } | { cart: string; code: string })[]

/** Locks requested with one press of the button, updated by the gateway's report on each command. */
export class BulkLock {
  readonly #cartOf = new Map<string, string>()
  readonly #outcomes = new Map<string, LockOutcome>()
  /** Results by command id, kept until the response names its commands: a cart may acknowledge before it arrives. */
  #early: Map<string, LockOutcome> | null = new Map()

  /** Applies the response to the request. */
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

  /** Number of carts that have reported that they are locked. */
  get done(): number {
    return [...this.#outcomes.values()].filter((outcome) => outcome === 'done').length
  }

  /** Applies a realtime message; true if it was about one of these carts. */
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

  /** Marks locked carts as done: messages sent while the connection was lost are not repeated. */
  update(carts: ReadonlyMap<string, CartJson>): void {
    for (const [cart, outcome] of this.#outcomes)
      if (outcome === 'sent' && carts.get(cart)?.lock?.is_locked === true) this.#outcomes.set(cart, 'done')
  }
}

function outcomeOf(status: CommandStatus, error: string | undefined): LockOutcome | null {
  if (status === 'completed') return 'done'
  if (status === 'timeout') return 'timeout'
  return status === 'failed' ? (error ?? 'failed') : null
}
