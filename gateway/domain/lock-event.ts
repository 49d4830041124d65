import type { LockKind, LockSource } from '#shared/wire/lock-events.ts'
import type { LockEventMessage } from '#shared/wire/mqtt.ts'
import { eventTimeMs, MAX_AHEAD_MS } from './event-time.ts'
import { NO_TIME_NOTES, type OnDrop, type TimeNotes } from './telemetry.ts'

/** Lock or unlock that a device reported. */
export interface LockEvent {
  event: LockKind
  source: LockSource
  atMs: number
  code: string | null
  /** Command that caused it, if named; only with source remote. */
  commandId: string | null
  /** Key by which two reports of a device are the same event: its own id, kind and time, else all of the event. */
  identity: string
}

/**
 * Converts a checked message to an event. An implausible time is replaced by the receive time. A code with source key
 * or remote is dropped.
 */
export function lockEventFromMessage(
  message: LockEventMessage,
  receivedAtMs: number,
  onDrop: OnDrop,
  latestMs = receivedAtMs + MAX_AHEAD_MS,
  notes: Pick<TimeNotes, 'reported'> = NO_TIME_NOTES,
): LockEvent {
  const eid = message.eid ?? null
  const givenCode = message.code ?? null
  const atMs = eventTimeMs(message.ts, { receivedAtMs, latestMs, onDrop, notes })
  const hasCode = message.source === 'rfid' || message.source === 'keypad'
  if (!hasCode && givenCode !== null) onDrop('unexpected_code')
  const code = hasCode && givenCode !== null ? String(givenCode) : null
  return {
    event: message.event,
    source: message.source,
    atMs,
    code,
    commandId: message.source === 'remote' ? (message.cmd ?? null) : null,
    identity:
      eid === null
        ? `at:${atMs}/${message.event}/${message.source}/${code ?? ''}`
        : // from the message as sent, so that a repeated one without a time is the same event
          `eid:${eid}/${message.event}/${message.ts ?? ''}`,
  }
}
