import { newUuid } from '#shared/ids.ts'
import type { CallMessage } from '#shared/wire/mqtt.ts'
import { eventTimeMs, type TimeReceipt } from './event-time.ts'

/** Call of a golfer from the screen of a cart, or its withdrawal. */
export interface CartCall {
  call: CallMessage['call']
  /** Id by the device, else a new one. */
  callId: string
  text: string | null
  atMs: number
  /** Key by which two messages of a device are the same call. */
  identity: string
}

/** Converts a checked message to a call; an implausible time is replaced by the receive time. */
export function callFromMessage({ call, cid, text = null, ts }: CallMessage, receipt: TimeReceipt): CartCall {
  const atMs = eventTimeMs(ts, receipt)
  const withId = call === 'cancel' ? `cancel:${cid}` : `cid:${cid}`
  return { call, callId: cid ?? newUuid(), text, atMs, identity: cid == null ? `at:${atMs}/${call}` : withId }
}
