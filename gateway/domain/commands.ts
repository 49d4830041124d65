import type { AckStatus, CommandStatus } from '#shared/wire/commands.ts'

/** Reasons for which the gateway ends a command that a device might still have executed. */
export const FAILURE_REASONS = [
  'superseded',
  'device_removed',
  'cart_is_moving',
  'position_unknown',
  'admin_required',
] as const
export type CommandFailure = (typeof FAILURE_REASONS)[number]

export interface CommandProgress {
  status: CommandStatus
  publishedAtMs: number | null
  acknowledgedAtMs: number | null
  completedAtMs: number | null
  error: string | null
  lateAck: LateAcknowledgement | null
}

/** Acknowledgement received after the command had ended. */
export interface LateAcknowledgement {
  status: AckStatus
  error: string | null
  atMs: number
}

export type CommandEvent =
  | { kind: 'published'; atMs: number }
  | { kind: 'acked'; status: AckStatus; error: string | null; atMs: number }
  | { kind: 'expired' }
  | { kind: 'failed'; error: CommandFailure }

/** States from which the command can still change. */
const UNFINISHED: readonly CommandStatus[] = ['pending', 'published', 'acknowledged']

/** Name of the command that immobilises a cart, and is therefore checked before it is sent. */
export const LOCK = 'lock'
export const UNLOCK = 'unlock'

/** Commands of which a newer one replaces an older unsent one, because only the last counts. */
export const SUPERSEDABLE: readonly string[] = [LOCK, UNLOCK]

/** True if a command locks or unlocks, which all who may see the device must be notified of. */
export function isOfLock({ command }: { command: string }): boolean {
  return SUPERSEDABLE.includes(command)
}

export function isFinal(status: CommandStatus): boolean {
  return !UNFINISHED.includes(status)
}

/** Progress of a command that was just requested. */
export const NEW_COMMAND: Readonly<CommandProgress> = {
  status: 'pending',
  publishedAtMs: null,
  acknowledgedAtMs: null,
  completedAtMs: null,
  error: null,
  lateAck: null,
}

/**
 * Returns the progress after an event; null if nothing changes. Final states never change: an acknowledgement after the
 * end is kept as `lateAck`, unless it only repeats the one that ended the command.
 */
export function advance(progress: CommandProgress, event: CommandEvent): CommandProgress | null {
  switch (event.kind) {
    case 'published':
      return publish(progress, event.atMs)
    case 'acked':
      return isFinal(progress.status) ? ackLate(progress, event) : ack(progress, event)
    case 'expired':
      return isFinal(progress.status) ? null : { ...progress, status: 'timeout' }
    case 'failed':
      return isFinal(progress.status) ? null : { ...progress, status: 'failed', error: event.error }
  }
}

function publish(progress: CommandProgress, atMs: number): CommandProgress | null {
  if (progress.status === 'pending') return { ...progress, status: 'published', publishedAtMs: atMs }
  // the device responded before the publication was recorded, so `ack` estimated the time
  const isGuessed = progress.publishedAtMs !== null && atMs < progress.publishedAtMs
  return isGuessed ? { ...progress, publishedAtMs: atMs } : null
}

type Ack = Extract<CommandEvent, { kind: 'acked' }>

function ack(progress: CommandProgress, { status, error, atMs }: Ack): CommandProgress | null {
  if (status === progress.status) return null
  const answered = {
    ...progress,
    status,
    // a response proves that the command was sent, even if its publication is not recorded yet
    publishedAtMs: progress.publishedAtMs ?? atMs,
    acknowledgedAtMs: progress.acknowledgedAtMs ?? atMs,
  }
  if (status === 'completed') return { ...answered, completedAtMs: atMs }
  return status === 'failed' ? { ...answered, error: error ?? 'refused' } : answered
}

function ackLate(progress: CommandProgress, { status, error, atMs }: Ack): CommandProgress | null {
  // MQTT delivers at least once: a timely acknowledgement may be repeated
  const wasAnswered = progress.acknowledgedAtMs !== null
  if (wasAnswered && (status === progress.status || status === 'acknowledged')) return null
  const { lateAck } = progress
  if (lateAck !== null && (status === lateAck.status || status === 'acknowledged')) return null
  return { ...progress, lateAck: { status, error, atMs } }
}
