import { isUtf8 } from 'node:buffer'
import type { z } from 'zod'
import { type CartCall, callFromMessage } from '#domain/cart-call.ts'
import { parseDeviceJson, withoutInfinite } from '#domain/device-json.ts'
import type { TimeReceipt } from '#domain/event-time.ts'
import type { VersionedTopic } from '#domain/latest-state.ts'
import { type LockEvent, lockEventFromMessage } from '#domain/lock-event.ts'
import {
  isJsonObject,
  MAX_STRING_LENGTH,
  type OnDrop,
  parseTelemetry,
  type Sample,
  type Scalar,
  type TimeNotes,
  UnreadablePayloadError,
} from '#domain/telemetry.ts'
import { newUuid } from '#shared/ids.ts'
import type { AckStatus } from '#shared/wire/commands.ts'
import {
  ackMessageSchema,
  callMessageSchema,
  type LockEventMessage,
  lockEventMessageSchema,
  statusMessageSchema,
  type Uplink,
} from '#shared/wire/mqtt.ts'

/** Lock event with the id under which it is stored, if it is new. */
export interface IdentifiedLockEvent extends LockEvent {
  eventId: string
}

export interface CommandAck {
  commandId: string
  status: AckStatus
  error: string | null
}

/** Content of a message, by kind; all empty if nothing is usable. */
export interface UplinkContent {
  samples: readonly Sample[]
  lockEvents: readonly IdentifiedLockEvent[]
  status: { isOnline: boolean; fields: Record<string, Scalar> } | null
  commandAck: CommandAck | null
  call: CartCall | null
  /** Versions that the device reports as applied. */
  applied: { [What in VersionedTopic]?: number } | null
  /** Reason to quarantine the raw payload, although other parts may be used. */
  unreadable: string | null
}

const MAX_LOCK_EVENTS = 500

const NOTHING: readonly never[] = []

/**
 * Parses a device's payload; times after `latestMs` are rejected. Never throws: `unreadable` holds the reason for
 * unreadable content, and `notes` receives findings about timestamps.
 */
export function parseUplink(
  level: Uplink,
  payload: Buffer,
  receivedAtMs: number,
  latestMs: number,
  onDrop: OnDrop,
  notes: TimeNotes,
): UplinkContent {
  const content: UplinkContent = {
    samples: NOTHING,
    lockEvents: NOTHING,
    status: null,
    commandAck: null,
    call: null,
    applied: null,
    unreadable: null,
  }
  try {
    const sent = parseJson(payload)
    // telemetry values are checked and counted one by one
    const json = level === 'tlm' ? sent : withoutInfinite(sent, () => onDrop('not_a_number'))
    if (level === 'tlm') content.samples = parseTelemetry(json, receivedAtMs, onDrop, latestMs, notes)
    else if (level === 'evt') {
      readLockEvents(json, content, onDrop, (message) =>
        lockEventFromMessage(message, receivedAtMs, onDrop, latestMs, notes),
      )
    } else if (level === 'st') content.status = readStatus(json)
    else if (level === 'ack') {
      const ack = readAck(json)
      content.applied = appliedIn(ack)
      content.commandAck = commandAckIn(ack)
    } else if (level === 'call') content.call = readCall(json, { receivedAtMs, latestMs, onDrop, notes })
  } catch (error) {
    if (!(error instanceof UnreadablePayloadError)) throw error
    content.unreadable = error.reason
    onDrop(error.reason)
  }
  return content
}

function parseJson(payload: Buffer): unknown {
  // toString would silently replace bad bytes with U+FFFD
  if (!isUtf8(payload)) throw new UnreadablePayloadError('invalid_utf8')
  try {
    return parseDeviceJson(payload)
  } catch {
    throw new UnreadablePayloadError('invalid_json')
  }
}

function readLockEvents(
  json: unknown,
  content: UplinkContent,
  onDrop: OnDrop,
  toEvent: (message: LockEventMessage) => LockEvent,
): void {
  const items = Array.isArray(json) ? json : [json]
  if (items.length > MAX_LOCK_EVENTS) onDrop('batch_too_long', items.length - MAX_LOCK_EVENTS)
  const lockEvents: IdentifiedLockEvent[] = []
  for (const item of items.slice(0, MAX_LOCK_EVENTS)) {
    const parsed = lockEventMessageSchema.safeParse(item)
    if (parsed.success) {
      lockEvents.push({ ...toEvent(parsed.data), eventId: newUuid() })
    } else {
      content.unreadable = 'invalid_lock_event'
      onDrop('invalid_lock_event')
    }
  }
  content.lockEvents = lockEvents
}

function readCall(json: unknown, receipt: TimeReceipt): CartCall {
  const parsed = callMessageSchema.safeParse(json)
  if (!parsed.success) throw new UnreadablePayloadError('invalid_call')
  return callFromMessage(parsed.data, receipt)
}

type AckMessage = z.infer<typeof ackMessageSchema>

function readAck(json: unknown): AckMessage {
  const parsed = ackMessageSchema.safeParse(json)
  if (!parsed.success) throw new UnreadablePayloadError('invalid_ack')
  return parsed.data
}

function appliedIn({ cfg, sz }: AckMessage): UplinkContent['applied'] {
  if (cfg === undefined && sz === undefined) return null
  return { ...(cfg === undefined ? {} : { cfg }), ...(sz === undefined ? {} : { sz }) }
}

const MAX_ERROR_LENGTH = 256

/** Returns null for an acknowledgement of anything but a command. */
function commandAckIn({ id, st, err }: AckMessage): CommandAck | null {
  if (id === undefined && st === undefined) return null
  if (id === undefined || st === undefined) throw new UnreadablePayloadError('invalid_ack')
  return {
    commandId: id,
    status: st,
    error: err === undefined || err === null ? null : String(err).slice(0, MAX_ERROR_LENGTH),
  }
}

const MAX_STATUS_FIELDS = 16

function readStatus(json: unknown): UplinkContent['status'] {
  const parsed = statusMessageSchema.safeParse(json)
  if (!parsed.success || !isJsonObject(json)) throw new UnreadablePayloadError('invalid_status')
  const fields: Record<string, Scalar> = {}
  for (const [key, value] of Object.entries(parsed.data).slice(0, MAX_STATUS_FIELDS)) {
    if (key === 'online' || key === '__proto__' || key.length > 64) continue
    if (typeof value === 'string') fields[key] = value.slice(0, MAX_STRING_LENGTH)
    else if (typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value))) fields[key] = value
  }
  return { isOnline: parsed.data.online, fields }
}
