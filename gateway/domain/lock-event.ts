import type { LockKind, LockSource } from '#shared/wire/lock-events.ts'
import type { LockEventMessage } from '#shared/wire/mqtt.ts'
import { isPlausibleTime, MAX_AHEAD_MS, sentTime } from './event-time.ts'
import { NO_TIME_NOTES, type OnDrop, type TimeNotes } from './telemetry.ts'

/** A lock or unlock a device reported. */
export interface LockEvent {
  event: LockKind
  source: LockSource
  atMs: number
  code: string | null
  /** The command that caused it, if it names one; only with source remote. */
  commandId: string | null
  /** What makes two reports of a device the same event: its own id, kind and time, else all that the event says. */
  identity: string
}

/**
 * Turns a checked message into an event. A stamp that cannot be believed becomes the receive time: unlike a position,
 * a lock event is worth keeping whenever it was. A code with source key or remote is dropped.
 */
export function lockEventFromMessage(
  message: LockEventMessage,
  receivedAtMs: number,
  onDrop: OnDrop,
  latestMs = receivedAtMs + MAX_AHEAD_MS,
  notes: Pick<TimeNotes, 'said'> = NO_TIME_NOTES,
): LockEvent {
  const ts = sentTime(message.ts)
  const isTimed = isPlausibleTime(ts, latestMs)
  const eid = message.eid ?? null
  const givenCode = message.code ?? null
  if (!isTimed && message.ts !== undefined && message.ts !== null) onDrop('implausible_time')
  const atMs = isTimed ? Math.round(ts) : receivedAtMs
  if (isTimed) notes.said(atMs)
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
        : // as it was sent: what comes again without a time is not another event
          `eid:${eid}/${message.event}/${message.ts ?? ''}`,
  }
}
