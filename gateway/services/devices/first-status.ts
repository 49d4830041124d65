import { parseDeviceJson, withoutInfinite } from '#domain/device-json.ts'
import { isCartName } from '#shared/ids.ts'
import { statusMessageSchema } from '#shared/wire/mqtt.ts'
import type { Uplinked } from '../ingest/message.ts'

/** Data that a device reports about itself when it enrols. */
export interface FirstStatus {
  deviceType: string
  /** Null if it names none, or an invalid one. */
  cart: string | null
  /** Reasons why parts of the status were dropped. */
  drops: readonly string[]
}

/** Reads the status with which a device enrols, which names its type. Returns undefined for any other message. */
export function readFirstStatus({ level, payload, isWill }: Uplinked): FirstStatus | undefined {
  if (level !== 'st' || isWill) return undefined
  const status = statusMessageSchema.safeParse(parseOrUndefined(payload))
  const { type: deviceType, cart = null } = status.data ?? {}
  return deviceType === undefined ? undefined : { deviceType, ...cartNamed(cart) }
}

function cartNamed(named: unknown): Pick<FirstStatus, 'cart' | 'drops'> {
  if (named === null) return { cart: null, drops: [] }
  const cart = typeof named === 'string' ? named.trim() : ''
  return isCartName(cart) ? { cart, drops: [] } : { cart: null, drops: ['invalid_cart'] }
}

/** Parses a payload as JSON; undefined if it is invalid. */
export function parseOrUndefined(payload: Buffer): unknown {
  try {
    return withoutInfinite(parseDeviceJson(payload), () => undefined)
  } catch {
    return undefined
  }
}
