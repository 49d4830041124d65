import type { MessageJson } from '#shared/wire/messages/messages.ts'
import { type Caller, canSee } from './access.ts'

/** Message to carts with the devices of each, which decide who may see it. */
export interface ShownMessage extends Omit<MessageJson, 'carts'> {
  carts: readonly (MessageJson['carts'][number] & { devices: readonly string[] })[]
}

/** Returns a message with its carts in scope; null if none is. */
export function messageSeenBy(message: ShownMessage, caller: Caller): MessageJson | null {
  const seen = message.carts.filter(({ devices }) => devices.some((hardwareId) => canSee(caller, hardwareId)))
  return seen.length === 0 ? null : { ...message, carts: seen.map(({ cart, screen }) => ({ cart, screen })) }
}
