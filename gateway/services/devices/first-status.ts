import { parseDeviceJson, withoutInfinite } from '#domain/device-json.ts'
import { isCartName } from '#shared/ids.ts'
import { statusMessageSchema } from '#shared/wire/mqtt.ts'
import type { Uplinked } from '../ingest/message.ts'

/** What a device says of itself when it enrols. */
export interface FirstStatus {
  deviceType: string
  /** Null where it names none, or one that no cart can have. */
  cart: string | null
  /** Why something of it is not taken. */
  drops: readonly string[]
}

/** Reads the status with which a device enrols: one that names its type. Undefined for every other message. */
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

/** The JSON of a payload, whatever it is. */
export function parseOrUndefined(payload: Buffer): unknown {
  try {
    return withoutInfinite(parseDeviceJson(payload), () => undefined)
  } catch {
    return undefined
  }
}
